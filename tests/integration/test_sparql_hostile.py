"""Hostile queries: each gets its status, reaches nobody, and others are answered meanwhile."""
# ruff: noqa: E501  (a query is read best in one line)

from __future__ import annotations

import http.client
import json
import select
import socket
import threading
import time

import pytest

from tests.faults.conftest import wait_for
from tests.integration import asking

SECONDS = 3.0
RIGHT = "http://x.example/s7"
PAIRS = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i ."
PRODUCT = f"{PAIRS} ?j ?k ?l . ?m ?n ?o ."


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with some thousand triples, and a guest's query ends after a few seconds."""
    folder = tmp_path_factory.mktemp("hostile")
    made = asking.hub_at(folder, HUB_SPARQL_SECONDS=str(SECONDS), HUB_SPARQL_BYTES=str(2**29))
    graph = "http://x.example/graph"
    text = "".join(
        f"<http://x.example/s{n}> <http://x.example/p{n % 7}> <http://x.example/s{n * 7 % 2000}> "
        f"<{graph}> .\n"
        for n in range(2000)
    )
    asking.put_graphs(made, {graph: text}, folder)
    yield made
    made.stop()


@pytest.fixture
def canary():
    """A listener that must not hear anything: its address, and who called."""
    calls = []
    server = socket.create_server(("127.0.0.1", 0))

    def listen():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            calls.append(connection.recv(1000))
            connection.close()

    threading.Thread(target=listen, daemon=True).start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}/canary", calls
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def nested(count, begin, end, inside="?s ?p ?o"):
    return f"SELECT * {{ {begin * count} {inside} {end * count} }}"


def doubled():
    """One string, doubled until no memory holds it."""
    steps = "".join(f" BIND(CONCAT(?x{n}, ?x{n}) AS ?x{n + 1})" for n in range(40))
    return f'SELECT (STRLEN(?x40) AS ?n) {{ BIND("0123456789" AS ?x0){steps} }}'


