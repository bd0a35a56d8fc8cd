"""What the hub says of its models as RDF: one named graph a row, each with its revision."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

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
