"""The life of a model on the web alone, with each click counted."""

from __future__ import annotations

import json
import time
import urllib.error

import pytest
from playwright.sync_api import expect

from tests import samples

ROWS = "a,b,c,d,kind\n" + "".join(f"{at},{at % 3},1.5,0,{at % 3}\n" for at in range(30))
CARD = """---
license: mit
pipeline_tag: tabular-classification
datasets: [walked-rows]
---
# Walked

A model that is published by clicks.
"""


class Clicks:
    """Clicks of a user: on links, buttons, fields of files, and choices in selects."""

    def __init__(self, page):
        self.page = page
        self.count = 0

    def on(self, target):
        self.count += 1
        target.click()

    def link(self, name, place="body", *, exact=False):
        self.on(self.page.locator(place).get_by_role("link", name=name, exact=exact).first)

    def button(self, name, place="main", *, exact=True):
        self.on(self.page.locator(place).get_by_role("button", name=name, exact=exact).first)

    def files(self, selector, *files):
        self.count += 1
        self.page.set_input_files(selector, list(files))

    def choice(self, label, words):
        self.count += 1
        self.page.get_by_label(label).select_option(label=words)


def wait_for(read, what):
    until = time.monotonic() + 300
    while not (value := read()):
        assert time.monotonic() < until, what
        time.sleep(0.5)
    return value


def publish_model(clicks, name, slug, folder):
    """Upload a model with a card that names a data set, and submit it."""
    page, model = clicks.page, folder / "model.onnx"
    model.write_bytes(samples.unlike_others(samples.mlp()))
    clicks.link("Upload", "header")
    page.fill("[name=name]", name)
    clicks.files("#files", model)
    clicks.button("Create draft", exact=False)
    page.wait_for_url(f"**/models/zoo/{name}/v/1/draft")
    page.fill("textarea[name=card]", CARD.replace("walked-rows", slug))
    clicks.button("Save card")
    expect(page.locator(".note.success")).to_contain_text("The card is saved.")
    clicks.button("Submit")


def publish_dataset(clicks, slug, folder):
    """Register a data set and publish a version with a split; leaves the filled form."""
    page, rows = clicks.page, folder / "test.csv"
    rows.write_text(ROWS)
    clicks.link("Data sets", "footer")
    clicks.link("Register a data set")
    page.fill("[name=slug]", slug)
    page.fill("[name=title]", f"Rows {slug}")
    clicks.button("Register data set")
    clicks.link("New version")
    clicks.files("#id_file", rows)
    page.fill("[name=split0-name]", "test")
    page.fill("[name=split0-inputs]", "x: a, b, c, d")
    page.fill("[name=split0-column]", "kind")


@pytest.mark.parametrize("scripts", [True, False])
def test_publish_with_card_data_set_and_evaluation(window, hub, tmp_path, scripts):
    name = "walked" if scripts else "walked-plain"
    slug = f"{name}-rows"
    one = window(signed=True, java_script_enabled=scripts)
    page, clicks = one.page, Clicks(one.page)
    one.open("/")
    publish_model(clicks, name, slug, tmp_path)
    publish_dataset(clicks, slug, tmp_path)
    if scripts:
        assert one.axe() == []
        one.shoot("dataset-publish-1440")
    clicks.button("Publish version")
    page.wait_for_url(f"**/datasets/{slug}/v1")
    expect(page.get_by_role("heading", name="First rows of")).to_be_visible()
    expect(page.get_by_role("heading", name="Split test")).to_be_visible()

    version = f"models/zoo/{name}/versions/1"
    hub.wait_for(version, "published")
    clicks.link("Models", "header")
    clicks.link(f"zoo/{name}", "main", exact=True)
    clicks.link("Measure accuracy", "main")
    clicks.choice("Data set and split", f"Rows {slug}, test: classification")
    if scripts:
        assert one.axe() == []
        one.shoot("evaluate-1440")
    clicks.button("Measure accuracy")
    page.wait_for_url("**/jobs/*")
    wait_for(lambda: hub.api("GET", f"{version}/evaluations")["items"], "nothing was measured")
    assert clicks.count <= 18
    one.note("clicks.txt", f"publish with card, data set and evaluation: {clicks.count}")
    one.open(f"/models/zoo/{name}")
    expect(page.locator("#accuracy")).to_be_visible()
    expect(page.locator("#measured")).to_contain_text(slug)


def test_a_refused_card_is_mended(window, hub):
    version = hub.draft("walked-card")
    with pytest.raises(urllib.error.HTTPError) as error:
        hub.api(
            "PUT",
            f"{version}/card",
            raw=b"---\ndate: 2026-13-45\n---\n# A card\n",
            Content_Type="text/markdown",
            If_Match="*",
        )
    assert error.value.code == 422
    json.loads(error.value.read())
    one = window(signed=True)
    page, clicks = one.page, Clicks(one.page)
    one.open("/models/zoo/walked-card/v/1/draft")
    clicks.link("refused card", "main")
    clicks.link("Edit in draft 1", "main")
    text = page.locator("textarea[name=card]")
    text.fill(text.input_value().replace("2026-13-45", "2026-11-28"))
    clicks.button("Save card")
    expect(page.locator(".note.success")).to_contain_text("The card is saved.")
    one.open("/models/zoo/walked-card/refused-cards")
    expect(page.locator("main")).to_contain_text("No refused cards.")
    assert clicks.count <= 3
    one.note("clicks.txt", f"a refused card mended: {clicks.count}")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_version_is_deprecated_and_its_alias_moved(window, hub, scripts):
    name = "walked-alias" if scripts else "walked-alias-plain"
    hub.publish(hub.draft(name))
    contents = {"model.onnx": samples.unlike_others(samples.mlp())}
    hub.publish(hub.draft(name, new=False, contents=contents))
    hub.api("PUT", f"models/zoo/{name}/refs/champion", {"kind": "alias", "version": 1})
    one = window(signed=True, java_script_enabled=scripts)
    page, clicks = one.page, Clicks(one.page)
    one.open(f"/models/zoo/{name}")
    clicks.link("Versions", "nav[aria-label='Version pages']")
    clicks.link("Deprecate version 1", "main")
    page.fill("[name=message]", "Labels 3 and 8 were swapped.")
    page.fill("[name=successor]", f"zoo/{name}@2")
    clicks.button("Deprecate", exact=False)
    page.wait_for_url(f"**/models/zoo/{name}/versions")
    page.fill("[name=alias]", "champion")
    page.fill("form[action$=aliases] [name=message]", "Version 1 is deprecated.")
    if scripts:
        assert one.axe() == []
        one.shoot("versions-alias-1440")
    clicks.button("Move alias")
    expect(page.locator(".note.success")).to_contain_text("The alias champion is version 2.")
    assert clicks.count <= 6
    one.note("clicks.txt", f"a version deprecated, its alias moved: {clicks.count}")
    rows = hub.api("GET", f"models/zoo/{name}/refs?kind=alias")["items"]
    assert [(row["name"], row["number"]) for row in rows] == [("champion", 2)]
