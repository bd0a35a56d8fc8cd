from __future__ import annotations

import pickle
import re

import pytest

import hub.errors
from hub.protocol import problems

KINDS = sorted(problems.by_slug().values(), key=lambda kind: kind.slug)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.slug)
def test_every_problem_crosses_the_wire_as_itself(kind):
    sent = kind(
        "Because of this. Do that.",
        errors=[{"pointer": "/name", "detail": "too long"}],
        instance="req-1",
        findings=[1, {"a": None}],
    )
    document = sent.to_json("https://hub.example/")
    assert document == {
        "type": f"https://hub.example/problems/{kind.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": "Because of this. Do that.",
        "instance": "req-1",
        "errors": [{"pointer": "/name", "detail": "too long"}],
        "findings": [1, {"a": None}],
    }
    received = problems.Problem.from_json(document, kind.status)
    assert type(received) is kind
    assert received.to_json("https://hub.example") == document
    assert str(received) == "Because of this. Do that.\n  /name: too long"


def test_slugs_are_plain_and_statuses_are_errors():
    slugs = [kind.slug for kind in KINDS]
    assert len(set(slugs)) == len(KINDS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", slug) for slug in slugs)
    assert all(400 <= kind.status < 600 for kind in KINDS)


def test_unknown_problem_keeps_its_type_and_words():
    received = problems.Problem.from_json(
        {"type": "https://hub.example/problems/new-thing", "title": "New", "detail": "Why."}, 418
    )
    assert type(received) is problems.Problem
    assert (received.status, received.title, str(received)) == (418, "New", "Why.")
    assert received.to_json()["type"] == "https://hub.example/problems/new-thing"


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {},
        {"type": 3, "title": [], "detail": {}, "errors": "x", "instance": 3},
        {"type": "/problems/not-found", "errors": [1, {"pointer": 3}], "self": 1, "detail": None},
    ],
)
def test_documents_of_any_shape_become_a_problem(document):
    received = problems.Problem.from_json(document, 404)
    assert received.status == 404
    assert str(received)


def test_extension_cannot_replace_a_member():
    problem = problems.NotFound("Gone.")
    problem.extensions = {"status": 200, "more": 1}
    assert problem.to_json()["status"] == 404
    assert problem.to_json()["more"] == 1


def test_problem_of_one_field():
    problem = problems.InvalidName.at("/name", "It is too long.")
    assert problem.errors == ({"pointer": "/name", "detail": "It is too long."},)


def test_words_of_a_field_are_said_once():
    errors = [{"pointer": "/a", "detail": "is no day"}, {"pointer": "/b", "detail": "is missing"}]
    problem = problems.InvalidRequest("/a: is no day", errors=errors)
    assert str(problem) == "/a: is no day\n  /b: is missing"


def test_problem_can_be_pickled():
    sent = problems.NameTaken("Taken.", errors=[{"pointer": "/name", "detail": "x"}], number=3)
    received = pickle.loads(pickle.dumps(sent))  # noqa: S301  (our own bytes)
    assert type(received) is problems.NameTaken
    assert received.to_json() == sent.to_json()


def test_errors_module_holds_the_whole_tree():
    tree = {problems.HubError}
    while True:
        below = {child for kind in tree for child in kind.__subclasses__()}
        below = {kind for kind in below if kind.__module__ == problems.__name__}
        if below <= tree:
            break
        tree |= below
    assert {kind.__name__ for kind in tree} == set(hub.errors.__all__)
