"""One graph that is malformed takes nothing else with it: it is left out, and named."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyoxigraph
import pytest

from hub.server import health
from metadata.models import NamedGraph, Revision
from metadata.rdf import parsing
from metadata.sparql import service, stores
from metadata.sparql.replication import FileStates
from metadata.store import dump, maintenance, services
from tests import factories, shared

A, B, C = ("http://testserver/g/a", "http://testserver/g/b", "http://testserver/g/c")
BROKEN = '<http://x/s> <http://x/p> "no end .\n'


def quad(graph, value=1):
    return f'<http://x/s> <http://x/p> "{value}" <{graph}> .\n'


def damage(iri, text=BROKEN):
    """A row as a damaged database, or a release without this check, leaves it."""
    NamedGraph.objects.filter(iri=iri).update(nquads=text, sha256=services.digest(text))


@pytest.fixture
def folder(settings, tmp_path):
    settings.HUB_GRAPHS = tmp_path / "graphs"
    return settings.HUB_GRAPHS


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def published(start, db, graphs):
    return shared.fresh(start)


def values_in(folder):
    copy = pyoxigraph.Store.read_only(
        str(folder / "snapshots" / FileStates(folder).read().snapshot)
    )
    return {found.graph_name.value: found.object.value for found in copy}


def follow():
    follower = stores.follower()
    follower.turn()
    follower.close()


@pytest.mark.parametrize(
    ("iri", "text"),
    [
        (A, BROKEN),
        (A, quad(B)),
        (A, quad(A) + quad(B)),
        (A, "<http://x/s> <http://x/p> <http://x/o> .\n"),
        (A, "<http://x/s> <http://x/p> <no scheme> <http://testserver/g/a> .\n"),
        ("not an IRI", quad("not an IRI")),
        ("not an IRI", ""),
    ],
)
def test_a_malformed_graph_is_not_written(db, iri, text):
    services.put_graph(B, quad(B))
    with pytest.raises(parsing.RefusedGraphError, match="cannot be stored"):
        services.put_graph(iri, text)
    assert Revision.objects.get().number == 1
    assert list(NamedGraph.objects.values_list("iri", "nquads")) == [(B, quad(B))]


@pytest.mark.parametrize("text", [BROKEN, quad(B)])
def test_replication_leaves_out_a_malformed_graph_and_goes_on(folder, db, text):
    for iri in (A, B, C):
        services.put_graph(iri, quad(iri))
    follower = stores.follower()
    follower.turn()
    services.put_graph(A, quad(A, 2))
    damage(A, text)
    services.put_graph(C, quad(C, 2))
    follower.turn()
    follower.close()
    # Not the graph of before either: that may say what is hidden by now.
    assert values_in(folder) == {B: "1", C: "2"}
    assert FileStates(folder).read().refused == (A,)
    status = service.store_status()
    assert (status.revision, status.refused, status.is_sound) == (status.newest, (A,), False)


def test_a_malformed_graph_is_no_reason_to_rebuild_with_each_start(folder, db, monkeypatch):
    services.put_graph(A, quad(A))
    services.put_graph(B, quad(B))
    damage(A)
    follow()
    assert values_in(folder) == {B: "1"}
    monkeypatch.setattr("metadata.sparql.replication.Follower.rebuild", None)
    services.put_graph(B, quad(B, 2))
    follow()
    assert values_in(folder) == {B: "2"}
    assert FileStates(folder).read().refused == (A,)
    services.put_graph(A, quad(A, 3))
    follow()
    assert values_in(folder) == {A: "3", B: "2"}
    assert FileStates(folder).read().refused == ()
    assert service.store_status().is_sound


def test_a_graph_with_a_malformed_name_is_left_out(folder, db):
    services.put_graph(A, quad(A))
    services.put_graph(B, quad(B))
    follow()
    services.put_graph(A, quad(A, 2))
    NamedGraph.objects.filter(iri=A).update(iri="not an IRI")
    follow()
    assert values_in(folder)[B] == "1"
    assert FileStates(folder).read().refused == ("not an IRI",)


@pytest.mark.capability("sparql")
def test_health_counts_malformed_graphs_and_names_them_to_administrators(folder, db, client):
    services.put_graph(A, quad(A))
    damage(A)
    follow()
    assert health.report()["graphs"] == {
        "ok": False, "revision": 1, "newest": 1, "refused": 1, "names": (A,),
    }  # fmt: skip
    assert client.get("/readyz").json()["graphs"] == {"ok": False}
    page = client.get("/health", headers={"Accept": "text/html"}).content.decode()
    assert "1 graph malformed and left out" in page
    assert A not in page
    client.force_login(factories.admin())
    page = client.get("/health", headers={"Accept": "text/html"}).content.decode()
    assert f"1 graph malformed and left out: {A}" in page


@pytest.mark.usefixtures("lists")
def test_readers_get_a_malformed_graph_from_its_rows(published, client):
    model = published.model
    path = f"/models/{model.ref}"
    addresses = [
        path, f"{path}.ttl", f"{path}/v/1", f"{path}/v/1.ttl", f"{path}/v/1.jsonld",
        f"{path}/v/1/origin", "/catalog.ttl", "/catalog.ttl?profile=dcat-ap", "/agents/ada",
        "/agents/ada.ttl", "/tasks/image-classification",
    ]  # fmt: skip
    before = {path: client.get(path) for path in addresses}
    ok = [path for path, answer in before.items() if answer.status_code == 200]
    assert len(ok) >= len(addresses) - 2
    for graph in NamedGraph.objects.all():
        damage(graph.iri)
    for path in ok:
        assert client.get(path).status_code == 200, path
    for path in (f"{path}.ttl" for path in (f"/models/{model.ref}", f"/models/{model.ref}/v/1")):
        assert client.get(path).content == before[path].content


def test_the_dump_leaves_out_a_malformed_graph(published):
    services.put_graph(A, quad(A))
    damage(NamedGraph.objects.get(version=published).iri)
    latest = dump.make()
    text = gzip.decompress(latest.path.read_bytes())
    quads = list(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_QUADS))
    assert len(quads) == latest.quads
    assert latest.graphs == NamedGraph.objects.exclude(nquads="").count() - 1


def test_a_graph_that_comes_out_malformed_is_emptied_and_others_are_kept_up(published, monkeypatch):
    iri = maintenance.version_iri(published)
    monkeypatch.setattr("metadata.graphs.projection.version_graph", lambda *_: BROKEN)
    NamedGraph.objects.filter(iri=maintenance.model_iri(published.model)).delete()
    assert maintenance.rebuild()
    assert NamedGraph.objects.get(iri=iri).nquads == ""
    assert NamedGraph.objects.get(iri=maintenance.model_iri(published.model)).nquads
    [line] = maintenance.differences()
    assert iri in line
    assert "cannot be stored" in line


class _Picky(BaseHTTPRequestHandler):
    """A SPARQL server that faults one graph."""

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        refused = b"g%2Fa" in self.path.encode()
        if not refused:
            self.server.graphs.add(self.path.partition("graph=")[2])
        self._answer(400 if refused else 204)

    def do_DELETE(self):
        self.server.graphs.discard(self.path.partition("graph=")[2])
        self._answer(204)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, json.dumps({"results": {"bindings": []}}).encode())

    def _answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_a_graph_that_an_external_server_faults_is_left_out(folder, db, settings, is_rebuilt):
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Picky)
    server.graphs = set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        settings.HUB_SPARQL_URL = f"http://127.0.0.1:{server.server_port}/query"
        for iri in (A, B):
            services.put_graph(iri, quad(iri))
        follower = stores.follower()
        follower.turn()
        services.put_graph(A, quad(A, 2))
        services.put_graph(C, quad(C))
        (follower.rebuild if is_rebuilt else follower.turn)()
        follower.close()
    finally:
        server.shutdown()
        server.server_close()
    assert len(server.graphs) == 2
    state = stores.states().read()
    assert (state.refused, state.revision) == ((A,), 4)
