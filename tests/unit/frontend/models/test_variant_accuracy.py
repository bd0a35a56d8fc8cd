"""The measured accuracy of each variant stands beside that of the others."""

from __future__ import annotations

import re

import pytest

from registry.core import outbox
from tests import evaluated, factories, proven

pytestmark = pytest.mark.django_db


def test_precisions_show_their_accuracy_beside_the_main_variant(guest, ada, graphs):
    version = factories.published(ada, card=evaluated.card(("accuracy", 0.9)))
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting(entry="model.onnx")[0])
    proven.convert(version)
    proven.convert(version, b"fp16", recipe="fp16", precision="fp16")
    outbox.deliver()
    figures = [("accuracy", 0.75, 0.7, 0.8), ("log_loss", 1.0, 0.9, 1.1)]
    evaluated.end(evaluated.waiting(entry="model.int8.onnx")[0], evaluated.report(figures))
    page = re.sub(r"\s+", " ", guest.page("/models/ada/net/v/1/variants"))
    rows = page.split('<table class="table held">')[1].split("</table>")[0].split("<tr>")[2:]
    names = [re.search(r"<a [^>]*>([^<]+)</a>", row)[1] for row in rows]
    shown = {
        name: re.search(r">([^<>]+ %)</a> <small title=\"Clopper-Pearson", row)
        for name, row in zip(names, rows, strict=True)
    }
    assert {name: match and match[1] for name, match in shown.items()} == {
        "default": "80 %", "int8": "75 %", "fp16": None,
    }  # fmt: skip
    assert "95 %: 70 % to 80 %</small>" in page
    assert page.count("on stones@1, test") == 2
    assert '<span class="muted">not measured</span>' in rows[names.index("fp16")]


def test_the_accuracy_of_half_precision_says_how_it_was_computed(guest, ada, graphs):
    version = factories.published(ada, card=evaluated.card(("accuracy", 0.9)))
    evaluated.stones(ada)
    proven.convert(version, b"fp16", recipe="fp16", precision="fp16")
    outbox.deliver()
    evaluated.end(evaluated.waiting(entry="model.fp16.onnx")[0])
    for address in ("/models/ada/net/v/1/variants", "/models/ada/net/v/1?variant=fp16"):
        assert "computed in float32 on CPU" in guest.page(address), address
