"""Reading requests, choosing formats, sharing places, and following rows: without processes."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from hub.protocol import problems
from metadata.models import NamedGraph
from metadata.rdf import parsing
from metadata.sparql import limits, protocol, service, stores
from metadata.sparql.embedded import EmbeddedStore
from metadata.sparql.error_messages import syntax_problem
from metadata.sparql.remote import plain
from metadata.sparql.replication import FileStates, Follower
from metadata.store import services
from registry.core.shared_files import try_lock

FORM, DIRECT = protocol.FORM, protocol.DIRECT
G = "http://testserver/models/a/b/metadata"


def quad(n, graph=G):
    return f"<http://x/{n}> <http://x/p> <http://x/o> <{graph}> .\n"


def test_questions_of_requests():
    asked = protocol.from_get("query=ASK%20%7B%7D&default-graph-uri=x:a&named-graph-uri=x:b")
    assert asked == protocol.QueryRequest("ASK {}", ("x:a",), ("x:b",))
    assert protocol.from_get("") == protocol.QueryRequest(None)
    form = protocol.from_post(
        "default-graph-uri=x:a", f"{FORM}; charset=UTF-8", b"query=ASK+%7B%7D"
    )
    assert form == protocol.QueryRequest("ASK {}", ("x:a",))
    assert protocol.from_post("", DIRECT, "ASK {} # é".encode()).text == "ASK {} # é"


@pytest.mark.parametrize(
    ("query_string", "kind", "body", "problem"),
    [
        ("query=a&query=b", None, b"", problems.InvalidRequest),
        ("query=%FF", None, b"", problems.InvalidRequest),
        ("update=CLEAR+ALL", None, b"", problems.NotAllowed),
        ("default-graph-uri=x:a", None, b"", problems.InvalidRequest),
        ("query=a&default-graph-uri=relative", None, b"", problems.InvalidRequest),
        ("query=a&default-graph-uri=x:a%3Eb", None, b"", problems.InvalidRequest),
        ("", FORM, b"", problems.InvalidRequest),
        ("", FORM, b"update=DROP", problems.NotAllowed),
        ("", DIRECT, b"\xff", problems.QueryInvalid),
        ("query=a", DIRECT, b"b", problems.InvalidRequest),
        ("", protocol.UPDATE, b"DROP ALL", problems.NotAllowed),
        ("", "text/plain", b"ASK {}", problems.UnsupportedMediaType),
        ("", "", b"ASK {}", problems.UnsupportedMediaType),
        ("", f"{DIRECT}; charset=utf-16", b"ASK {}", problems.UnsupportedMediaType),
    ],
)
def test_requests_that_are_no_question(query_string, kind, body, problem):
    def ask():
        if kind is None:
            return protocol.from_get(query_string)
        return protocol.from_post(query_string, kind, body)

    with pytest.raises(problem):
        ask()


@pytest.mark.parametrize(
    ("accept", "offered", "name"),
    [
        ("", protocol.RESULTS, "SPARQL_Results_JSON"),
        ("*/*", protocol.GRAPHS, "Turtle"),
        (
            "text/csv;q=0.5, application/sparql-results+xml;q=0.9",
            protocol.RESULTS,
            "SPARQL_Results_XML",
        ),
        ("application/json", protocol.RESULTS, "SPARQL_Results_JSON"),
        ("application/json", protocol.GRAPHS, "JSON-LD"),
        ("text/*", protocol.RESULTS, "SPARQL_Results_CSV"),
        ("application/rdf+xml, */*;q=0.1", protocol.GRAPHS, "RDF_XML"),
        ("text/turtle;q=0, application/n-triples", protocol.GRAPHS, "N-Triples"),
    ],
)
def test_formats_are_chosen_by_accept(accept, offered, name):
    assert protocol.choose(accept, offered).name == name


def test_what_is_not_offered_is_not_acceptable():
    with pytest.raises(problems.NotAcceptable, match="sparql-results"):
        protocol.choose("image/png, text/turtle", protocol.RESULTS)
    assert protocol.prefers_html("text/html,application/xhtml+xml,*/*;q=0.8")
    assert not protocol.prefers_html("*/*")
    assert not protocol.prefers_html("text/turtle, text/html;q=0.5")


def test_the_last_place_is_for_who_used_little():
    gate = limits.Gate(2)
    with gate.place("heavy", is_light=False):
        with gate.place("light", is_light=True):
            pass
        gate_wait, limits.WAIT_SECONDS = limits.WAIT_SECONDS, 0.01
        try:
            with pytest.raises(problems.Unavailable), gate.place("greedy", is_light=False):
                pass
        finally:
            limits.WAIT_SECONDS = gate_wait


def test_a_third_query_at_once_is_too_many():
    gate = limits.Gate(8)
    with gate.place("a", is_light=True), gate.place("a", is_light=True):
        with pytest.raises(problems.Throttled), gate.place("a", is_light=True):
            pass
        with gate.place("b", is_light=True):
            pass
    with gate.place("a", is_light=True):
        pass


def test_a_place_that_is_left_goes_to_who_waits():
    gate = limits.Gate(1)
    entered = threading.Event()

    def wait():
        with gate.place("b", is_light=True):
            entered.set()

    with gate.place("a", is_light=True):
        thread = threading.Thread(target=wait)
        thread.start()
        assert not entered.wait(0.05)
    thread.join()
    assert entered.is_set()


def test_time_is_counted_by_client_and_minute(settings, monkeypatch):
    clock = SimpleNamespace(time=lambda: 1_000_000_050.0)
    monkeypatch.setattr(limits, "time", clock)
    settings.HUB_SPARQL_MINUTE_SECONDS = 5
    limits.charge("a", 3)
    assert limits.spent("a") == pytest.approx(3)
    assert not limits.is_light(limits.spent("a"))
    assert limits.spent("b") == 0
    limits.charge("a", 3)
    with pytest.raises(problems.Throttled) as refused:
        limits.spent("a")
    seconds = refused.value.extensions["retry_after"]
    assert 0 < seconds <= 60
    monkeypatch.setattr(clock, "time", lambda: 1_000_000_050.0 + seconds)
    assert limits.spent("a") == 0


@pytest.fixture
def folder(settings, tmp_path):
    settings.HUB_GRAPHS = tmp_path / "graphs"
    return settings.HUB_GRAPHS


def graphs_in(folder):
    import pyoxigraph

    state = FileStates(folder).read()
    copy = pyoxigraph.Store.read_only(str(folder / "snapshots" / state.snapshot))
    return {found.graph_name.value: str(found.subject.value) for found in copy}


def test_the_store_follows_the_rows(folder, db):
    services.put_graph(G, quad(1))
    with try_lock(folder / "writer.lock") as alone:
        assert alone
        follower = stores.follower()
        follower.turn()
        assert graphs_in(folder) == {G: "http://x/1"}
        services.put_graph(G, quad(2))
        services.put_graph(f"{G}2", quad(3, f"{G}2"))
        follower.turn()
        follower.close()
        assert graphs_in(folder) == {G: "http://x/2", f"{G}2": "http://x/3"}
        assert len(list((folder / "snapshots").glob("*.lock"))) == 1
        with try_lock(folder / "writer.lock") as second:
            assert not second
    services.remove_graph(G)
    again = stores.follower()
    again.turn()
    again.close()
    assert graphs_in(folder) == {f"{G}2": "http://x/3"}
    assert FileStates(folder).read().revision == service.store_status().newest


@pytest.mark.parametrize("fault", ["damaged", "moved", "put back", "foreign graph", "no state"])
def test_a_store_that_is_wrong_is_made_again(folder, db, settings, fault):
    services.put_graph(G, quad(1))
    follower = stores.follower()
    follower.turn()
    follower.close()
    if fault == "damaged":
        (folder / "primary" / "CURRENT").write_bytes(b"nonsense")
    elif fault == "moved":
        settings.HUB_PUBLIC_URL = "https://elsewhere.example"
    elif fault == "put back":
        services.put_graph(G, quad(5))
        follower.turn()
        follower.close()
        NamedGraph.objects.all().delete()
        services.lock_counter().__class__.objects.update(number=0)
        services.put_graph(G, quad(1))
    elif fault == "foreign graph":
        store = EmbeddedStore(folder)
        store.open()
        store.put(f"{G}9", parsing.parse(f"{G}9", quad(9, f"{G}9")))
        store.close()
    else:
        (folder / "current.json").unlink()
    again = stores.follower()
    again.turn()
    again.close()
    assert graphs_in(folder) == {G: "http://x/1"}
    assert FileStates(folder).read().home == settings.HUB_PUBLIC_URL


def test_nothing_is_shown_that_may_have_been_hidden(folder, db):
    with pytest.raises(problems.Unavailable, match="not ready"):
        service.ask("ASK {}", client="a", signed_in=False, accept="")
    services.put_graph(G, quad(1))
    follower = Follower(EmbeddedStore(folder), FileStates(folder))
    follower.turn()
    follower.close()
    assert service.store_status().behind == timedelta(0)
    services.remove_graph(G)
    assert service.store_status().behind < service.LAG
    NamedGraph.objects.update(updated_at=timezone.now() - timedelta(minutes=2))
    with pytest.raises(problems.Unavailable, match="behind"):
        service.ask("ASK {}", client="a", signed_in=False, accept="")


def test_addresses_of_an_external_server(settings):
    settings.HUB_SPARQL_URL = "http://user:secret@127.0.0.1:7878/query?union-default-graph"
    assert stores.graph_store_url() == "http://user:secret@127.0.0.1:7878/store"
    assert stores.name() == plain(settings.HUB_SPARQL_URL)
    assert "secret" not in stores.name()
    settings.HUB_SPARQL_STORE_URL = "http://127.0.0.1/data"
    assert stores.graph_store_url() == "http://127.0.0.1/data"


@pytest.mark.parametrize(
    ("query", "detail", "place", "words"),
    [
        ("SELECT *\nWHERE { FILTR }", "error at 2:15: expected one of LATERAL, SERVICE, [_]",
         (2, 9), "FILTR is not a SPARQL keyword. Did you mean FILTER?"),
        ("ASK { ?s a fo }", "error at 1:15: expected OPTIONAL", (1, 12), "Variables start with ?"),
        ("ASK { ?s ?p }", "error at 1:13: expected one of LATERAL, SERVICE, [_]", (1, 13),
         "syntax error, or unexpected end"),
        ("ASK {\n?s ?p ?o", "error at 2:9: expected one of \"}\", ['a'..='z' | '0'..='9'], [_]",
         (2, 9), 'Line 2, column 9: expected "}"'),
    ],
)  # fmt: skip
def test_the_engine_s_complaints_name_the_place_and_the_cure(query, detail, place, words):
    problem = syntax_problem(detail, query)
    assert (problem.extensions["line"], problem.extensions["column"]) == place
    assert words in problem.detail
    assert "'a'" not in problem.detail
    assert "SERVICE" not in problem.detail
