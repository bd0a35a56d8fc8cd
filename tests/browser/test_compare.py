"""Picking, comparing, suggesting, and the list as a query: by mouse, by keys, without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import expect

BOX = 'input[name="m"][form="compare"]'


def values(page):
    return page.locator(BOX).evaluate_all("boxes => boxes.map(box => box.value)")


def test_pick_and_compare(window):
    one = window()
    one.open("/models")
    page = one.page
    tray = page.locator(".tray")
    expect(tray).to_be_hidden()
    page.locator(BOX).nth(0).check()
    expect(tray).to_be_visible()
    expect(tray.locator(".main")).to_be_disabled()
    page.locator(BOX).nth(2).check()
    expect(tray).to_contain_text("2 selected")
    expect(page.locator("#said")).to_have_text("2 selected")
    assert one.axe() == []
    one.shoot("tray-1440")
    names = [values(page)[0], values(page)[2]]
    tray.locator("text=Compare").click()
    page.wait_for_url("**/compare?**")
    assert page.url.endswith("?" + "&".join(f"m={name}" for name in names))
    expect(page.locator("thead th")).to_have_count(3)
    page.click(f'[aria-label="Move {names[1]} to the left"]')
    page.wait_for_url("**/compare?m=" + names[1] + "&m=" + names[0])
    page.click(f'[aria-label="Remove {names[1]}"]')
    page.wait_for_url("**/compare?m=" + names[0])
    page.fill("#add", names[1])
    page.click("text=Add >> nth=-1")
    page.wait_for_url("**/compare?m=" + names[0] + "&m=" + names[1])
    expect(page.locator("tbody th").first).to_contain_text("Accuracy")
    page.locator("summary", has_text="equal row").click()
    expect(page.locator(".equal dt").first).to_be_visible()


def test_picked_models_stay_while_the_list_changes(window):
    one = window()
    one.open("/models?sort=name&license=apache-2.0")
    page = one.page
    page.locator(f'{BOX}[value="zoo/wine-gbt"]').check()
    page.locator('[name=task][value="image-classification"]').check()
    page.wait_for_url(re.compile("task=image-classification"))
    expect(page.locator(f'{BOX}[value="zoo/wine-gbt"]')).to_have_count(0)
    expect(page.locator(".tray")).to_contain_text("1 selected")
    page.locator(f'{BOX}[value="zoo/digits-cnn"]').check()
    page.locator(".tray .main").click()
    page.wait_for_url("**/compare?**")
    assert set(re.findall(r"m=([^&]+)", page.url)) == {"zoo/wine-gbt", "zoo/digits-cnn"}
    page.go_back()
    expect(page.locator(".tray")).to_contain_text("2 selected")
    page.click("text=Clear >> nth=-1")
    expect(page.locator(".tray")).to_be_hidden()
    assert page.locator(f"{BOX}:checked").count() == 0


def test_keys_pick_and_compare(window):
    one = window()
    one.open("/models")
    page = one.page
    page.keyboard.press("x")
    expect(page.locator(".tray")).to_be_hidden()
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    expect(page.locator(".tray")).to_contain_text("2 selected")
    page.keyboard.press("x")
    expect(page.locator(".tray")).to_contain_text("1 selected")
    page.keyboard.press("c")
    page.keyboard.press("x")
    page.keyboard.press("c")
    page.wait_for_url("**/compare?**")


def test_six_at_most(window):
    one = window()
    one.open("/models")
    page = one.page
    for index in range(6):
        page.locator(BOX).nth(index).check()
    page.locator(BOX).nth(6).click()
    expect(page.locator("#said")).to_have_text("You can compare up to 6 models")
    expect(page.locator(BOX).nth(6)).not_to_be_checked()


def test_picking_without_scripts(window):
    one = window(java_script_enabled=False)
    one.open("/models")
    page = one.page
    expect(page.locator(".tray")).to_be_hidden()
    page.locator(BOX).nth(1).check()
    page.locator(BOX).nth(2).check()
    expect(page.locator(".tray")).to_be_visible()
    one.shoot("tray-plain")
    names = values(page)[1:3]
    page.click(".tray .main")
    page.wait_for_url("**/compare?**")
    assert page.url.endswith("?" + "&".join(f"m={name}" for name in names))
    assert page.locator("#suggestions").count() == 0


def test_suggestions(window):
    one = window()
    one.open("/")
    page = one.page
    field = page.locator("header [name=q]")
    expect(field).to_have_attribute("role", "combobox")
    page.keyboard.press("/")
    page.keyboard.type("resnte")
    options = page.locator("#suggestions [role=option]")
    expect(options).to_have_count(1)
    expect(options.locator("mark")).to_have_text("resnet")
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#said")).to_have_text("1 suggestion")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "suggestion-0")
    assert one.axe() == []
    one.shoot("suggestions-1440")
    page.keyboard.press("Escape")
    expect(page.locator("#suggestions")).to_be_hidden()
    page.keyboard.type("5")
    expect(page.locator("#suggestions")).to_be_visible()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/models/zoo/resnet50")


def test_enter_without_a_choice_goes_to_the_list(window):
    one = window(width=390)
    one.open("/")
    page = one.page
    page.fill("header [name=q]", "")
    page.locator("header [name=q]").type("digits")
    expect(page.locator("#suggestions [role=option]").first).to_be_visible()
    one.shoot("suggestions-390")
    page.keyboard.press("Enter")
    page.wait_for_url("**/models?q=digits")
    expect(page.locator("tbody mark").first).to_be_visible()


def test_a_suggestion_is_clicked(window):
    one = window()
    one.open("/models")
    page = one.page
    page.locator("header [name=q]").type("wine")
    page.locator("#suggestions [role=option]").first.click()
    page.wait_for_url("**/models/zoo/wine-gbt")


def test_the_list_as_a_query_gives_the_list(window):
    one = window()
    one.open("/models?precision=fp32&sort=name")
    page = one.page
    names = [f"zoo/{name}" for name in page.locator("tbody .name b").all_inner_texts()]
    page.locator(".asked-as > summary").click()
    expect(page.locator("#list-query")).to_contain_text('hub:precision "fp32"')
    expect(page.locator("#list-query")).to_contain_text("ORDER BY ?name")
    assert one.axe() == []
    page.click("text=Run and edit")
    page.wait_for_url("**/query?query=**")
    rows = page.locator("main table tbody tr td:nth-child(2)").all_inner_texts()
    assert [row.strip() for row in rows][: len(names)] == names
