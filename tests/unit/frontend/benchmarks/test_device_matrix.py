"""The matrix of devices and runtimes on the page of a model."""

from __future__ import annotations

import pytest

from registry.catalogue import predictions
from registry.catalogue.speeds import Setup
from registry.models import SearchDocument
from runners.queue import services
from tests import factories, pages, shared, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs", "lists")]
PAGE = "/models/ada/net"


@shared.rows
def start():
    ada = factories.somebody("ada")
    return ada, factories.version(ada, factories.model(ada, "net"))


@pytest.fixture
def made(start, db):
    return shared.fresh(start)


def matrix(html):
    """The heads of the matrix, and for each device its cells."""
    section = pages.tree(html).find(".//section[@aria-labelledby='devices']")
    if section is None:
        return None
    heads = [pages.text(cell) for cell in section.findall(".//thead//th")]
    rows = {pages.text(row.find("th")): row.findall("td") for row in section.findall(".//tbody/tr")}
    return heads, rows


def test_one_result_needs_no_matrix(guest, made):
    timed.benchmark(made[1], 2.0)
    assert matrix(guest.page(PAGE)) is None


def test_measured_noisy_predicted_and_empty_cells_are_told_apart(guest, made):
    _, version = made
    timed.benchmark(version, 2.0)
    timed.benchmark(version, 3.0, spread=0.3, environment={"cpu_model": "Another CPU"})
    document = SearchDocument.objects.get(title="ada/net")
    variant = version.variants.get()
    guess = predictions.Prediction(document.pk, variant.pk, 9.0, 7.0, 12.0)
    board = Setup("a-board", "openvino", "")
    predictions.add(board, "A board", [guess], 10)
    heads, rows = matrix(guest.page(PAGE))
    assert heads == ["Device", "ONNX Runtime CPU", "OpenVINO"]
    figures = {device: [pages.figures(cell)[0] for cell in cells] for device, cells in rows.items()}
    example, other, expected = figures.values()
    assert example[0] == ("accepted", "2 ms")
    assert other[0][0] == "noisy"
    assert expected[1][0] == "accepted"
    assert "predicted" in expected[1][1]
    assert example[1][0] == expected[0][0] == "not measured"
    (_, unmeasured), _, (other_runtime, _) = rows.values()
    for cell in (unmeasured, other_runtime):
        link = cell.find("small/a")
        assert pages.text(link) == "Measure here"
        assert link.get("href").endswith("/v/1/benchmarks#measure")
    assert 'id="measure"' in guest.page(f"{PAGE}/v/1/benchmarks")


def test_maintainers_have_an_empty_cell_measured_by_a_worker_that_offers_it(guest, made):
    ada, version = made
    timed.benchmark(version, 2.0)
    features = {"providers": [timed.CPU], "runtimes": {"openvino": "2026.1"}}
    services.see("w", host="h", pool="bench-cpu.openvino", features=features)
    assert matrix(guest.page(PAGE)) is None
    guest.force_login(ada)
    _, rows = matrix(guest.page(PAGE))
    (cells,) = rows.values()
    form = next(form for cell in cells if (form := cell.find("form")) is not None)
    sent = {field.get("name"): field.get("value") for field in form.findall("input")}
    assert sent["setup"].startswith("openvino/")
    assert pages.text(form.find("button")) == "Measure here"
    assert form.get("action").endswith("/v/1/benchmarks/again")
