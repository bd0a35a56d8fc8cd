"""Finding by a question, the plot, questions without SPARQL, and the API console."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_question_is_understood_and_each_part_can_be_removed(window, width, scheme):
    one = window(width=width, color_scheme=scheme)
    one.open("/models?q=small+image+classifier+under+20+MB")
    page = one.page
    expect(page.locator(".chips")).to_contain_text("Understood as")
    assert one.axe() == []
    one.shoot(f"question-{width}-{scheme}")
    page.locator('.chip[aria-label*="Maximum size"]').click()
    page.wait_for_url("**/models?task=image-classification**")
    expect(page.locator(".chip")).to_have_count(1)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_points_of_the_plot_are_links_by_keyboard(window, width, scheme):
    one = window(width=width, color_scheme=scheme)
    one.open("/find?x=macs&y=size")
    page = one.page
    first = page.locator(".tradeoffs a").first
    expect(first).to_be_visible()
    assert one.axe() == []
    one.shoot(f"find-{width}-{scheme}")
    first.focus()
    address = first.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_condition_brings_the_field_of_its_values(window, width):
    one = window(width=width)
    one.open("/query")
    page = one.page
    page.locator(".builder summary").click()
    page.select_option("[name=condition]", "task")
    page.select_option(".condition [name=value]", "image-classification")
    page.click("text=Add condition")
    page.select_option(".condition >> nth=1 >> [name=condition]", "max_bytes")
    page.fill(".condition >> nth=1 >> input[name=value]", "10")
    assert one.axe() == []
    page.click("text=Run the question")
    page.wait_for_url("**/query?words=&**")
    expect(page.locator("#query")).to_have_value(re.compile(r"FILTER\(\?size <= 10000000\)"))
    expect(page.locator("#outcome")).to_contain_text("row")
    assert one.axe() == []
    one.shoot(f"builder-{width}")


def test_a_question_without_scripts(window):
    one = window(java_script_enabled=False)
    one.open("/query")
    one.page.locator(".builder summary").click()
    one.page.select_option("[name=condition]", "max_bytes")
    one.page.click("text=Run the question")
    expect(one.page.locator(".condition [role=alert]")).to_have_text("Enter a number (MB).")
    one.page.fill(".condition >> nth=0 >> input[name=value]", "10")
    one.page.click("text=Run the question")
    expect(one.page.locator("#outcome")).to_contain_text("row")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_api_is_tried_with_the_session(window, scheme):
    one = window(signed=True, color_scheme=scheme)
    one.open("/api/docs")
    page = one.page
    page.locator(".opblock-tag").first.wait_for()
    assert one.axe() == []
    one.shoot(f"api-docs-{scheme}")
    page.locator(".opblock-tag", has_text="models").first.click()
    page.locator("[id$=models_list] .opblock-summary-control").click()
    page.click("text=Try it out")
    page.click("button.execute")
    expect(page.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    expect(page.locator(".live-responses-table")).to_contain_text('"items"')
    one.shoot(f"api-docs-run-{scheme}")
