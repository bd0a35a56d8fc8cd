"""Home leads with what is proven, one model for each task, and says what to do where nothing is."""

from __future__ import annotations

import re

import pytest

from registry.core import outbox
from tests import factories, proven

pytestmark = pytest.mark.django_db


def names(html):
    table = html.partition('<caption class="sr">Models</caption>')[2].partition("</table>")[0]
    return re.findall(r'<a\s+href="/models/([^"]*)"', table)


def passing(owner, name, runtimes=("onnxruntime",), outcome="passed"):
    version = factories.published(owner, factories.model(owner, name))
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
    factories.listed(ada)
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
    assert "models that pass on ONNX Runtime" in html
    assert names(html) == ["ada/both"]
