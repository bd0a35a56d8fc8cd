"""The environment is read as what it must be; everything that is wrong is named at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from hub.protocol import client_variables
from hub.server import environment
from hub.server.environment import Environment


def faults(**values):
    env = Environment(values)
    env.integer("HUB_LIMITS_FILES", default=2_000)
    env.number("HUB_DRAIN_SECONDS", default=0.0)
    env.number("HUB_LOG_QUERY_SECONDS", default=1.0, least=-1)
    env.flag("HUB_STORAGE_REDIRECT", default=False)
    env.choice("HUB_BENCH", default="light", choices=("off", "light", "full"))
    env.rate("HUB_LIMITS_ANON_RATE", default="1200/min")
    env.database("DATABASE_URL")
    env.text("HUB_STORAGE_URL", default="file:///srv")
    try:
        env.check()
    except ImproperlyConfigured as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HUB_LIMITS_FILES", "lots", "HUB_LIMITS_FILES is 'lots', no whole number."),
        ("HUB_LIMITS_FILES", "1.5", "HUB_LIMITS_FILES is '1.5', no whole number."),
        ("HUB_LIMITS_FILES", "-1", "HUB_LIMITS_FILES is '-1', less than 0."),
        ("HUB_DRAIN_SECONDS", "10 seconds", "HUB_DRAIN_SECONDS is '10 seconds', no number."),
        ("HUB_DRAIN_SECONDS", "nan", "HUB_DRAIN_SECONDS is 'nan', no number."),
        ("HUB_STORAGE_REDIRECT", "maybe", "HUB_STORAGE_REDIRECT is 'maybe', neither true nor"),
        ("HUB_BENCH", "heavy", "HUB_BENCH is 'heavy', none of off, light, full."),
        ("HUB_LIMITS_ANON_RATE", "fast", "HUB_LIMITS_ANON_RATE is 'fast', no rate, such as 10/s"),
        ("HUB_STORAGE", "s3", "HUB_STORAGE is no setting. Did you mean HUB_STORAGE_URL?"),
        ("HUB_STORAGE_ULR", "s3://models", "Did you mean HUB_STORAGE_URL?"),
        ("HUB_DATABASE_URL", "postgres://db/hub", "Did you mean DATABASE_URL?"),
        ("HUB_LIMIT_FILES", "3", "Did you mean HUB_LIMITS_FILES?"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(name, value, words):
    (line,) = faults(**{name: value})
    assert words in line


def test_all_are_named_at_once():
    assert len(faults(HUB_LIMITS_FILES="x", HUB_DRAIN_SECONDS="y", HUB_STORAGE="s3")) == 3


@pytest.mark.parametrize(
    "url", ["mysql://hub:secret@db/hub", "secret", "postgres://a:secret@b:x/c"]
)
def test_a_database_is_refused_without_its_password(url):
    (line,) = faults(DATABASE_URL=url)
    assert line.startswith("DATABASE_URL is no address of a PostgreSQL database.")
    assert "secret" not in line


def test_what_can_be_used_is_used():
    env = Environment(
        {"A": "20_000", "B": "1e3", "C": "yes", "D": "10/min", "E": "x,y", "F": "", "G": " "}
    )
    assert env.integer("A", default=1) == 20_000
    assert env.number("B", default=1.0) == 1_000.0
    assert env.flag("C", default=False) is True
    assert env.rate("D", default="1/s") == "10/min"
    assert env.texts("E", default=[]) == ["x", "y"]
    assert env.texts("F", default=["x"]) == []
    assert env.number("F", default=3.0) == 3.0
    assert env.text("G", default="./var") == "./var"
    assert env.database("F") is None
    assert env.faults == []
    assert Environment({"X": "-1"}).number("X", default=1.0, least=-1) == -1.0


def test_names_of_others_are_mentioned_and_not_refused():
    values = {"HUB_PORT_8000_TCP": "x", "HUB_TEST_ANY": "1", "HUB_TOKEN": "t", "OTHER": "y"}
    env = Environment(values)
    env.text("HUB_PUBLIC_URL", default="http://127.0.0.1:8000")
    env.check()
    (fault,) = env.unknown()
    assert fault.text == "HUB_PORT_8000_TCP is no setting and has no effect."


def test_every_variable_of_the_product_is_known():
    """No two of them are so alike that a hub without one would refuse it."""
    names = environment.env.variables | client_variables.VARIABLES
    assert {"HUB_HOME", "DATABASE_URL", "HUB_LIMITS_FILES"} <= environment.env.variables
    every = Environment(dict.fromkeys(names, ""))
    every.variables |= names
    assert every.misspelt() == every.unknown() == []


def test_every_variable_of_the_client_is_declared():
    hub = Path(client_variables.__file__).parents[1]
    sources = [path for room in ("client", "cli") for path in (hub / room).rglob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    names = set(re.findall(r"environ(?:ment)?(?:\.get\(|\[)\"(HUB_[A-Z_]+)\"", text))
    assert names
    assert names - environment.env.variables <= client_variables.VARIABLES
