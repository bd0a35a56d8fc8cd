"""The validator as a process of its own: it answers, it ends what takes too long, it comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from metadata.graphs import projection
from metadata.rdf import vocabulary
from metadata.rdf.vocabulary import Shapes, ShapesUnavailableError
from metadata.shapes import validator
from tests.unit.metadata import shaping
from tests.unit.metadata.graphs.test_projection import CARD, HOME, KNOWN

GRAPH = projection.version_graph(replace(KNOWN, card=CARD), HOME)
CONTEXT = projection.catalogue_graph(HOME)


@pytest.fixture(autouse=True)
def _home(settings):
    settings.HUB_PUBLIC_URL = HOME
    settings.HUB_MLDCAT_SHAPES = ""
    yield
    validator.stop()


@pytest.mark.parametrize("against", ["hub", "mldcat-ap"])
def test_the_process_says_what_pyshacl_says_here(against):
    said = validator.validate(GRAPH, against=against, context=CONTEXT)
    assert said == shaping.validate(GRAPH, against=against, context=CONTEXT)
    assert (said == []) == (against == "hub")


def test_a_process_that_was_killed_is_replaced():
    assert validator.validate(GRAPH, against="hub", context=CONTEXT) == []
    killed = validator._server._process
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert validator.validate(GRAPH, against="hub", context=CONTEXT) == []
    assert validator._server._process.pid != killed.pid


def test_what_takes_too_long_or_too_much_is_ended_and_the_next_is_answered(monkeypatch):
    tight = replace(validator._LIMITS, wall_seconds=0.001)
    monkeypatch.setattr(validator, "_LIMITS", tight)
    with pytest.raises(ShapesUnavailableError, match="took too long"):
        validator.validate(GRAPH * 50, against="hub")
    monkeypatch.setattr(validator, "_LIMITS", replace(tight, wall_seconds=15, memory_bytes=1 << 26))
    place = "https://elsewhere.example"
    much = "".join(f'<{place}/{n}> <{place}/p> "{n}" <{place}> .\n' for n in range(60_000))
    with pytest.raises(ShapesUnavailableError):
        validator.validate(GRAPH, against="hub", context=much)
    monkeypatch.undo()
    assert validator.validate(GRAPH, against="hub", context=CONTEXT) == []


def test_shapes_that_are_no_turtle_are_told():
    with pytest.raises(ShapesUnavailableError, match="cannot be read"):
        validator.validate(GRAPH, against=Shapes("broken", "no turtle here"))


def test_no_process_of_the_site_loads_rdflib():
    code = (
        "import django, sys; django.setup()\n"
        "import hub.server.urls, hub.server.wsgi, runners.workers.worker\n"
        "import metadata.validation.card_check, metadata.validation.reports\n"
        "from metadata.shapes import validator\n"
        "print(sorted({'rdflib', 'pyshacl', 'onnx', 'owlrl'} & set(sys.modules)))"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_validator_knows_nothing_of_the_site():
    assert validator.validate(GRAPH, against="hub", context=CONTEXT) == []
    environment = Path(f"/proc/{validator._server.pid}/environ").read_text().split("\0")
    names = {variable.partition("=")[0] for variable in environment}
    assert "HUB_SECRET_KEY" in os.environ
    assert names.isdisjoint({"HUB_SECRET_KEY", "DATABASE_URL"})
    assert "hub" not in vocabulary.read("terms").partition("@prefix")[0].lower().split("/")
