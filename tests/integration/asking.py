"""Asking a running hub's SPARQL endpoint, and giving it graphs to ask about."""

from __future__ import annotations

import http.client
import json
from urllib.parse import quote, urlencode

from tests.faults.conftest import Hub, wait_for

JSON = "application/sparql-results+json"


def hub_at(folder, **environment):
    """A hub without workers whose guests may ask as much as they like."""
    generous = {"HUB_SPARQL_MINUTE_SECONDS": "100000"} | environment
    return Hub(folder / "home", options=["--no-worker"], **generous)


def send(hub, method, path, body=None, *, seconds=60, **headers):
    """One request as it is given, without the hub's token; status, headers and bytes."""
    line = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=seconds)
    try:
        line.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        line.close()


def post(hub, query, accept=JSON, *, default=(), named=(), seconds=60, **headers):
    """POST a query directly."""
    pairs = [("default-graph-uri", iri) for iri in default]
    pairs += [("named-graph-uri", iri) for iri in named]
    path = "/sparql?" + urlencode(pairs) if pairs else "/sparql"
    body = query if isinstance(query, bytes) else query.encode()
    headers = {"Content_Type": "application/sparql-query", "Accept": accept} | headers
    return send(hub, "POST", path, body, seconds=seconds, **headers)


def get(hub, query, **headers):
    return send(hub, "GET", f"/sparql?query={quote(query)}", **headers)


def rows(hub, query, **given):
    """The bindings of a SELECT, each as a dict of values; None while the store is not there."""
    status, _, body = post(hub, query, **given)
    if status == 503:
        return None
    assert status == 200, body
    return [
        {name: term["value"] for name, term in row.items()}
        for row in json.loads(body)["results"]["bindings"]
    ]


def truth(answer):
    """What an ASK in JSON said."""
    status, _, body = answer
    assert status == 200, body
    return json.loads(body)["boolean"]


def put_graphs(hub, graphs, folder):
    """Write graphs (IRI to N-Quads) as rows, and wait until queries see them all."""
    told = folder / "graphs.json"
    told.write_text(json.dumps(graphs))
    hub.run_inside(
        "import json, pathlib\nfrom metadata.store import services\n"
        f"graphs = json.loads(pathlib.Path({str(told)!r}).read_text())\n"
        "for iri, nquads in graphs.items():\n    services.put_graph(iri, nquads)"
    )
    last = list(graphs)[-1]
    wait_for(
        lambda: rows(hub, f"SELECT ?s {{ GRAPH <{last}> {{ ?s ?p ?o }} }} LIMIT 1"),
        "the graphs to be seen",
        60,
    )
