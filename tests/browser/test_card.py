"""Writing a card in a browser: told what is wrong while typing, and led to the line."""

from __future__ import annotations

from playwright.sync_api import expect

WRONG = "---\nlicence: apache2\nlicense: [mit\ntraining_data:\n  - rows: -3\n---\n# x\n"


def test_a_card_is_checked_while_it_is_typed(window, hub):
    hub.draft("carded")
    one = window(signed=True)
    page = one.page
    one.open("/models/zoo/carded/v/1/draft")
    page.fill("#text", WRONG)
    found = page.locator("#card-findings li")
    expect(found).to_have_count(4)
    expect(found.nth(1)).to_contain_text("Close the bracket")
    expect(page.locator("#said")).to_contain_text("3 errors, 1 warning")
    assert one.axe() == []
    found.nth(2).locator("a").click()
    expect(page.locator("#text")).to_be_focused()
    selection = page.locator("#text").evaluate(
        "box => box.value.slice(box.selectionStart, box.selectionEnd)"
    )
    assert selection == "  - rows: -3"
    page.fill("#text", "---\nlicense: mit\n---\n# x\n")
    expect(found).to_have_count(0)


def test_a_card_is_written_by_its_form(window, hub):
    hub.draft("formed", card="---\n# kept\nlicense: mit\n---\n# Formed\n")
    one = window(signed=True)
    one.watch.expected = (r"status of 422",)
    page = one.page
    one.open("/models/zoo/formed/v/1/draft?card=form")
    page.fill("[name=summary]", "Written by a form.")
    page.locator("details:has(button[value='add:training_data']) > summary").click()
    page.click("button[value='add:training_data']")
    page.fill("[name=training_data-0-name]", "Digits")
    page.fill("[name=training_data-0-rows]", "-5")
    page.click("text=Save card")
    expect(page.locator("[data-card] .note.fail")).to_contain_text("the minimum is 0")
    assert one.axe() == []
    page.locator("#card-findings a").first.click()
    expect(page.locator("[name=training_data-0-rows]")).to_be_focused()
    page.fill("[name=training_data-0-rows]", "5")
    page.click("text=Save card")
    expect(page.locator(".note.success")).to_contain_text("The card is saved.")
    page.click("button[value=text]")
    expect(page.locator("#text")).to_have_value(
        "---\n# kept\nlicense: mit\nsummary: Written by a form.\ntraining_data:\n"
        "  - name: Digits\n    rows: 5\n---\n# Formed\n"
    )