COSTLY = (422, 504)
QUERIES = {
    "product": (f"SELECT (COUNT(*) AS ?n) {{ {PRODUCT} }}", (504,)),
    "sorted product": (f"SELECT DISTINCT * {{ {PAIRS} }} ORDER BY ?c ?f ?i", COSTLY),
    "grouped product": (f"SELECT ?a ?d ?g (COUNT(*) AS ?n) {{ {PRODUCT} }} GROUP BY ?a ?d ?g", COSTLY),
    "constructed product": (f"CONSTRUCT {{ ?a ?b ?f }} {{ {PRODUCT} }}", COSTLY),
    "deep path": ("SELECT (COUNT(*) AS ?n) { ?a (!<x:y>)* ?b . ?c (!<x:z>)* ?d . ?e (!<x:a>)* ?f }", COSTLY),
    "memory doubling": (doubled(), COSTLY),
    "concatenated product": (f"SELECT (GROUP_CONCAT(STR(?c)) AS ?t) {{ {PRODUCT} }}", COSTLY),
    "absent products": (f"SELECT * {{ ?s ?p ?o FILTER NOT EXISTS {{ {PRODUCT} FILTER(?a = ?zz) }} }}", COSTLY),
    "result without end": (f"SELECT * {{ {PRODUCT} }}", COSTLY),
    "nested 20 kB": (nested(10_000, "{", "}"), (400,)),
    "60,000 parentheses": (f"SELECT * {{ FILTER{'(' * 30_000}1{')' * 30_000} }}", (400,)),
    "60,000 braces": ("SELECT * " + "{" * 30_000 + "}" * 30_000, (400,)),
    "1,000 optionals": (nested(1000, "OPTIONAL { ?s ?p ?o ", "} "), (400,)),
    "1,000 blank nodes": (nested(1000, "[ <x:p> ", "] ", "1").replace("* { ", "* { ?s ?p ", 1), (400,)),
    "nested lists": (nested(1000, "( ", ") ", "1").replace("* { ", "* { ?s ?p ", 1), (400,)),
    "long list": ("ASK { ?s ?p ( " + "1 " * 1000 + ") }", (400,)),
    "1,000 patterns": ("SELECT * { " + "".join(f"?s{n} ?p{n} ?s{n + 1} ." for n in range(1000)) + " }", (400,)),
    "long path": ("ASK { ?s " + "/".join(["<x:p>"] * 2000) + " ?o }", (400,)),
    "20,000 ors": ("ASK { FILTER(" + "||".join(["?a"] * 20_000) + ") }", COSTLY),
    "nested triple terms": ("ASK { ?s ?p " + "<<( " * 5000 + "?s ?p ?o" + ")>> " * 5000 + "}", (400,)),
    "regular expression": ('SELECT * { ?s ?p ?o FILTER REGEX(STR(?o), "^(a+)+(b+)+(c{1,900}){1,900}$") }', (200, 400, 422, 504)),
    "update": ("INSERT DATA { <x:a> <x:b> <x:c> }", (403,)),
    "deletion": ("PREFIX x: <x:> DELETE WHERE { ?s ?p ?o }", (403,)),
    "clear": ("CLEAR ALL", (403,)),
    "drop": ("# SELECT\nDROP SILENT ALL", (403,)),
    "load": ("LOAD <{canary}>", (403,)),
    "query and update": ("ASK {} ; DROP ALL", (403,)),
    "two queries": ("ASK {} SELECT * {}", (400,)),
    "service": ("ASK { SERVICE <{canary}> { ?s ?p ?o } }", (400,)),
    "silent service": ("ASK { SERVICE SILENT <{canary}> { ?s ?p ?o } }", (400,)),
    "escaped service": ("ASK { \\u0053ERVICE <{canary}> { ?s ?p ?o } }", (400,)),
    "wholly escaped service": ("ASK { " + "".join(f"\\U{ord(c):08X}" for c in "SERVICE") + " <{canary}> { ?s ?p ?o } }", (400,)),
    "glued service": ("ASK{SERVICESILENT<{canary}>{?s ?p ?o}}", (400,)),
    "service as a prefix": ("PREFIX : <{canary}> ASK { SERVICE:x { ?s ?p ?o } }", (400,)),
    "service behind a comment": ("ASK { # \rSERVICE <{canary}> { ?s ?p ?o } }", (400,)),
    "service behind less than": ("PREFIX : <{canary}> ASK{BIND(1 AS ?a)FILTER(?a<?b)SERVICE:x#>\n{?s ?p ?o}}", (400,)),
    "service behind an escaped quote": ('ASK { ?s ?p "a\\u0022 . SERVICE <{canary}> { ?s ?p ?o } #" }', (400,)),
    "from http": ("SELECT * FROM <{canary}> { ?s ?p ?o }", (200,)),
    "from named http": ("SELECT * FROM NAMED <{canary}> { GRAPH ?g { ?s ?p ?o } }", (200,)),
    "from file": ("SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", (200,)),
    "huge values": ("ASK { VALUES ?x { " + "1 " * 45_000 + "} }", (200,)),
    "too long": ("ASK { VALUES ?x { " + "1 " * 60_000 + "} }", (413,)),
    "not UTF-8": (b"ASK { ?s ?p '\xff' }", (400,)),
    "byte order mark": ("\ufeffASK {}", (200,)),
    "null": ("ASK { ?s ?p '\x00' }", (200, 400)),
    "unclosed": ("ASK { ?s ?p 'x }", (400,)),
    "nothing": ("", (400,)),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_a_hostile_query_gets_its_status_while_others_are_answered(hub, canary, name):
    query, wanted = QUERIES[name]
    address, calls = canary
    if isinstance(query, str):
        query = query.replace("{canary}", address)
    done = []
    hostile = threading.Thread(target=lambda: done.append(asking.post(hub, query, "*/*")))
    hostile.start()
    normal = "SELECT ?s { ?s <http://x.example/p0> <http://x.example/s49> }"
    slowest, asked = 0.0, 0
    while not asked or (hostile.is_alive() and asked < 20):
        began = time.monotonic()
        found = asking.rows(hub, f"{normal} # {asked} {name}", Authorization=f"Bearer {hub.token}")
        slowest, asked = max(slowest, time.monotonic() - began), asked + 1
        assert found == [{"s": RIGHT}]
        time.sleep(0.1)
    hostile.join()
    status, headers, body = done[0]
    print(f"{name}: {status}; beside it {asked} answers, slowest {slowest:.3f} s")  # noqa: T201
    assert status in wanted, body[:500]
    assert calls == []
    if status == 200:
        if name.startswith("from"):
            assert json.loads(body)["results"]["bindings"] == []
        return
    told = json.loads(body)
    assert headers["Content-Type"] == "application/problem+json"
    assert told["status"] == status
    assert len(told["detail"]) > 20


def test_one_client_cannot_take_every_process(hub):
    query = QUERIES["product"][0]
    answers = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(asking.post(hub, f"{query} #{n}")[0]))
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [429, 429, 429, 504, 504]


def test_a_client_that_goes_away_frees_its_process(hub):
    """Two at once are all that a client has, and these would be computed for thirty seconds."""
    mine = {"Authorization": f"Bearer {hub.token}", "Content-Type": "application/sparql-query"}
    lines = [http.client.HTTPConnection("127.0.0.1", hub.port) for _ in range(2)]

    def ask_for_long(number):
        text = f"{QUERIES['product'][0]} # gone {number}"
        lines[number].request("POST", "/sparql", text, mine)

    def are_both_running():
        # The question below may have taken the place of a long one, which was refused then.
        for number, line in enumerate(lines):
            if select.select([line.sock], [], [], 0)[0]:
                line.close()
                ask_for_long(number)
        # An answer that is known already needs no place.
        return asking.post(hub, f"ASK {{}} # {time.monotonic()}", **mine)[0] == 429

    for number in range(2):
        ask_for_long(number)
    wait_for(are_both_running, "both to run")
    for line in lines:
        line.close()
    wait_for(
        lambda: asking.post(hub, f"ASK {{}} # {time.monotonic()}", **mine)[0] == 200, "a place", 10
    )
