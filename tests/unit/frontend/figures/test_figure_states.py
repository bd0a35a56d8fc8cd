"""What each page says of a figure that is measured, of a noisy one, and of one that is absent."""

from __future__ import annotations

import pyoxigraph
import pytest
from django.conf import settings
from django.core.cache import cache

from metadata.models import NamedGraph
from metadata.sparql import figures, listing, service
from registry.core import outbox
from registry.models import SearchDocument
from runners.models import Measurement
from tests import evaluated, factories, pages, proven, shared, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
ACCEPTED, NOISY, ABSENT = "accepted", "noisy", "not measured"
HERE = "device=example-cpu-2-cores&runtime=onnxruntime&provider=CPUExecutionProvider"
STONES = "accuracy%40stones%3Atest"
STATES = {"firm": ACCEPTED, "busy": NOISY, "blank": ABSENT}


@shared.rows
def start():
    """Three models: the first is measured, the second noisily, the third not at all."""
    ada = factories.somebody("ada")
    evaluated.stones(ada)
    made = []
    for name in STATES:
        card = evaluated.card(("accuracy", 0.98), extra="pipeline_tag: tabular-classification")
        content = {"model.onnx": name.encode() * 9}
        made.append(factories.version(ada, factories.model(ada, name), content, card=card))
    outbox.deliver()
    firm, busy, _ = made
    figure = ("accuracy", 0.9833, 0.9694, 0.9944)
    for version in (firm, busy):
        [job] = evaluated.waiting(version=version)
        evaluated.end(job, evaluated.report([figure]))
    timed.benchmark(firm, 2.0)
    timed.benchmark(busy, 1.0, spread=0.3)
    return made


@pytest.fixture
def made(start, db):
    return shared.fresh(start)


def by_model(rows, path):
    """The first figure at a path of each row, by the model that the row links to first."""
    return {
        pages.text(row.find(".//a")).removeprefix("ada/").partition("@")[0]: pages.figures(
            row.find(path)
        )[0]
        for row in rows
    }


def statuses(figures_by_model):
    return {name: status for name, (status, _) in figures_by_model.items()}


def test_the_list(guest, made):
    page = pages.tree(guest.page(f"/models?{HERE}&sort=fastest"))
    cells = by_model(page.findall(".//tr[@data-item]"), "td[@class='speed']")
    assert statuses(cells) == STATES
    assert cells["firm"][1] == "2 ms"
    assert cells["busy"][1].endswith("noisy")
    assert cells["blank"][1] == "not measured"


def test_finding_a_model(guest, made):
    page = pages.tree(guest.page(f"/find?{HERE}&x=latency&y={STONES}"))
    rows = page.findall(".//section//tr[@data-compliance]")
    assert statuses(by_model(rows, "td[2]")) == STATES
    assert statuses(by_model(rows, "td[3]")) == STATES | {"busy": ACCEPTED}
    assert {row.get("data-compliance") for row in rows} == {"within"}


def test_what_is_unknown_is_not_outside_the_limits_and_counts_agree(guest, made):
    address = guest.get("/find?q=over+90+%25+on+stones,+under+5+ms")["Location"]
    page = pages.tree(guest.page(address))
    rows = {
        pages.text(row.find("th/a")).removeprefix("ada/"): row.get("data-compliance")
        for row in page.findall(".//section//tr[@data-compliance]")
    }
    assert rows == {"firm": "within", "busy": "unknown", "blank": "unknown"}
    assert pages.text(page.find(".//h2[@id='plot']")) == "1 model fits"
    heading = page.find(".//section[@aria-labelledby='candidates']/header")
    assert pages.text(heading.find("h2")) == "3 candidates"
    assert pages.text(heading.find("p")).startswith("1 within the limits, 2 not known to fit;")
    address = guest.get("/find?q=over+99+%25+on+stones")["Location"]
    rows = pages.tree(guest.page(address)).findall(".//section//tr[@data-compliance]")
    kept = [row.get("data-compliance") for row in rows]
    assert sorted(kept) == ["outside", "outside", "unknown"]


