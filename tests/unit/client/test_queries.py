"""SPARQL queries of the client: the formats of answers, and what a query may be."""

from __future__ import annotations

import json

import pytest

from hub.cli import command
from hub.client import queries
from hub.protocol import problems

BINDINGS = {
    "head": {"vars": ["model", "name"]},
    "results": {
        "bindings": [
            {
                "model": {"type": "uri", "value": "http://example.org/a"},
                "name": {"type": "literal", "value": "A", "xml:lang": "en"},
            },
            {"model": {"type": "bnode", "value": "b0"}},
        ]
    },
}


def answer(fake, content, media=queries.JSON):
    body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
    fake.answers.append((200, {"Content-Type": f"{media}; charset=utf-8"}, body))


def test_solutions(fake, client):
    answer(fake, BINDINGS)
    solutions = queries.query(client, "SELECT ?model ?name { ?model ?is ?name }")
    assert solutions.variables == ("model", "name")
    assert solutions.rows[0]["name"] == queries.Term("literal", "A", language="en")
    assert "name" not in solutions.rows[1]
    assert fake.requests[-1][:2] == ("POST", "/sparql")


def test_an_answer_is_yes_or_no_or_a_graph(fake, client):
    answer(fake, {"head": {}, "boolean": True})
    assert queries.query(client, "ASK {}") is True
    answer(fake, "<a> <b> <c> .\n", queries.TURTLE)
    assert queries.query(client, "CONSTRUCT WHERE { ?a ?b ?c }") == "<a> <b> <c> .\n"


@pytest.mark.parametrize("content", ["no json", {"head": {}}, []])
def test_what_is_no_result_is_an_error(fake, client, content):
    answer(fake, content)
    with pytest.raises(problems.Unreachable):
        queries.query(client, "ASK {}")


@pytest.mark.usefixtures("default")
def test_the_command_prints_a_table_and_other_formats(fake, capsys, tmp_path):
    answer(fake, BINDINGS)
    query = tmp_path / "query.rq"
    query.write_text("SELECT ?model ?name { ?model ?is ?name }")
    assert command.main(["query", str(query)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["model", "name"],
        ["http://example.org/a", "A"],
        ["b0", "-"],
    ]
    answer(fake, "model\r\na\r\n", queries.CSV)
    assert command.main(["query", "--format", "csv", "SELECT ?model {}"]) == 0
    assert capsys.readouterr().out.splitlines() == ["model", "a"]
    assert command.main(["query", "SELEC"]) == 1
    assert "is no query and no readable file" in capsys.readouterr().err
