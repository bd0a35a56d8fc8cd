"""The graph tab in a browser: the viewer draws, asks nobody, never ages, and leaves focus alone."""

from __future__ import annotations

import datetime
import gzip
import time

import pytest
from onnx import helper

from tests import samples
from tests.browser.conftest import CARD

GRAPH = "/models/zoo/resnet50/v/1/graph"
DIFFERENCE = "/models/zoo/net/v/2/graph/diff/1"
# Most bytes, compressed, of the viewer without the skeleton.
VIEWER_BYTES = 800_000
DRAWN = "g.node, g.nodes > g, .node-item"


def opened(one, path=GRAPH):
    """A window on a graph that has been drawn."""
    until = time.monotonic() + 60
    while True:
        one.open(path)
        if one.page.locator("#poster button").count():
            return one.page
        assert time.monotonic() < until, one.page.locator("#poster").inner_text()
        time.sleep(1)


def draw(page):
    """Open the viewer; gives its frame once nodes are drawn."""
    page.click("#poster button")
    frame = page.frame_locator("#poster iframe")
    frame.locator(DRAWN).first.wait_for(state="attached", timeout=30_000)
    return frame


@pytest.mark.parametrize("days", [0, 400])
def test_the_viewer_draws_and_asks_nobody_whatever_the_date(window, days):
    one = window()
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    one.page.clock.set_fixed_time(then)
    page = opened(one)
    frame = draw(page)
    assert frame.locator(DRAWN).count() > 20
    assert frame.locator("text=Please update").count() == 0
    assert frame.locator("#message-button:visible").count() == 0
    page.wait_for_timeout(1500)
    one.shoot(f"graph-open-{days}-days")
    cookies = {cookie["name"]: cookie for cookie in one.context.cookies()}
    assert cookies["consent"]["path"] == f"{GRAPH}/frame/"
    assert not {name for name in cookies if name.startswith("_ga")}


def test_the_viewer_is_within_its_limit(window):
    one = window()
    page = opened(one)
    sizes = {}

    def weigh(response):
        if "/graph/" in response.url and response.status == 200:
            sizes[response.url] = len(gzip.compress(response.body(), 9))

    page.on("response", weigh)
    draw(page)
    page.wait_for_timeout(500)
    skeleton = sum(size for url, size in sizes.items() if "skeleton.onnx" in url)
    viewer = sum(sizes.values()) - skeleton
    one.note("kilobytes.txt", f"viewer: {viewer / 1000:.1f}, skeleton: {skeleton / 1000:.1f}")
    assert skeleton > 0
    assert viewer <= VIEWER_BYTES


@pytest.mark.parametrize("width", [1440, 390])
def test_opening_moves_neither_page_nor_focus(window, width):
    one = window(width=width)
    page = opened(one)
    page.evaluate("scrollTo(0, 120)")
    page.locator("#poster button").focus()
    before = page.evaluate("scrollY")
    page.keyboard.press("Enter")
    page.frame_locator("#poster iframe").locator(DRAWN).first.wait_for(state="attached")
    page.wait_for_timeout(500)
    assert page.evaluate("scrollY") == before
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    assert page.locator("#poster button").get_attribute("aria-expanded") == "true"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_escape_closes_it_from_outside_and_inside(window):
    one = window()
    page = opened(one)
    draw(page)
    page.keyboard.press("Escape")
    assert page.locator("#poster iframe").count() == 0
    assert page.evaluate("document.activeElement.innerText") == "Open graph"
    draw(page)
    page.locator("#poster button").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "IFRAME"
    page.wait_for_timeout(300)
    page.keyboard.press("Escape")
    page.locator("#poster iframe").wait_for(state="detached")
    assert page.evaluate("document.activeElement.innerText") == "Open graph"


def test_open_it_is_still_accessible(window):
    for theme in ("light", "dark"):
        one = window(color_scheme=theme)
        draw(opened(one))
        assert one.axe() == []


