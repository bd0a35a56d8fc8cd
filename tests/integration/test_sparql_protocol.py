"""The exchanges that the W3C lists for SPARQL 1.1 Protocol, and what else the endpoint promises."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

import pytest
import rdflib

from tests.faults.conftest import wait_for
from tests.integration import asking

DATA = "http://kasei.us/2009/09/sparql/data/data{}.rdf"
ONE, TWO, THREE = (DATA.format(number) for number in (1, 2, 3))
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
FORM, QUERY, UPDATE = (
    "application/x-www-form-urlencoded",
    "application/sparql-query",
    "application/sparql-update",
)
BOTH = f"ASK {{ <{ONE}> a ?type . <{TWO}> a ?type . }}"
NAMED = f"ASK {{ GRAPH ?g1 {{ <{ONE}> a ?type }} GRAPH ?g2 {{ <{TWO}> a ?type }} }}"
FULL = f"ASK {{ <{THREE}> a ?type GRAPH ?g1 {{ <{ONE}> a ?t1 }} GRAPH ?g2 {{ <{TWO}> a ?t2 }} }}"
# What the request names goes before what the query names.
OVERRULED = f"ASK FROM <{THREE}> {{ GRAPH ?g1 {{ <{ONE}> a ?t1 }} GRAPH ?g2 {{ <{TWO}> a ?t2 }} }}"


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with the three graphs of the exchanges."""
    folder = tmp_path_factory.mktemp("protocol")
    made = asking.hub_at(folder)
    graphs = {iri: f"<{iri}> <{TYPE}> <http://kasei.us/Thing> <{iri}> .\n" for iri in (ONE, TWO)}
    graphs[THREE] = f"<{THREE}> <{TYPE}> <http://kasei.us/Thing> <{THREE}> .\n"
    asking.put_graphs(made, graphs, folder)
    yield made
    made.stop()


def path(*, query=None, default=(), named=(), update=None):
    pairs = [("query", query)] if query is not None else []
    pairs += [("update", update)] if update is not None else []
    pairs += [("default-graph-uri", iri) for iri in default]
    pairs += [("named-graph-uri", iri) for iri in named]
    return f"/sparql?{urlencode(pairs, quote_via=quote)}" if pairs else "/sparql"


TRUE = {
    "query_post_form": ("POST", path(default=[ONE]), "query=ASK%20%7B%7D", FORM),
    "query_dataset_default_graphs_get": ("GET", path(query=BOTH, default=[ONE, TWO]), None, None),
    "query_dataset_default_graphs_post": ("POST", path(default=[ONE, TWO]), BOTH, QUERY),
    "query_dataset_named_graphs_post": ("POST", path(named=[ONE, TWO]), NAMED, QUERY),
    "query_dataset_named_graphs_get": ("GET", path(query=NAMED, named=[ONE, TWO]), None, None),
    "query_dataset_full": ("POST", path(default=[THREE], named=[ONE, TWO]), FULL, QUERY),
    "query_multiple_dataset": (
        "POST", path(default=[THREE], named=[ONE, TWO]), OVERRULED, QUERY,
    ),
    "query_get": ("GET", path(query="ASK {}"), None, None),
    "query_post_direct": ("POST", path(), "ASK {}", QUERY),
}  # fmt: skip
FORMATS = {
    "query_content_type_select": (
        "SELECT (1 AS ?value) {}",
        {
            "application/sparql-results+xml", "application/sparql-results+json", "text/csv",
            "text/tab-separated-values",
        },
    ),
    "query_content_type_ask": (
        "ASK {}", {"application/sparql-results+xml", "application/sparql-results+json"},
    ),
    "query_content_type_describe": (
        "DESCRIBE <http://example.org/>",
        {"application/rdf+xml", "text/turtle", "application/n-triples"},
    ),
    "query_content_type_construct": (
        "CONSTRUCT { <s> <p> 1 } WHERE {}",
        {"application/rdf+xml", "text/turtle", "application/n-triples"},
    ),
}  # fmt: skip
REFUSED = {
    "bad_query_method": ("PUT", path(query="ASK {}"), None, None, 405),
    "bad_multiple_queries": (
        "GET", "/sparql?query=ASK%20%7B%7D&query=SELECT%20%2A%20%7B%7D", None, None, 400,
    ),
    "bad_query_wrong_media_type": ("POST", path(), "ASK {}", "text/plain", 415),
    "bad_query_missing_form_type": ("POST", path(), "query=ASK%20%7B%7D", None, 415),
    "bad_query_missing_direct_type": ("POST", path(), "ASK {}", None, 415),
    "bad_query_non_utf8": ("POST", path(), "ASK {}".encode("utf-16"), QUERY, 400),
    "bad_query_syntax": ("GET", path(query="ASK {"), None, None, 400),
}  # fmt: skip
CLEAR = "CLEAR ALL"
UPDATES = {
    "update_post_form": ("POST", path(), f"update={quote(CLEAR)}", FORM, 403),
    "update_post_direct": ("POST", path(), CLEAR, UPDATE, 403),
    "update_dataset_default_graph": (
        "POST", "/sparql?using-graph-uri=" + quote(ONE, ""), CLEAR, UPDATE, 403,
    ),
    "update_dataset_default_graphs": (
        "POST", f"/sparql?using-graph-uri={quote(ONE, '')}&using-graph-uri={quote(TWO, '')}",
        CLEAR, UPDATE, 403,
    ),
    "update_dataset_named_graphs": (
        "POST", "/sparql?using-named-graph-uri=" + quote(ONE, ""), CLEAR, UPDATE, 403,
    ),
    "update_dataset_full": (
        "POST", f"/sparql?using-graph-uri={quote(ONE, '')}&using-named-graph-uri={quote(TWO, '')}",
        CLEAR, UPDATE, 403,
    ),
    "update_base_uri": ("POST", path(), "INSERT DATA { <s> <p> 1 }", UPDATE, 403),
    "bad_update_get": ("GET", path(update=CLEAR), None, None, 403),
    "bad_multiple_updates": ("POST", path(), "update=CLEAR%20NAMED&update=CLEAR%20ALL", FORM, 403),
    "bad_update_wrong_media_type": ("POST", path(), CLEAR, "text/plain", 415),
    "bad_update_missing_form_type": ("POST", path(), f"update={quote(CLEAR)}", None, 415),
    "bad_update_non_utf8": ("POST", path(), CLEAR.encode("utf-16"), UPDATE, 403),
    "bad_update_syntax": ("POST", path(), "CLEAR GRAPH", UPDATE, 403),
    "bad_update_dataset_conflict": (
        "POST", "/sparql?using-named-graph-uri=" + quote(ONE, ""),
        f"DELETE {{ ?s ?p ?o }} USING <{TWO}> WHERE {{ ?s ?p ?o }}", UPDATE, 403,
    ),
}  # fmt: skip


