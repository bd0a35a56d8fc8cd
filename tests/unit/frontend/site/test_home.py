"""Home leads with what is proven, one model for each task, and says what to do where nothing is."""

from __future__ import annotations

import re

import pytest

from frontend.pages.site import proven_models
from registry.core import outbox
from tests import factories, proven

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
CARD = "---\nlicense: mit\npipeline_tag: tabular-classification\n---\nIt was trained.\n"


def names(html):
    table = html.partition('<caption class="sr">Models</caption>')[2].partition("</table>")[0]
    return re.findall(r'<a\s+href="/models/([^"]*)"', table)


def passing(owner, name, runtimes=("onnxruntime",), outcome="passed", **more):
    version = factories.published(owner, factories.model(owner, name), **more)
    for runtime in runtimes:
        proven.conformance(
            version, [proven.measure("reference", outcome, runtime=runtime)], runtime=runtime
        )
    outbox.deliver()
    return version


def test_an_empty_hub_says_the_next_step(guest):
    html = guest.page("/")
    assert "<b>No models yet</b>" in html
    assert 'href="/upload"' in html
    assert 'href="/help"' in html


def test_without_any_proof_the_newest_stand_there(guest, ada):
    factories.version(ada)
    html = guest.page("/")
    assert "No model has passed on a runtime yet." in html
    assert names(html) == ["ada/net"]


def test_the_best_proven_of_each_task_stands_first(guest, ada):
    passing(ada, "both", ("onnxruntime", "openvino"))
    passing(ada, "one")
    passing(ada, "failing", outcome="failed")
    factories.published(ada, factories.model(ada, "newest"))
    html = guest.page("/")
    assert "Best proven, by task" in html
    assert "of those that pass on ONNX Runtime" in html
    assert names(html) == ["ada/both"]


def test_many_new_models_hide_no_task(guest, ada, monkeypatch):
    monkeypatch.setattr(proven_models, "CANDIDATES", 2)
    passing(ada, "wine", card=CARD)
    for name in ("one", "two", "three"):
        passing(ada, name)
    assert names(guest.page("/")) == ["ada/three", "ada/wine"]
