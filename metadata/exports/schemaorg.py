"""A version in schema.org's words, for search engines: JSON-LD with a context of its own.

schema.org has no type for models, so it is a CreativeWork beside FAIR4ML's MLModel, which is one.
"""

from __future__ import annotations

import json
from typing import Any

from metadata.exports.sheet import Agent, FileLine, Sheet, stated
from metadata.rdf.terms import FAIR4ML, SCHEMA

_RESTRICTED = "Access to the files is restricted; users must request it."
# A page needs no more files than this; the graph has them all.
FILES = 50
_DESCRIPTION = 5000
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write(of: Sheet) -> bytes:
    """The description as a document of its own."""
    return json.dumps(describe(of), indent=2, ensure_ascii=False).encode()


def embed(of: Sheet) -> str:
    """The description as it may stand between script tags: nothing in it can end the block."""
    text = json.dumps(describe(of), ensure_ascii=False)
    return "".join(_UNSAFE.get(letter, letter) for letter in text)


def describe(of: Sheet) -> dict[str, Any]:
    """The description as JSON-LD."""
    return stated(
        {
            "@context": {"@vocab": SCHEMA, "fair4ml": FAIR4ML},
            "@id": of.iri,
            "@type": ["CreativeWork", "fair4ml:MLModel"],
            "url": of.iri,
            "name": of.ref.rpartition("@")[0],
            "version": str(of.number),
            "identifier": [of.ref, *([f"https://doi.org/{of.doi}"] if of.doi else [])],
            "description": (of.description or of.summary)[:_DESCRIPTION],
            "abstract": of.summary,
            "license": of.licence or list(of.licences),
            "conditionsOfAccess": _RESTRICTED if of.is_restricted else "",
            "creator": [_agent(creator) for creator in of.creators],
            "publisher": _agent(of.publisher),
            "dateCreated": of.created,
            "datePublished": of.published,
            "dateModified": of.modified,
            "keywords": list(of.keywords),
            "inLanguage": list(of.languages),
            "isPartOf": of.iri.rpartition("/v/")[0],
            "isBasedOn": list(of.derived_from),
            "fair4ml:mlTask": of.task,
            "encoding": [_file(file) for file in of.files[:FILES]],
        }
    )


def _agent(of: Agent) -> dict[str, str]:
    return {"@type": "Organization" if "ror.org" in of.iri else "Thing", "@id": of.iri} | (
        {"name": of.name} if of.name else {}
    )


def _file(of: FileLine) -> dict[str, str]:
    return {
        "@type": "MediaObject",
        "@id": of.iri,
        "name": of.path,
        "contentUrl": of.iri,
        "contentSize": f"{of.size} B",
        "sha256": of.sha256,
    }
