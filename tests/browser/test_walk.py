"""From the home page to the fastest small model that passes on a runtime, why, and its bytes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


def chosen_first(page):
    return page.locator("tbody tr").first


def open_from_home(one, runtime="ONNX Runtime CPU"):
    one.open("/")
    one.page.locator(".finds").get_by_role("link", name=runtime, exact=True).click()
    one.page.wait_for_url("**/models?passes_on=onnxruntime&**sort=fastest")
    return one.page


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_from_home_to_the_bytes(window, width, scheme):
    one = window(
        width=width,
        color_scheme=scheme,
        permissions=["clipboard-read", "clipboard-write"],
        reduced_motion="no-preference",  # pages fade into each other, as for most people
    )
    one.open("/")
    assert one.axe() == []
    one.shoot(f"walk-home-{width}-{scheme}")
    page = open_from_home(one)
    expect(page.locator(".order")).to_contain_text("each model with its own input")
    expect(page.locator("#sort")).to_have_value("fastest")
    expect(page.locator("#on")).to_have_value(re.compile("^example-cpu-2-cores/onnxruntime/"))
    row = chosen_first(page)
    name = row.locator(".name b").inner_text()
    expect(row.locator(".speed a")).to_have_text(re.compile(r"\d.*(ms|µs)"))
    assert one.axe() == []
    one.shoot(f"walk-list-{width}-{scheme}")

    row.locator(".speed a").click()
    page.wait_for_url("**/benchmarks/*")
    expect(page.locator("main")).to_contain_text("Example CPU, 2 cores")
    expect(page.get_by_text("hub bench", exact=False).first).to_be_visible()
    page.go_back()
    page.wait_for_url("**sort=fastest")
    chosen_first(page).locator(".name a").click()
    page.wait_for_url(f"**/models/**/{name}")
    page.get_by_role("navigation").get_by_role("link", name="Evidence").first.click()
    page.wait_for_url("**/conformance**")
    expect(page.locator("main")).to_contain_text("ONNX Runtime")
    page.goto(f"/models/zoo/{name}")
    one.shoot(f"walk-model-{width}-{scheme}")
    page.locator("label", has_text="Command line").click()
    copy = page.locator("[data-copy*='hub get']:visible").first
    command = copy.get_attribute("data-copy")
    copy.click()
    expect(page.locator("#said")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == command
    assert f"{name}" in command


def test_the_head_of_the_column_leads_to_the_choice(window):
    one = window()
    page = open_from_home(one)
    here = page.url
    page.locator("th.speed a").press("Enter")
    expect(page.locator("#on")).to_be_focused()
    other = page.locator("#on option").nth(1)
    value = other.get_attribute("value")
    page.locator("#on").select_option(value)
    page.wait_for_url(f"**device={value.split('/')[0]}&**")
    expect(page.locator("th.speed")).to_contain_text(other.inner_text().split(",")[0])
    page.go_back()
    expect(page.locator("#on")).to_have_value(re.compile("^example-cpu"))
    assert page.url.partition("#")[0] == here


def test_the_choice_works_without_scripts(window):
    one = window(java_script_enabled=False)
    page = open_from_home(one)
    value = page.locator("#on option").nth(1).get_attribute("value")
    page.locator("#on").select_option(value)
    page.locator("#sort").select_option("fastest")
    page.get_by_role("button", name="Apply").first.click()
    page.wait_for_url(f"**device={value.split('/')[0]}&**sort=fastest")
    expect(page.locator("#on")).to_have_value(value)


@pytest.mark.parametrize(("width", "size"), [(1280, 200), (390, 200), (390, 100), (320, 200)])
def test_nothing_grows_sideways(window, width, size):
    one = window(width=width)
    page = open_from_home(one)
    page.evaluate(f"document.documentElement.style.fontSize = '{size}%'")
    page.wait_for_timeout(300)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    one.shoot(f"walk-list-{width}-at-{size}")
    assert wide <= 0


@pytest.mark.parametrize("width", [390, 1440])
def test_the_list_stays_in_place_while_it_loads(window, width):
    one = window(width=width)
    one.open("/models")
    # Core Web Vitals call a cumulative layout shift of 0.1 good.
    shift = one.page.evaluate(
        """() => new Promise((resolve) => {
          let sum = 0;
          const add = (list) => { for (const entry of list.getEntries()) sum += entry.value; };
          new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => resolve(sum), 300);
        })"""
    )
    assert shift < 0.05
    is_open = one.page.locator("details.filters").get_attribute("open") is not None
    assert is_open == (width > 900)