def test_noisy_results_join_the_trade_offs_and_say_so(guest, made):
    """A noisy result that is beaten by no other is a trade-off by name; it beats none accepted."""
    page = pages.tree(guest.page(f"/find?{HERE}&x=latency&y=size"))
    rows = page.findall(".//section[@aria-labelledby='candidates']//tr[@data-compliance]")
    tags = {
        pages.text(row.find("th/a")): pages.text(tag)
        for row in rows
        if (tag := row.find("th/span")) is not None
    }
    assert tags["ada/firm"] == "trade-off"
    assert tags["ada/busy"] == "noisy trade-off"
    assert "ada/blank" not in tags
    circles = [circle.get("class") for circle in page.iterfind(".//svg//circle")]
    assert sorted(circles) == ["best", "grey best"]


def compared(page, title):
    """The figures of a row of the comparison that differs."""
    row = next(
        row
        for row in page.iterfind(".//table//tr")
        if row.find("th") is not None and pages.text(row.find("th")).startswith(title)
    )
    return [pages.figures(cell)[0] for cell in row.findall("td")]


def test_a_comparison(guest, made):
    page = pages.tree(guest.page("/compare?m=ada/firm&m=ada/busy&m=ada/blank"))
    latency = compared(page, "Latency, p50")
    assert [status for status, _ in latency] == list(STATES.values())
    assert latency[1][1].startswith("0.897 ms noisy")
    assert [status for status, _ in compared(page, "Accuracy")] == [ACCEPTED, ACCEPTED, ABSENT]
    text = guest.get("/compare.csv?m=ada/firm&m=ada/busy&m=ada/blank").content.decode()
    line = next(line for line in text.splitlines() if line.startswith('"Latency, p50"'))
    assert line.endswith(',"0.897\u202fms, noisy",not measured')


def test_a_noisy_result_is_never_the_best_of_a_comparison(guest, made):
    timed.benchmark(made[2], 4.0)
    page = pages.tree(guest.page("/compare?m=ada/firm&m=ada/busy&m=ada/blank"))
    best = [cell for cell in page.iterfind(".//td[@class='best']") if pages.figures(cell)]
    assert [pages.figures(cell)[0] for cell in best if "ms" in pages.text(cell)] == [
        (ACCEPTED, "2 ms 95 %: 2 ms to 2 ms")
    ]


def test_the_home_page(guest, made):
    for version, (name, status) in zip(made, STATES.items(), strict=True):
        proven.conformance(version, [proven.measure("reference")])
        outbox.deliver()
        SearchDocument.objects.exclude(pk=version.model_id).update(proof_rank=None)
        cache.clear()  # guests get the choice of a minute ago
        page = pages.tree(guest.page("/"))
        row = page.find(".//section[@aria-labelledby='best']//tr[@data-item]")
        assert pages.text(row.find("td/h3")) == f"ada/{name}"
        (accuracy, latency) = (pages.figures(cell)[0] for cell in row.findall("td[@class='speed']"))
        assert latency[0] == status
        assert accuracy[0] == (ABSENT if name == "blank" else ACCEPTED)
    Measurement.objects.all().delete()
    assert "Latency." not in pages.text(pages.tree(guest.page("/")))


@pytest.mark.parametrize("name", STATES)
def test_the_page_of_a_model(guest, made, graphs, name):
    page = pages.tree(guest.page(f"/models/ada/{name}"))
    table = page.find(".//section[@aria-labelledby='latency']")
    sentence = pages.text(page.find(".//p[@id='evidence']"))
    if name == "blank":
        assert table is None
        assert "ms" not in sentence
        return
    row = table.find(".//tbody/tr")
    [(status, words)] = pages.figures(row.find("td[@data-word='p50']"))
    assert status == STATES[name]
    assert ("noisy" in words) == (name == "busy")
    assert ("(noisy, so not ranked)" in sentence) == (name == "busy")
    assert pages.figures(row.find("td[@data-word='p95']")) == [("unknown", "too few samples")]
    assert row.get("class") == ("grey" if name == "busy" else None)


@pytest.mark.parametrize("name", STATES)
def test_the_benchmarks_of_a_model(guest, made, name):
    section = pages.tree(guest.page(f"/models/ada/{name}/v/1/benchmarks")).find(
        ".//section[@aria-labelledby='latency']"
    )
    rows = section.findall(".//tr[@data-item]")
    if name == "blank":
        assert rows == []
        assert "Not measured." in [pages.text(one) for one in section.iterfind(".//b")]
        return
    [(status, _)] = pages.figures(rows[0].find("td[@data-word='p50']"))
    assert status == STATES[name]


