"""`hub.find` and `hub find`: limits with units, the order that follows, and why a model fits."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

import hub
from hub.cli import command
from hub.protocol import devices, problems
from tests.unit.client.conftest import make_model

pytestmark = pytest.mark.usefixtures("default")


def asked(fake):
    """The parameters of the last list that was asked for."""
    path = [path for _, path, _ in fake.requests if "/models?" in path][-1]
    return {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}


@pytest.mark.parametrize(
    ("limits", "parameters"),
    [
        ({"max_p50": "20ms"}, {"max_p50": "20.0"}),
        ({"max_p50": "1.5 s", "on": "cpu"}, {"max_p50": "1500.0", "device": "cpu"}),
        ({"max_p50": "250us"}, {"max_p50": "0.25"}),
        ({"max_memory": "500MB"}, {"max_memory": "500000000"}),
        (
            {"max_size": "2 gb", "max_macs": 7},
            {"max_bytes": "2000000000", "max_macs": "7"},
        ),
        ({"max_macs": "1G", "task": "x"}, {"max_macs": "1000000000", "task": "x"}),
        ({"max_parameters": "0.5M"}, {"max_parameters": "500000"}),
        ({"max_macs": 7, "predicted": True}, {"max_macs": "7", "predicted": "true"}),
        ({"min": "accuracy@digits=90%"}, {"min": "accuracy@digits=90%"}),
        (
            {"min": {"top1@digits": 0.9}, "max": ["rmse=3"]},
            {"min": "top1@digits=0.9", "max": "rmse=3"},
        ),
        ({"on": "cpu"}, {"device": "cpu", "sort": "fastest"}),
        ({"license": "mit"}, {"license": "mit", "sort": "downloads"}),
    ],
)
def test_limits_become_filters_and_an_order(fake, limits, parameters):
    assert hub.find(**limits) == []
    assert parameters.items() <= asked(fake).items()
    assert set(asked(fake)) == {"limit", *parameters}  # with a limit the hub decides the order


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
    speed = {
        "status": "accepted", "predicted": False, "device": "cpu-2-cores", "p50_ms": 12.345,
        "low_ms": 12.1, "high_ms": 12.6, "interval_level": 95,
    }  # fmt: skip
    evaluated = {"metric": "accuracy", "dataset": "digits", "version": 1, "split": "test"}
    fit = {"constraint": "min", "value": 0.97, "low": 0.95, "high": 0.99, "evaluated": evaluated}
    fit["interval_level"] = 95
    row = {"ref": "zoo/small", "license": "mit", "latest": latest, "speed": speed, "fits": [fit]}
    given = {}
    monkeypatch.setattr("hub.client.api.find", lambda *_, **more: given.update(more) or [row])
    limits = ["--min", "accuracy@digits=0.9", "--min", "top-5=1", "--max", "log_loss=0.5"]
    assert command.main(["find", "--max-p50", "20ms", *limits]) == 0
    assert given["min"] == ["accuracy@digits=0.9", "top-5=1"]
    assert given["max"] == ["log_loss=0.5"]
    assert capsys.readouterr().out == (
        "zoo/small  p50 12.3 ms [95 %: 12.1, 12.6] on cpu-2-cores, "
        "accuracy 0.97 [95 %: 0.95, 0.99] on digits@1:test, 214.0 MB of memory, 4.09 G MACs, "
        "12.3 kB of files, mit\n"
    )
    speed |= {"status": "predicted", "predicted": True, "low_ms": 8.0, "high_ms": 19.2}
    speed["interval_level"] = 80
    assert command.main(["find", "--max-p50", "20ms", "--predicted"]) == 0
    assert "p50 ≈ 12.3 ms [80 %: 8, 19.2] on cpu-2-cores predicted," in capsys.readouterr().out
    assert command.main(["find", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [row]


def test_nothing_that_fits_is_said(capsys):
    assert command.main(["find", "--max-size", "1B"]) == 0
    assert "no model keeps every limit" in capsys.readouterr().err
    assert command.main(["find", "--max-p50", "soon"]) == 1


def test_this_machine_is_the_class_of_its_processor(fake, monkeypatch):
    own = devices.device_class("cpu", "Example CPU (R) 9", 2)
    assert (own.name, own.title) == ("example-cpu-r-9-2-cores", "Example CPU (R) 9, 2 cores")
    monkeypatch.setattr(devices, "this_machine", lambda: own)
    fake.devices.append({"name": own.name, "title": own.title})
    hub.find(on="this machine", max_p50="20ms")
    assert asked(fake)["device"] == own.name


def test_without_measurements_on_such_machines_it_says_how_to_contribute_one(fake, capsys):
    fake.devices.append({"name": "another-cpu-64-cores", "title": "Another CPU, 64 cores"})
    assert command.main(["find", "--on", "this machine", "--max-p50", "20ms"]) == 3
    words = capsys.readouterr().err
    assert f"no measurements on machines like this one ({devices.this_machine().title})" in words
    assert "hub bench MODEL --contribute" in words
    assert not any("/models?" in path for _, path, _ in fake.requests)


def test_a_question_is_read_by_the_hub_unless_it_is_meant_as_text(fake):
    hub.find("fast image classifier")
    assert asked(fake) == {"q": "fast image classifier", "limit": "20", "understand": "true"}
    hub.find("fast image classifier", literal=True)
    assert asked(fake) == {"q": "fast image classifier", "limit": "20", "sort": "downloads"}
    hub.find("resnet50")
    assert asked(fake) == {"q": "resnet50", "limit": "20", "sort": "downloads"}


def test_the_command_says_how_a_question_was_read(capsys, monkeypatch):
    understood = {
        "parts": [{"words": "small", "parameter": "sort", "value": "size"}],
        "unused": [{"words": "accurate", "reason": "No metric."}],
        "text": "yolo",
    }
    monkeypatch.setattr("hub.client.api.find", lambda *_, **__: [])
    monkeypatch.setattr("hub.client.api.understand", lambda _: understood)
    assert command.main(["find", "small", "accurate yolo"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "hub: understood as sort=size, text 'yolo'",
        "hub: 'accurate' was not used. No metric.",
        "hub: no model keeps every limit",
    ]
    assert command.main(["find", "small", "yolo", "--literal"]) == 0
    assert "understood" not in capsys.readouterr().err
