"""`hub.find` and `hub find`: limits with units, the order that follows, and why a model fits."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

import hub
from hub.cli import command
from hub.protocol import problems
from tests.unit.client.conftest import make_model

pytestmark = pytest.mark.usefixtures("default")


def asked(fake):
    """The parameters of the last list that was asked for."""
    path = [path for _, path, _ in fake.requests if "/models?" in path][-1]
    return {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}


@pytest.mark.parametrize(
    ("limits", "parameters"),
    [
        ({"max_p50": "20ms"}, {"max_p50": "20.0", "sort": "fastest"}),
        ({"max_p50": "1.5 s", "on": "cpu"}, {"max_p50": "1500.0", "device": "cpu"}),
        ({"max_p50": "250us"}, {"max_p50": "0.25"}),
        ({"max_memory": "500MB"}, {"max_memory": "500000000", "sort": "memory"}),
        (
            {"max_size": "2 gb", "max_macs": 7},
            {"max_bytes": "2000000000", "max_macs": "7", "sort": "macs"},
        ),
        ({"max_macs": "1G", "task": "x"}, {"max_macs": "1000000000", "sort": "macs", "task": "x"}),
        ({"max_parameters": "0.5M"}, {"max_parameters": "500000", "sort": "downloads"}),
        ({"on": "cpu"}, {"device": "cpu", "sort": "fastest"}),
        ({"license": "mit"}, {"license": "mit", "sort": "downloads"}),
    ],
)
def test_limits_become_filters_and_an_order(fake, limits, parameters):
    assert hub.find(**limits) == []
    assert parameters.items() <= asked(fake).items()
    assert set(asked(fake)) <= {"sort", "limit", *parameters}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_p50": "20 parsecs"}, "(ms, us, s)"),
        ({"max_memory": "much"}, "such as 500MB"),
        ({"max_power": 3}, "Unknown limit 'max_power'"),
    ],
)
def test_what_is_no_limit_is_refused_before_any_request(fake, limits, words):
    with pytest.raises(problems.InvalidRequest) as caught:
        hub.find(**limits)
    assert words in str(caught.value)
    assert not fake.requests


def test_more_than_a_page_is_fetched_and_no_more_than_asked_for(fake):
    for number in range(130):
        fake.add(f"zoo/m{number:03}", make_model())
    assert len(hub.find(limit=120)) == 120
    assert len(hub.find(limit=3)) == 3


def test_the_command_says_why_each_model_fits(capsys, monkeypatch):
    latest = {"number": 1, "size": 12345, "macs": 4_089_184_256, "memory_bytes": 214_000_000}
    speed = {"status": "accepted", "p50_ms": 12.345}
    row = {"ref": "zoo/small", "license": "mit", "latest": latest, "speed": speed}
    monkeypatch.setattr("hub.client.api.find", lambda *_, **__: [row])
    assert command.main(["find", "--max-p50", "20ms"]) == 0
    assert capsys.readouterr().out == (
        "zoo/small  p50 12.3 ms, 214.0 MB of memory, 4.09 G MACs, 12.3 kB of files, mit\n"
    )
    assert command.main(["find", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [row]


def test_nothing_that_fits_is_said(capsys):
    assert command.main(["find", "--max-size", "1B"]) == 0
    assert "no model keeps every limit" in capsys.readouterr().err
    assert command.main(["find", "--max-p50", "soon"]) == 1
