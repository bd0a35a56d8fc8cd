"""One named graph, written statement by statement and read as canonical N-Quads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metadata.rdf.iris import Places
from metadata.rdf.quads import link, typed
from metadata.rdf.terms import RDF


class Graph:
    """Triples of one named graph, each stated once: sorted lines, no blank nodes, equal bytes.

    Predicates and classes are CURIEs such as ``dcterms:title`` with the prefixes of `terms`, and
    ``hub:`` for the hub's own vocabulary, or whole IRIs. Objects are terms as `quads` writes them.
    """

    def __init__(self, iri: str, places: Places) -> None:
        self.iri = iri
        self.places = places
        self._lines: set[str] = set()

    def add(self, subject: str, predicates: str, *objects: str) -> None:
        """State one triple for each predicate, separated by spaces, and each object not empty."""
        terms = [term for term in objects if term]
        for predicate in predicates.split() if terms else ():
            iri = self.places.expand(predicate)
            for term in terms:
                self._lines.add(f"<{subject}> <{iri}> {term} <{self.iri}> .\n")

    def state(self, subject: str, statements: Mapping[str, str | Iterable[str]]) -> None:
        """State the objects of ``subject`` by predicate; several predicates are one key."""
        for predicates, objects in statements.items():
            self.add(subject, predicates, *([objects] if isinstance(objects, str) else objects))

    def describe(
        self, subject: str, classes: str, statements: Mapping[str, str | Iterable[str]]
    ) -> None:
        """State the classes of ``subject``, separated by spaces, and its objects by predicate."""
        self.type(subject, *classes.split())
        self.state(subject, statements)

    def describe_part(
        self,
        whole: str,
        predicates: str,
        subject: str,
        classes: str,
        statements: Mapping[str, str | Iterable[str]],
    ) -> None:
        """State that ``whole`` leads to ``subject`` by predicate, and describe that."""
        self.add(whole, predicates, link(subject))
        self.describe(subject, classes, statements)

    def type(self, subject: str, *classes: str) -> None:
        """State of which classes ``subject`` is."""
        self.add(subject, f"{RDF}type", *map(self.term, classes))

    def add_checksum(self, file: str, checksum: str, sha256: str) -> None:
        """State the SHA-256 (64 hex digits) of a file as the thing ``checksum``."""
        algorithm = self.term("spdx:checksumAlgorithm_sha256")
        statements = {
            "spdx:algorithm": algorithm,
            "spdx:checksumValue": typed(sha256, "hexBinary"),
        }
        self.describe_part(file, "spdx:checksum", checksum, "spdx:Checksum", statements)

    def term(self, name: str) -> str:
        """A CURIE or an IRI as a term; empty for an empty name."""
        return link(self.places.expand(name)) if name else ""

    def text(self) -> str:
        """The graph as sorted N-Quads; empty for a graph without statements."""
        return "".join(sorted(self._lines))