def test_benchmarks_of_all_models(guest, made):
    page = pages.tree(guest.page("/benchmarks"))
    ranking = page.find(".//section[@aria-labelledby='ranking']")
    [row] = ranking.findall(".//tr[@data-item]")
    assert (ACCEPTED, "2 ms") in pages.figures(row)
    assert (ACCEPTED, "98.33 %") in pages.figures(row)
    noisy = page.find(".//section[@aria-labelledby='noisy']")
    assert statuses(by_model(noisy.findall(".//tbody/tr"), "td[3]")) == {"busy": NOISY}


def test_trade_offs_show_noisy_results_as_noisy(guest, made):
    page = pages.tree(guest.page("/benchmarks"))
    rows = page.findall(".//section[@aria-labelledby='quality']//tr[@data-item]")
    assert statuses(by_model(rows, "td[2]")) == {"firm": ACCEPTED, "busy": NOISY}
    assert [pages.text(row.find("th")) for row in rows] == ["ada/firm@1 frontier", "ada/busy@1"]
    marks = page.findall(".//section[@aria-labelledby='tradeoffs']//svg/path")
    assert [mark.get("class") for mark in marks][1:] == ["point of-cpu", "point of-grey"]


def test_trade_offs_of_noisy_results_alone(guest, made):
    Measurement.objects.filter(status="accepted").delete()
    timed.benchmark(made[2], 4.0, spread=0.3)
    page = pages.tree(guest.page("/benchmarks"))
    assert page.find(".//section[@aria-labelledby='ranking']") is None
    marks = page.findall(".//section[@aria-labelledby='tradeoffs']//svg/path")
    assert [mark.get("class") for mark in marks] == ["joined", "point of-grey"]
    assert marks[0].get("d") == ""
    noisy = page.find(".//section[@aria-labelledby='noisy']").findall(".//tbody/tr")
    assert statuses(by_model(noisy, "td[3]")) == {"busy": NOISY, "blank": NOISY}


def test_benchmarks_of_a_hub_without_results(guest, made):
    Measurement.objects.all().delete()
    page = pages.tree(guest.page("/benchmarks"))
    for name in ("ranking", "tradeoffs", "quality", "noisy", "unverified"):
        assert page.find(f".//section[@aria-labelledby='{name}']") is None
    assert pages.text(page.find(".//div[@class='empty']/p/b")) == "No ranked results yet"


@pytest.mark.capability("sparql")
def test_a_query(guest, made, graphs, monkeypatch):
    """The one pattern of figures gives the status of each, and no row where there is none."""
    outbox.deliver()
    store = pyoxigraph.Store()
    for text in NamedGraph.objects.values_list("nquads", flat=True):
        store.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    metric = f"<{settings.HUB_PUBLIC_URL}/metrics/latency-p50>"
    body = f"SELECT ?p50 ?status ?kind {{ {figures.pattern(metric=metric, value='?p50')} }}"
    query = listing.prologue(body, settings.HUB_PUBLIC_URL) + body + " ORDER BY ?p50"

    class Answer:
        def __init__(self, text):
            rows = store.query(text, use_default_graph_as_union=True)
            self.media_type = "text/tab-separated-values"
            content = rows.serialize(format=pyoxigraph.QueryResultsFormat.TSV)
            self.chunks, self.size = iter([content]), len(content)

        def close(self):
            """Nothing is open."""

    monkeypatch.setattr(service, "ask", lambda text, **_: Answer(text))
    page = pages.tree(guest.get("/query", {"query": query}).content.decode())
    rows = page.findall(".//table[@class='table results']/tbody/tr")
    shown = [[pages.text(cell) for cell in row.findall("td")][1:] for row in rows]
    assert shown == [["noisy", "measured"], ["accepted", "measured"]]


def test_the_scoreboard(guest, made):
    """Its shares are counts of cases, which are never noisy; a run may be under way."""

    def shares():
        board = pages.tree(guest.page("/scoreboard"))
        rows = board.findall(".//section[@aria-labelledby='runs']//tbody/tr")
        return board, [pages.text(row.find("td[1]")) for row in rows]

    board, rows = shares()
    assert rows == []
    assert pages.text(board.find(".//div[@class='empty']/p/b")) == "No results yet"
    case = ("test_add", "Add", 14, "passed")
    proven.suite("onnxruntime", "1.31.1", [case], parts=16)
    assert shares()[1] == ["100 % so far"]
    proven.suite("openvino", "2026.1", [case])
    assert sorted(shares()[1]) == ["100 %", "100 % so far"]
