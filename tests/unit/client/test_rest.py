"""How answers of the API become objects, and arguments become requests."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hub
from hub.client.rest import answers, calls
from hub.client.rest.tokens import Token
from hub.client.rest.users import Whoami
from hub.protocol import problems

TOKEN = {
    "id": 1, "name": "ci", "prefix": "hf_ab", "scopes": ["read"], "namespace": None,
    "created_at": "2026-01-31T12:00:00.500000Z", "expires_at": "2026-04-30T12:00:00Z",
    "last_used_at": None,
}  # fmt: skip


def test_an_answer_is_read_and_written_as_it_came():
    token = answers.read(Token, TOKEN | {"new": "field of a newer hub"})
    assert token.created_at == datetime(2026, 1, 31, 12, 0, 0, 500000, UTC)
    assert token.scopes == ("read",)
    newer = {"namespaces": [], "models": [], "is_limited": None}
    assert answers.plain(token) == TOKEN | newer


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"id": "1"}, "id is no int"),
        ({"id": True}, "id is no int"),
        ({"scopes": "read"}, "scopes is no list"),
        ({"scopes": [1]}, r"scopes\[0\] is no str"),
        ({"name": None}, "name is no str"),
        ({"created_at": "yesterday"}, "yesterday"),
    ],
)
def test_an_answer_of_another_shape_is_an_error(change, cause):
    with pytest.raises(problems.Unreachable, match=cause):
        answers.read(Token, TOKEN | change)


def test_a_missing_field_is_an_error():
    with pytest.raises(problems.Unreachable, match="prefix is missing"):
        answers.read(Token, {name: value for name, value in TOKEN.items() if name != "prefix"})
    with pytest.raises(problems.Unreachable, match=r"namespaces\[0\].role is missing"):
        answers.read(Whoami, {"username": "a", "scopes": [], "namespaces": [{"slug": "a"}]})


@pytest.mark.parametrize("name", ["..", "a/../b", "", "."])
def test_a_name_cannot_lead_to_another_address(name):
    with pytest.raises(problems.InvalidRequest):
        calls.tail(name)
    with pytest.raises(problems.InvalidRequest):
        calls.part(name)
    assert calls.part("a/b?c#d") == "a%2Fb%3Fc%23d"


def test_none_is_left_out_and_an_explicit_none_is_null():
    fields = {"a": None, "b": calls.explicit(None), "c": calls.explicit(...), "d": (1, 2)}
    assert calls.json_of(fields) == {"b": None, "d": [1, 2]}


def test_groups_are_those_of_the_default_hub(monkeypatch):
    monkeypatch.setenv("HUB_URL", "http://127.0.0.1:9")
    assert hub.jobs._hub.config.url == "http://127.0.0.1:9"
    monkeypatch.setenv("HUB_URL", "http://127.0.0.1:10")
    assert hub.jobs._hub.config.url == "http://127.0.0.1:10"
    assert hub.Hub("http://127.0.0.1:11").jobs._hub.config.url == "http://127.0.0.1:11"
    with pytest.raises(AttributeError):
        _ = hub.nothing