def test_every_exchange_that_the_w3c_lists_is_here():
    assert len(TRUE) + len(FORMATS) + len(REFUSED) + len(UPDATES) == 34


@pytest.mark.parametrize("name", TRUE)
def test_exchanges_that_are_true(hub, name):
    method, where, body, kind = TRUE[name]
    headers = {"Content_Type": kind} if kind else {}
    status, answered, content = asking.send(hub, method, where, body, **headers)
    assert status == 200, content
    assert answered["Content-Type"] == asking.JSON
    assert json.loads(content)["boolean"] is True


@pytest.mark.parametrize("name", FORMATS)
def test_exchanges_about_formats(hub, name):
    query, allowed = FORMATS[name]
    status, headers, content = asking.send(
        hub, "POST", "/sparql", urlencode({"query": query}), Content_Type=FORM
    )
    assert status == 200, content
    assert headers["Content-Type"].partition(";")[0] in allowed
    for kind in allowed:
        status, headers, content = asking.post(hub, query, kind)
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, kind)


@pytest.mark.parametrize("name", REFUSED | UPDATES)
def test_exchanges_that_are_refused(hub, name):
    method, where, body, kind, wanted = (REFUSED | UPDATES)[name]
    headers = {"Content_Type": kind} if kind else {}
    status, answered, content = asking.send(hub, method, where, body, **headers)
    assert status == wanted, content
    assert answered["Content-Type"] == "application/problem+json"
    assert json.loads(content)["status"] == wanted
    assert answered["Access-Control-Allow-Origin"] == "*"
    assert asking.truth(asking.post(hub, BOTH))


def test_the_default_graph_is_the_union_until_a_data_set_is_named(hub):
    assert asking.truth(asking.post(hub, BOTH))
    assert not asking.truth(asking.post(hub, BOTH, default=[ONE]))
    assert not asking.truth(asking.post(hub, BOTH.replace("ASK", f"ASK FROM <{ONE}>")))


def test_the_service_describes_itself(hub):
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    for accept, kind in (("text/turtle", "turtle"), ("application/rdf+xml", "xml")):
        status, headers, content = asking.send(hub, "GET", "/sparql", Accept=accept)
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, accept)
        graph = rdflib.Graph().parse(content, format=kind)
        service = graph.value(None, rdflib.RDF.type, sd.Service)
        assert str(graph.value(service, sd.endpoint)).endswith("/sparql")
        assert graph.value(service, sd.supportedLanguage) == sd.SPARQL11Query
        assert len(list(graph.objects(service, sd.resultFormat))) == 8


def test_other_origins_may_ask_and_no_cookie_counts(hub):
    status, headers, body = asking.send(
        hub, "OPTIONS", "/sparql", Origin="https://elsewhere.example",
        Access_Control_Request_Method="POST", Access_Control_Request_Headers="content-type",
    )  # fmt: skip
    assert (status, body) == (204, b"")
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in headers["Access-Control-Allow-Methods"]
    assert "Content-Type" in headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in headers
    status, headers, _ = asking.post(hub, "ASK {}", Cookie="sessionid=stolen")
    assert status == 200
    assert "Set-Cookie" not in headers
    assert "Cookie" not in headers["Vary"]


def test_long_addresses_head_and_refusals(hub):
    longer = "ASK {} #" + "x" * 7000
    assert asking.truth(asking.get(hub, longer))
    query = f"/sparql?query={quote('ASK {}')}"
    status, headers, body = asking.send(hub, "HEAD", query)
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(asking.get(hub, "ASK {}")[2])
    assert asking.post(hub, "ASK {}", "image/png")[0] == 406
    assert asking.post(hub, "ASK {} #" + "x" * 100_000)[0] == 413
    assert asking.post(hub, "ASK {}", Authorization="Bearer hf_nobody")[0] == 401
    assert asking.post(hub, "ASK {}", Authorization=f"Bearer {hub.token}")[0] == 200


def test_large_results_come_whole_and_with_their_length(hub):
    numbers = "VALUES ?a { " + " ".join(map(str, range(300))) + " }"
    query = f"SELECT ?a ?b {{ {numbers} {numbers.replace('?a', '?b')} }}"
    status, headers, body = asking.post(hub, query, "text/csv")
    assert status == 200
    assert int(headers["Content-Length"]) == len(body)
    assert len(body.splitlines()) == 300 * 300 + 1


def test_readiness_tells_how_far_the_store_is(hub):
    ready = wait_for(lambda: hub.call("GET", "/readyz")[2]["graphs"], "the store's state")
    assert ready["ok"]
    assert ready["revision"] == ready["newest"] > 0
