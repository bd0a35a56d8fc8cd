"""The public graphs as rows: one named graph a row, each with its revision."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from hub import counting
from registry.models.constraints import matches


class Revision(models.Model):
    """The counter of writes, in one row: locking it makes their order the order of commits."""

    number = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(pk=1), name="revision_is_one_row"),
        ]

    def __str__(self) -> str:
        return str(self.number)


class NamedGraph(models.Model):
    """A public graph as sorted N-Quads; empty once it was removed, so that readers learn of it."""

    iri = models.TextField(unique=True)
    version = models.ForeignKey(
        "registry.Version", models.SET_NULL, null=True, blank=True, related_name="graphs"
    )
    nquads = models.TextField(blank=True, default="")
    sha256 = models.CharField(max_length=64)
    revision = models.BigIntegerField(unique=True)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["iri", "pk"]
        constraints = [matches("sha256", r"^[0-9a-f]{64}$", "namedgraph")]

    def __str__(self) -> str:
        return self.iri


class GraphReference(models.Model):
    """That a public graph names an agent, a licence or a metric: ``iri`` is the graph of that.

    While one row names it, that graph is public; after the last one it is emptied.
    """

    graph = models.ForeignKey(NamedGraph, models.CASCADE, related_name="references")
    iri = models.TextField(db_index=True)

    class Meta:
        ordering = ["iri", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["graph", "iri"], name="graphreference_unique"),
            models.CheckConstraint(condition=~Q(iri=""), name="graphreference_has_iri"),
        ]

    def __str__(self) -> str:
        return self.iri


class ShapeReport(models.Model):
    """The newest findings of a profile's shapes on a version's graph.

    ``shapes_title`` and ``shapes_sha256`` say which they were, ``graph_sha256`` what they were
    shown. Findings of the same kind are one, with the number of `times`.
    """

    version = models.ForeignKey("registry.Version", models.CASCADE, related_name="shape_reports")
    profile = models.CharField(max_length=32)
    shapes_title = models.CharField(max_length=100)
    shapes_sha256 = models.CharField(max_length=64)
    official = models.BooleanField(default=False)
    graph_sha256 = models.CharField(max_length=64)
    conforms = models.BooleanField()
    count = models.PositiveIntegerField()
    findings = models.JSONField(default=list)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["profile", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "profile"], name="shapereport_unique"),
            models.CheckConstraint(
                condition=Q(conforms=True, count=0) | Q(conforms=False, count__gt=0),
                name="shapereport_conforms_without_findings",
            ),
            matches("shapes_sha256", r"^[0-9a-f]{64}$", "shapereport"),
            matches("graph_sha256", r"^[0-9a-f]{64}$", "shapereport"),
        ]

    def __str__(self) -> str:
        return f"{self.profile} of {self.version_id}: {counting.plural(self.count, 'finding')}"


class StoreState(models.Model):
    """How far an external SPARQL server has come: the hub at ``home`` wrote ``revision`` there.

    ``refused`` are the IRIs of graphs that are malformed, and therefore not in that store.
    """

    store = models.TextField(primary_key=True)
    home = models.TextField()
    revision = models.BigIntegerField()
    refused = models.JSONField(default=list)

    class Meta:
        ordering = ["store"]

    def __str__(self) -> str:
        return f"{self.store}: {self.revision}"


class Comparison(models.Model):
    """How the last comparison of all graphs with their rows ended, whichever machine made it.

    ``address`` is the hub's own then, ``form`` that of the graphs that its release writes.
    """

    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    ok = models.BooleanField()
    detail = models.CharField(max_length=500)
    address = models.TextField()
    form = models.IntegerField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="comparison_is_one_row")]

    def __str__(self) -> str:
        return self.detail