def test_the_viewer_by_its_own_address(window):
    one = window()
    opened(one)
    one.open(f"{GRAPH}/frame/")
    one.page.locator(DRAWN).first.wait_for(state="attached")


def test_without_scripts_the_table_answers(window):
    one = window(java_script_enabled=False)
    one.open(GRAPH)
    assert one.page.locator("a#open").get_attribute("href") == f"{GRAPH}/frame/"
    one.page.fill(".find", "conv")
    one.page.click(".find + button")
    assert one.page.locator(".nodes tbody tr").count() > 0
    assert "q=conv" in one.page.url


def compare(one, path):
    """Open a difference, ask for it where it is not there yet, and wait until it is shown.

    Neighbouring versions are compared ahead, after all other work: on a hub that other tests
    publish to, that can take minutes.
    """
    one.open(path)
    button = one.page.locator("text=/^Compare (graphs|now)$/")
    if button.count():
        button.click()
    one.page.locator(".bands").wait_for(timeout=90_000)


def test_a_difference_is_asked_for_and_shown_when_it_is_there(window):
    one = window(signed=True)
    compare(one, DIFFERENCE)
    one.shoot("graph-difference-done")
    assert "No nodes differ." in one.page.locator("main").inner_text()
    assert one.axe() == []
    one.page.set_viewport_size({"width": 320, "height": 800})
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 320


def chain(length, **attributes):
    """Nodes in a row, and a last one with these attributes."""
    nodes = [
        helper.make_node("Relu" if n % 2 else "Neg", [f"v{n}"], [f"v{n + 1}"], f"node-{n}")
        for n in range(length)
    ]
    nodes.append(helper.make_node("Softmax", [f"v{length}"], ["y"], "last", **attributes))
    return samples.model(nodes, [samples.value("v0")], [samples.value("y")]).SerializeToString()


@pytest.fixture
def two(hub):
    """Two versions that differ; gives the page of their difference."""
    for made, content in enumerate((chain(6, axis=-1), chain(9, axis=0))):
        contents = {"model.onnx": content}
        hub.publish(hub.draft("two", new=not made, contents=contents, card=CARD))
    return "/models/zoo/two/v/2/graph/diff/1"


def test_both_graphs_side_by_side_choose_together(window, two):
    one = window(signed=True)
    compare(one, two)
    page = one.page
    until = time.monotonic() + 180
    while not page.locator("tr[data-output] .show").count():
        assert time.monotonic() < until, page.locator("#poster").inner_text()
        time.sleep(1)
        page.reload()

    page.locator("tr[data-output=y] .show").focus()
    page.keyboard.press("Enter")
    sides = [page.frame_locator(f"#poster iframe >> nth={side}") for side in (0, 1)]
    nodes = [side.locator("g.node.select") for side in sides]
    for side in (0, 1):
        sides[side].locator("g.node.select").wait_for(state="attached", timeout=30_000)
        assert nodes[side].get_attribute("id") == "node-name-last"
    assert page.locator("tr[data-output=y].chosen").count() == 1

    # In one drawing: the other follows; the row of the list is given back.
    sides[0].locator("#node-name-node-1 text").click()
    sides[1].locator("#node-name-node-1.select").wait_for(state="attached")
    assert nodes[1].count() == 1
    assert page.locator("tr.chosen").count() == 0
    # What stands on one side alone is chosen there alone.
    page.locator("tr[data-output=v8] .show").click()
    sides[1].locator("#node-name-node-7.select").wait_for(state="attached")
    page.wait_for_timeout(300)
    assert nodes[0].count() == 0
    assert one.axe() == []
    one.shoot("graph-twins")
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = [page.locator("#poster iframe").nth(side).bounding_box() for side in (0, 1)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.keyboard.press("Escape")
    assert page.locator("#poster iframe").count() == 0

    plain = window(java_script_enabled=False)
    plain.open(two)
    assert plain.page.locator("a[data-frame]").count() == 2
    assert plain.page.locator(".bands .barcode").count() == 2
    assert plain.page.locator(".show").count() == 0
