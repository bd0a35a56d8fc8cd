"""The store behind the endpoint: quick, whole after a kill, discreet, and replaceable."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time

import pytest

from tests import samples
from tests.faults.conftest import Hub, wait_for
from tests.integration import asking

GRAPH = "http://x.example/graph-{}"


def quads(number, count=1):
    graph = GRAPH.format(number)
    return "".join(
        f'<http://x.example/{number}/{n}> <http://x.example/p> "{n}" <{graph}> .\n'
        for n in range(count)
    )


def seen(hub, number):
    return bool(asking.rows(hub, f"SELECT ?s {{ GRAPH <{GRAPH.format(number)}> {{ ?s ?p ?o }} }}"))


def write(hub, number, count=1):
    """Write a graph as a row; gives the time of the commit."""
    text = hub.home / f"graph-{number}"
    text.write_text(quads(number, count))
    return float(
        hub.run_inside(
            "import pathlib, time\nfrom metadata.store import services\n"
            f"text = pathlib.Path({str(text)!r}).read_text()\n"
            f"services.put_graph({GRAPH.format(number)!r}, text)\nprint(time.time())"
        )
    )


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    made = asking.hub_at(folder)
    asking.put_graphs(made, {GRAPH.format("a"): quads("a")}, folder)
    yield made
    made.stop()


def test_what_is_committed_is_seen_soon(hub):
    waited = []
    for number in range(5):
        committed = write(hub, number)
        wait_for(lambda number=number: seen(hub, number), "the graph to be seen", 30)
        waited.append(round(time.time() - committed, 2))
    print(f"seen at most {waited} s after their commits")  # noqa: T201


def test_the_graphs_process_killed_in_the_middle_loses_nothing(hub):
    for number in range(10, 16):
        write(hub, number, 2000)
        hub.kill("hub graphs")
        assert asking.truth(asking.post(hub, "ASK { ?s ?p ?o }"))
    wait_for(lambda: seen(hub, 15), "the last graph to be seen", 60)
    for number in range(10, 16):
        found = asking.rows(
            hub,
            f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{GRAPH.format(number)}> {{ ?s ?p ?o }} }}",
        )
        assert found == [{"n": "2000"}]


def test_a_model_made_private_vanishes(tmp_path):
    hub = Hub(tmp_path / "home", HUB_SPARQL_MINUTE_SECONDS="100000")
    try:
        path = hub.draft("secret-net", samples.mlp())
        assert hub.call("POST", f"{path}/submit", {"publish": True})[0] == 200
        hub.wait_until(path, "published", 90)
        named = 'SELECT ?s ?g { GRAPH ?g { ?s ?p ?o FILTER(CONTAINS(STR(?s), "secret-net")) } }'
        wait_for(lambda: asking.rows(hub, named), "the model to be found", 60)
        hidden = {"visibility": "private"}
        # Whatever is there: lists still follow what was just published.
        assert hub.call("PATCH", "models/zoo/secret-net", hidden, If_Match="*")[0] == 200
        wait_for(lambda: asking.rows(hub, named) == [], "the model to vanish", 60)
        anywhere = 'SELECT * { ?s ?p ?o FILTER(CONTAINS(CONCAT(STR(?s), STR(?o)), "secret-net")) }'
        assert asking.rows(hub, anywhere) == []
    finally:
        hub.stop()


@pytest.fixture
def oxigraph(tmp_path):
    """The address of a real SPARQL server."""
    program = os.environ.get("HUB_TEST_OXIGRAPH") or shutil.which("oxigraph")
    if not program:
        pytest.skip("HUB_TEST_OXIGRAPH names no oxigraph server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        program,
        "serve",
        "--location",
        str(tmp_path / "server"),
        "--bind",
        f"127.0.0.1:{port}",
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    wait_for(answers, "the server to start")
    yield f"http://127.0.0.1:{port}", server
    server.kill()
    server.wait()


def test_an_external_server_answers_behind_the_same_guard(tmp_path, oxigraph):
    address, server = oxigraph
    hub = asking.hub_at(
        tmp_path,
        HUB_SPARQL_URL=f"{address}/query?union-default-graph",
        HUB_SPARQL_SECONDS="3",
    )
    try:
        graphs = {GRAPH.format(name): quads(name) for name in "abc"}
        asking.put_graphs(hub, graphs, tmp_path)
        count = "SELECT (COUNT(*) AS ?n) { ?s <http://x.example/p> ?o }"
        assert asking.rows(hub, count) == [{"n": "3"}]
        assert asking.rows(hub, count, default=[GRAPH.format("a")]) == [{"n": "1"}]
        from_b = count.replace("{ ?s", f"FROM <{GRAPH.format('b')}> {{ ?s")
        assert asking.rows(hub, from_b) == [{"n": "1"}]
        assert asking.post(hub, f"ASK {{ SERVICE <{address}/query> {{ ?s ?p ?o }} }}")[0] == 400
        assert asking.post(hub, "CLEAR ALL")[0] == 403
        assert asking.post(hub, "ASK { ?s ?p")[0] == 400
        product = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }"
        assert asking.post(hub, product)[0] in (200, 504)
        hub.run_inside(
            f"from metadata.store import services\nservices.remove_graph({GRAPH.format('c')!r})"
        )
        wait_for(lambda: asking.rows(hub, count) == [{"n": "2"}], "the graph to be removed")
        server.kill()
        server.wait()
        status, headers, _ = asking.post(hub, f"{count} # again")
        assert (status, "Retry-After" in headers) == (503, True)
    finally:
        hub.stop()
