"""Pages with the keyboard alone: every control is reached, and focus is seen wherever it stands."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_every_page import PAGES

WALKED = (
    "benchmarks", "benchmark", "benchmarks-none", "conformance", "evidence-failed", "variants-make",
    "try-server", "try-table", "trainings", "training-kept", "round-kept", "across", "device",
    "runtime", "compare-six", "upload", "upload-version", "draft", "graph-difference", "help",
)  # fmt: skip
MOST_STOPS = 300
# Those that Tab is to reach: visible controls, and regions that scroll. Radio buttons of one group
# are one stop, at the chosen one.
CONTROLS = """() => [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, iframe, [tabindex='0']"
)].filter((one) => !one.disabled && one.type !== "hidden" && one.tabIndex >= 0
  && (one.type !== "radio" || one.checked
    || !document.querySelector(`input[type="radio"][name="${one.name}"]:checked`))
  && one.checkVisibility({ visibilityProperty: true }))"""
# The script of the page that runs a model shows its controls when its parts have arrived.
COMPLETE = """() => !document.querySelector("script[src*='frontend/try']")
  || !document.querySelector("#try [data-scripted][hidden]")"""
COUNT = f"() => ({CONTROLS})().length"
STOP = f"""() => {{
  const one = document.activeElement;
  if (one === document.body) return null;
  const seen = one.closest("form.search") ?? one;
  const box = one.getBoundingClientRect();
  return {{
    place: ({CONTROLS})().indexOf(one),
    name: (one.getAttribute("aria-label") || one.labels?.[0]?.innerText || one.name
      || one.innerText || one.title || one.tagName).trim().slice(0, 60),
    ring: [one, seen].some((each) => parseFloat(getComputedStyle(each).outlineWidth) >= 2
      && getComputedStyle(each).outlineStyle !== "none"),
    inSight: box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight,
  }};
}}"""


def stops(page):
    """Each stop of one round by Tab alone."""
    found = []
    while len(found) < MOST_STOPS:
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None:
            return found
        found.append(stop)
    raise AssertionError(f"no way out after {found[-1]['name']}")


def reach(page, name):
    """Tab on until a control of this name has the focus."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop and re.fullmatch(name, stop["name"], re.DOTALL):
            assert stop["ring"], f"no focus to be seen on {stop['name']}"
            return
    raise AssertionError(f"nothing called {name} is reached")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", WALKED)
def test_every_control_is_reached_and_seen(window, name, width):
    one = window(width=width, signed=True)
    one.open(PAGES[name].format_map(one.hub.made))
    one.page.wait_for_function(COMPLETE)
    # Examples have controls of their own once their files are read.
    one.page.wait_for_load_state("networkidle")
    wanted = one.page.evaluate(COUNT)
    found = stops(one.page)
    assert len({stop["place"] for stop in found}) == wanted
    assert [stop["name"] for stop in found if not stop["ring"]] == []
    assert [stop["name"] for stop in found if not stop["inSight"]] == []


def test_from_a_search_to_a_run_and_its_samples(window):
    one = window()
    page = one.page
    one.open("/")
    page.keyboard.press("/")
    page.keyboard.type("proven")
    page.keyboard.press("Enter")
    page.wait_for_url("**/models?q=proven")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/models/zoo/proven")
    reach(page, r"Speed.*")
    page.keyboard.press("Enter")
    page.wait_for_url("**/benchmarks")
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.href")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.href") != first
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(first)
    expect(page.locator("#samples")).to_be_visible()


def test_models_are_picked_and_compared(window):
    one = window()
    page = one.page
    one.open("/")
    for key in "gm":
        page.keyboard.press(key)
    page.wait_for_url("**/models")
    for key in "jxjx":
        page.keyboard.press(key)
    expect(page.locator("[data-picked]")).to_have_text("2")
    page.keyboard.press("c")
    page.wait_for_url(re.compile(r"/compare\?m=.+&m=.+"))


def test_a_cell_of_the_matrix_leads_to_its_evidence_and_back(window):
    one = window()
    page = one.page
    one.open(PAGES["conformance"])
    reach(page, r"fails:.*")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conformance/*")
    reach(page, "Conformance.*")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conformance")


def test_a_closed_list_is_walked_by_arrows_and_opened_by_enter(window):
    one = window()
    page = one.page
    one.open("/models/zoo/net/v/2/files")
    reach(page, "Version")
    page.keyboard.press("ArrowDown")
    assert page.url.endswith("/v/2/files")
    page.keyboard.press("Enter")
    page.wait_for_url("**/v/1/files")


def test_an_input_is_written_and_run_by_keys(window):
    one = window(signed=True)
    page = one.page
    one.open(PAGES["try-server"])
    if page.locator("script[src*='/try.']").count():  # where the browser's runtime is there
        page.locator("[data-kind]").wait_for()
        reach(page, r"Format.*")
        page.keyboard.press("End")
    reach(page, r"JSON, nested lists")
    page.keyboard.type("[[[[0.5]]]]")
    reach(page, "Run on the server")
    page.keyboard.press("Enter")
    # On the page where the browser's runtime is there, else on the next one.
    here = page.locator("[data-part=answer]:visible, [data-part=notes] .note")
    there = page.locator("section[aria-labelledby=server]")
    here.or_(there).first.wait_for(timeout=60_000)


def test_the_help_lists_the_keys_that_work(window):
    one = window()
    page = one.page
    one.open("/help/keys")
    page.wait_for_url("**/help#keys")
    keys = page.locator("section[aria-labelledby=keys] kbd").all_inner_texts()
    assert keys == [
        "/", "g", "m", "g", "q", "j", "k", "x", "c", "?", "↓", "↑", "Ctrl", "Enter", "Escape",
    ]  # fmt: skip
    # "g q", and the editor's own; the others are walked above and in test_behaviour.py.
    for key in "gq":
        page.keyboard.press(key)
    page.wait_for_url("**/query")
    # Suggestions: down, away by Escape, and no model carried off.
    page.keyboard.press("/")
    page.keyboard.type("resn")
    suggested = page.locator("[role=listbox] [role=option]").first
    suggested.wait_for()
    page.keyboard.press("ArrowDown")
    assert suggested.get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.locator("[role=listbox]")).to_be_hidden()
    page.keyboard.press("?")
    assert page.locator("header [name=q]").input_value() == "resn?"
