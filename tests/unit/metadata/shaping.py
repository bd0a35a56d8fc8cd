"""Validating in this very process: what the validator's own process would answer, without it."""

from __future__ import annotations

from functools import cache

from metadata.rdf import vocabulary
from metadata.shapes import child, validator


@cache
def _graph(turtle):
    return child.read(turtle)


def validate(nquads, *, against, context=""):
    """As `metadata.shapes.validator.validate`, here."""
    shapes = vocabulary.shapes(against) if isinstance(against, str) else against
    # pySHACL may write into the shapes that it is given; the real server forks, this one copies.
    copy = child.rdflib.Graph()
    copy += _graph(shapes.turtle)
    said = child.judge(nquads, context, copy, _graph(vocabulary.read("terms")))
    return list(validator._findings(said))
