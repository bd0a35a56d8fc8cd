"""Files with the hub's metadata in them: what each would carry, and having them made."""

from __future__ import annotations

from django.conf import settings

from metadata import exports
from metadata.exports import annotation
from metadata.exports.sheet import Sheet
from registry.core.permissions import Actor
from registry.models import Variant, Version
from registry.versions import selectors
from runners.graphs import annotated_files
from runners.graphs.annotated_files import Copy
from runners.models import Job


def request(actor: Actor, version: Version, name: str = "") -> Job:
    """Queue the copy of a variant's file, of the first variant unless named.

    Raises NotAuthenticated, StateConflict, VariantMissing.
    """
    variant = selectors.variant(version, name or None, None, None)
    return annotated_files.request(
        actor, version=version, variant=variant, props=_properties(exports.read(version), variant)
    )


def of_variants(version: Version, variants: list[Variant]) -> dict[str, Copy]:
    """The copies that carry what the hub would write now, by the path of their source."""
    if version.state == "withdrawn" or not variants:
        return {}
    sheet = exports.read(version)
    properties = {variant.entry.path: _properties(sheet, variant) for variant in variants}
    return annotated_files.copies(version, properties)


def _properties(of: Sheet, variant: Variant) -> dict[str, str]:
    front, _ = exports.front_of(variant.version)
    author = variant.typed_facts.metadata.get("model_author", "")  # who the file says made it
    return annotation.properties(of, front, settings.HUB_PUBLIC_URL, author)
