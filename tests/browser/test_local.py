"""Times in the reader's zone and numbers in the reader's format; without scripts UTC."""

from __future__ import annotations

import re

from playwright.sync_api import expect

PAGE = "/models/zoo/resnet50"


def test_the_reader_s_zone_and_format(window):
    one = window(locale="de-DE", timezone_id="Asia/Tokyo")
    page = one.page
    one.open(PAGE)
    published = page.locator("time[data-exact]").first
    expect(published).to_have_text(re.compile(r"^\d+\. \w+\.? \d{4}, \d\d:\d\d:\d\d (GMT\+9|JST)"))
    assert re.fullmatch(r"[\d-]+ [\d:]+ UTC.*", published.get_attribute("title"))
    numbers = page.locator("data[value]").all_inner_texts()
    assert any(re.match(r"\d+,\d", number) for number in numbers), numbers
    assert not any(re.match(r"\d+\.\d\b(?!\d\d)", number) for number in numbers), numbers
    assert one.axe() == []


def test_without_scripts_the_page_says_utc(window):
    one = window(java_script_enabled=False, locale="de-DE", timezone_id="Asia/Tokyo")
    one.open(PAGE)
    expect(one.page.locator("time[data-exact]").first).to_have_text(
        re.compile(r"^[\d-]+ [\d:]+ UTC")
    )


def test_what_a_page_adds_later_is_written_too(window):
    one = window(locale="de-DE", timezone_id="Asia/Tokyo")
    one.open(PAGE)
    one.page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend',"
        "'<p id=late><data value=1234567.5>1\u202f234\u202f567.5 files</data></p>')"
    )
    expect(one.page.locator("#late")).to_have_text("1.234.567,5 files")
