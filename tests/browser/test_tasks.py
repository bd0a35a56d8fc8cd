"""What readers come for, from the page where they begin, with their clicks counted.

A press of Enter counts as a click, and so does a stroke of a drawing; typing does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from hub.client.hub import Hub as Client
from tests.browser.test_try import ended, runtime

if TYPE_CHECKING:
    from tests.browser.conftest import Window

__all__ = ["runtime"]


@dataclass
class Hand:
    """Works on a page, and counts what it does."""

    window: Window
    clicks: int = 0

    @property
    def page(self):
        return self.window.page

    def click(self, locator):
        self.clicks += 1
        locator.click()

    def enter(self, locator):
        self.clicks += 1
        locator.press("Enter")

    def stroke(self, canvas, *points):
        """One stroke; points are shares of the width and height of the canvas."""
        self.clicks += 1
        canvas.hover()
        box = canvas.bounding_box()
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
        mouse = self.page.mouse
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place, steps=8)
        mouse.up()


@pytest.fixture
def hand(window):
    return Hand(window(permissions=["clipboard-read", "clipboard-write"]))


@pytest.fixture
def signed_hand(window):
    return Hand(window(signed=True, permissions=["clipboard-read", "clipboard-write"]))


def copied(page):
    expect(page.locator("#said")).to_have_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_the_fastest_small_classifier_is_found_tried_and_taken_away(hand, runtime):
    """Over 90 % with its evidence, a drawn digit, and the code in JavaScript: 6 clicks."""
    page = hand.page
    hand.window.open("/find")
    page.fill("#question", "fastest image classifier under 5 MB over 90 % on digits")
    hand.enter(page.locator("#question"))
    page.wait_for_url("**/find?**")
    row = page.locator("tr[data-compliance=within]").first
    expect(row).to_contain_text("%")
    hand.click(row.locator("th a"))
    page.wait_for_url("**/models/zoo/*")
    expect(page.locator("main")).to_contain_text("accuracy on")
    hand.click(page.get_by_role("navigation").get_by_role("link", name="Try it"))
    page.wait_for_url("**/try")
    canvas = page.locator("canvas").first
    hand.stroke(canvas, (0.5, 0.1), (0.5, 0.9))
    if page.locator("[data-run]:visible").count():
        hand.click(page.locator("[data-run]:visible").first)
    ended(page)
    expect(page.locator("[data-part=answer]")).to_contain_text("1")
    hand.click(page.locator("label", has_text="JavaScript").first)
    expect(page.locator("pre:visible", has_text="onnxruntime-web").first).to_be_visible()
    assert hand.clicks <= 6


def test_models_on_personal_data_are_found_without_sparql(hand):
    page = hand.page
    hand.window.open("/")
    hand.click(page.get_by_role("navigation").get_by_role("link", name="Query"))
    page.wait_for_url("**/query")
    expect(page.get_by_label("SPARQL query")).to_be_hidden()
    page.fill("#words", "models trained on personal data under 10 MB")
    hand.enter(page.locator("#words"))
    page.wait_for_url("**/query?words=**")
    expect(page.locator("#outcome")).to_contain_text("row")
    expect(page.locator(".chips")).to_contain_text("10")
    expect(page.get_by_label("SPARQL query")).to_be_hidden()
    assert hand.clicks <= 4


def test_three_models_are_compared_with_their_speed(hand):
    page = hand.page
    hand.window.open("/models?sort=fastest")
    for name in ("digits-cnn", "proven", "wine-gbt"):
        hand.click(page.locator(f'input[name="m"][value="zoo/{name}"]'))
    hand.click(page.locator(".tray .main"))
    page.wait_for_url("**/compare?**")
    rows = page.locator("tbody tr")
    for place, title in enumerate(("Accuracy", "Latency, p50", "Conformance")):
        expect(rows.nth(place).locator("th")).to_contain_text(title)
    latencies = rows.nth(1).locator("td")
    expect(latencies).to_have_count(3)
    expect(latencies.first).to_contain_text(re.compile("ms|µs"))
    # Names stay in sight below them.
    region = page.locator("[role=region]", has=page.locator(".compare"))
    region.evaluate("one => one.scrollTo(0, one.scrollHeight)")
    expect(page.locator("thead .model").first).to_be_in_viewport()
    assert hand.window.axe() == []
    assert hand.clicks <= 4


def test_a_saved_comparison_is_shared(signed_hand, window):
    page = signed_hand.page
    signed_hand.window.open("/compare?m=zoo/digits-cnn&m=zoo/wine-gbt")
    signed_hand.click(page.get_by_role("button", name="Save comparison"))
    page.wait_for_url(re.compile(r"/compare/[0-9a-f-]{36}$"))
    address = page.url
    stranger = window()
    stranger.watch.expected = (r"status of 404",)
    assert stranger.open(address).status == 404
    signed_hand.click(page.get_by_role("button", name="Share by link"))
    expect(page.get_by_role("heading", name="Shared by link")).to_be_visible()
    assert signed_hand.window.axe() == []
    signed_hand.window.shoot("comparison-shared")
    signed_hand.click(page.get_by_label("Copy link").or_(page.get_by_text("Copy link")).first)
    assert copied(page) == address
    assert stranger.open(address).status == 200
    expect(stranger.page.locator("h1")).to_have_text("digits-cnn, wine-gbt")
    assert stranger.axe() == []
    page.goto("/compare/saved")
    assert signed_hand.window.axe() == []
    expect(page.locator("tbody th a").first).to_have_attribute("href", re.compile("/compare/"))
    assert signed_hand.clicks <= 3


def test_a_training_begins_by_a_link(signed_hand):
    """From the model to a device that joins with the link: 8 clicks."""
    page, hub = signed_hand.page, signed_hand.window.hub
    signed_hand.window.open("/models/zoo/net")
    signed_hand.click(page.get_by_role("navigation").get_by_role("link", name="Versions"))
    signed_hand.click(page.locator("main").get_by_role("link", name="trainings"))
    signed_hand.click(page.get_by_role("link", name="New training"))
    page.wait_for_url("**/trainings/new")
    expect(page.locator("form .field:visible")).to_have_count(3)
    assert signed_hand.window.axe() == []
    signed_hand.window.shoot("training-choices")
    signed_hand.click(page.get_by_role("button", name="Review"))
    signed_hand.click(page.get_by_role("button", name="Create training"))
    page.wait_for_url("**/invite")
    number = int(page.url.split("/")[-2])
    signed_hand.click(page.get_by_role("button", name="Create invitation"))
    signed_hand.click(page.locator("[data-copy*='join?code=']").first)
    link = copied(page)
    code = link.partition("code=")[2]
    device = Client(hub.url, token="").training(f"zoo/net/trainings/{number}", device="by-link")
    device.join(code)
    assert signed_hand.clicks <= 8
