"""One machine at a time writes to a SPARQL server that all of them ask."""

from __future__ import annotations

import pytest

from metadata.models import NamedGraph
from metadata.sparql.leading import LEASE, LeadingFollower
from metadata.sparql.replication import Follower, RowStates
from metadata.store import services
from registry.models import Lease

G = "http://testserver/models/a/b/metadata"


def quad(n):
    return f"<http://x/{n}> <http://x/p> <http://x/o> <{G}> .\n"


class Server:
    """A shared store that notes who wrote to it."""

    name = "http://sparql.example/query"

    def __init__(self):
        self.content = {}
        self.writes = []


class Side:
    """One machine's connection to the server."""

    def __init__(self, server, machine):
        self.name, self._server, self._machine = server.name, server, machine

    def open(self):
        return True

    def graphs(self):
        return set(self._server.content)

    def load(self, graphs):
        for iri, quads in graphs:
            self.put(iri, quads)
        return set()

    def put(self, iri, quads):
        self._server.writes.append(self._machine)
        self._server.content[iri] = str(quads[0].subject.value)

    def publish(self, _revision):
        return ""

    def has(self, _snapshot):
        return True

    def tidy(self, snapshot):
        pass

    def close(self):
        pass


@pytest.fixture
def machines(db):
    server = Server()

    def machine(name):
        side, states = Side(server, name), RowStates(server.name)
        return LeadingFollower(lambda leads: Follower(side, states, leads))

    return server, machine("a"), machine("b")


def test_one_machine_writes_and_the_next_goes_on_where_it_ended(machines):
    server, a, b = machines
    services.put_graph(G, quad(1))
    a.turn()
    b.turn()
    assert server.writes == ["a"]
    a.close()
    services.put_graph(G, quad(2))
    b._looked_at = float("-inf")
    b.turn()
    b.close()
    # Nothing is loaded again: the second begins at the revision of the first.
    assert server.writes == ["a", "b"]
    assert server.content == {G: "http://x/2"}
    assert RowStates(server.name).read().revision == NamedGraph.objects.get().revision


def test_a_machine_that_lost_its_lease_writes_nothing_more(machines):
    server, a, b = machines
    services.put_graph(G, quad(1))
    a.turn()
    a._hold._until = 0.0  # it was frozen
    Lease.objects.filter(pk=LEASE).delete()
    services.put_graph(G, quad(2))
    b.turn()
    with pytest.raises(OSError, match="another process"):
        a._follower.turn()
    assert server.writes == ["a", "b"]
    a.close()
    b.close()
    assert server.content == {G: "http://x/2"}
