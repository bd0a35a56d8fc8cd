"""What the guard lets through, and what it refuses with which words."""

from __future__ import annotations

import contextlib

import pytest

from hub.protocol import problems
from metadata.sparql import guard

HERE = "<http://127.0.0.1:9/>{?a ?b ?c}"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("ASK {}", "ASK"),
        ("\ufeffselect * where { ?s ?p ?o }", "SELECT"),
        ("BASE <http://x/> PREFIX a: <b#> # SELECT\nCONSTRUCT WHERE { ?s a:b ?o }", "CONSTRUCT"),
        ("PREFIX:<http://x/>DESCRIBE<x>", "DESCRIBE"),
        ("SELECT ?s { { SELECT ?s { ?s ?p ?o } } } ORDER BY ?s LIMIT 3", "SELECT"),
        ("# SERVICE\nASK { ?service ?p 'SERVICE', <http://x/SERVICE> }", "ASK"),
        ('ASK { ?s ?p """a "SERVICE" b""" }', "ASK"),
        ("PREFIX ex: <x:> ASK { ?s ex:service ex:o\\'k }", "ASK"),
        ("SELECT * { VALUES (?a ?b) { (<http://a/#x> <http://b/#(y)>) } }", "SELECT"),
        ("SELECT * { ?s ?p ?o FILTER(?o<5 && ?s != <http://x/#y> && ?o>1) }", "SELECT"),
        ("ASK { VALUES ?x { " + "1 " * 40_000 + "} }", "ASK"),
    ],
)  # fmt: skip
def test_queries_pass_as_they_are(text, form):
    query = guard.vet(text)
    assert query.form == form
    assert query.text == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    "text",
    [
        "ASK { SERVICE" + HERE + " }",
        "ASK { service silent " + HERE + " }",
        # Oxigraph reads these two as SERVICE: it wants no space between words.
        "ASK { SERVICESILENT" + HERE + " }",
        "PREFIX : <http://x/> ASK { SERVICE:x {?a ?b ?c} }",
        "ASK { ?s ?p trueSERVICE" + HERE + " }",
        "ASK { ?s ?p 1SERVICE" + HERE + " }",
        "ASK { ?s ?p true.SERVICE:x {} }",
        "PREFIX ex: <x:> ASK { ?s ?p ex:a.SERVICE" + HERE + " }",
        "ASK { \\u0053ERVICE " + HERE + " }",
        "ASK { \\U00000053\\u0045RVICE " + HERE + " }",
        "ASK { ?s ?p 'a' # '\n SERVICE " + HERE + " # '\n }",
        "ASK { \u017fervice " + HERE + " }",
    ],
)
def test_service_is_refused_however_it_is_written(text):
    with pytest.raises(problems.QueryInvalid, match="SERVICE is not available"):
        guard.vet(text)


def test_an_escape_that_ends_a_string_for_some_engines_hides_nothing():
    with pytest.raises(problems.QueryInvalid):
        guard.vet('ASK { ?s ?p "a\\u0022 . SERVICE ' + HERE + ' #" }')
    with pytest.raises(problems.QueryInvalid):
        guard.vet('ASK { ?s ?p "a\\u0022" . SERVICE ' + HERE + ' . ?s ?p "b" }')


@pytest.mark.parametrize(
    "text",
    [
        "ASK{FILTER(?a<?b)SERVICE:x#>\n{?a ?b ?c}}",
        "ASK{FILTER((1<2)&&?a<?b&&(?c>?d)&&?x<?b)SERVICE:x#>\n{?a ?b ?c}}",
    ],
)
def test_less_than_hides_nothing(text):
    """Read as an IRI, `<?b)SERVICE:x#>` would hide what an engine reads as tokens."""
    with pytest.raises(problems.QueryInvalid, match="less-than"):
        guard.vet(text)


@pytest.mark.parametrize("word", ["INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD",
                                  "MOVE", "COPY", "WITH"])  # fmt: skip
def test_updates_are_forbidden(word):
    for text in (f"{word} DATA {{}}", f"PREFIX x: <x:> {word.lower()} x:a", f"ASK {{}} ; {word} x"):
        with pytest.raises(problems.NotAllowed, match=word):
            guard.vet(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "query is incomplete"),
        ("PREFIX x: <x:>", "query is incomplete"),
        ("foo", "must start with SELECT"),
        ("ASK {}\nSELECT * {}", "Line 2, column 1: A second query"),
        ("SELECT * " + "{" * 65 + "}" * 65, "nested deeper than 64"),
        ("ASK { ?s ?p " + "<<( " * 65 + "?s ?p ?o" + " )>>" * 65 + " }", "nested deeper"),
        ("ASK { ?s ?p ( " + "1 " * 65 + ") }", "more than 64 members"),
        ("ASK { " + "?s ?p ?o . " * 251 + "}", "more than 250 triple patterns"),
        ("ASK { ?s " + "/".join(["<x:p>"] * 252) + " ?o }", "more than 250"),
        ("ASK {\n ?s ?p 'x }", "Line 2, column 8: The string that starts here"),
    ],
)
def test_refusals_name_their_cause_and_place(text, words):
    with pytest.raises(problems.QueryInvalid, match=words) as refused:
        guard.vet(text)
    assert refused.value.extensions["line"] >= 1


def test_bounds_hold_at_their_edge():
    guard.vet("SELECT * " + "{" * 64 + "}" * 64)
    guard.vet("ASK { ?s ?p ( " + "1 " * 64 + ") }")
    guard.vet("ASK { " + "?s ?p ?o . " * 250 + "}")
    guard.vet("ASK {} #" + "x" * (guard.LONGEST_BYTES - 8))
    with pytest.raises(problems.TooLarge):
        guard.vet("ASK {} #" + "x" * (guard.LONGEST_BYTES - 7))


def test_what_matters_to_the_engine_is_told():
    assert guard.vet("ASK FROM <x:g> {}").names_dataset
    assert not guard.vet("ASK { ?from ?p 'FROM' }").names_dataset
    assert not guard.vet("SELECT (NOW() AS ?n) {}").repeatable
    assert not guard.vet("SELECT (rand() AS ?n) {}").repeatable
    assert guard.vet("SELECT ?now { ?now ?p 'NOW' }").repeatable


@pytest.mark.parametrize(
    "text",
    ["a." * 49_000, "<" * 99_000, "(" * 99_000, "'''" * 33_000, "a:" * 49_000, "\\u0041" * 16_000,
     "ASK {" + "?a<?b" * 19_000],
)  # fmt: skip
def test_long_nonsense_is_read_in_linear_time(text):
    """Reading a hundred kilobytes takes tenths of a second; were it quadratic, minutes."""
    with contextlib.suppress(problems.QueryInvalid):
        assert guard.vet(f"ASK {{ {text[:99_000]}").form == "ASK"
