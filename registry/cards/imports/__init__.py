"""Files that other tools write, read into fields of a card: a proposal, never saved by itself.

What is recognised: CodeCarbon's ``emissions.csv``, Croissant JSON-LD, Hugging Face's
``eval_results.yaml`` and ``CITATION.cff``. No address in them is ever fetched.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from hub.protocol import problems
from registry.cards.imports import carbon, citation, croissant, evaluations
from registry.cards.imports.files import LIMIT_BYTES, Proposal, refused
from registry.core import parsing

__all__ = ["KINDS", "LIMIT_BYTES", "Proposal", "kind_of", "read"]

# kind -> (what it is, its reader)
KINDS: dict[str, tuple[str, Callable[[str], Proposal]]] = {
    "codecarbon": ("CodeCarbon emissions.csv", carbon.read),
    "croissant": ("Croissant data set (JSON-LD)", croissant.read),
    "eval-results": ("Hugging Face eval_results.yaml", evaluations.read),
    "citation": ("CITATION.cff", citation.read),
}


def kind_of(path: str) -> str:
    """Which kind of file a path promises, by its name alone; empty for none."""
    name = posixpath.basename(path).lower()
    stem, ending = posixpath.splitext(name)
    if name == "citation.cff":
        return "citation"
    if ending == ".csv" and "emissions" in stem:
        return "codecarbon"
    if ending in (".json", ".jsonld") and "croissant" in stem:
        return "croissant"
    if ending in (".yaml", ".yml") and ("eval_results" in stem or ".eval_results/" in f"/{path}"):
        return "eval-results"
    return ""


def read(content: bytes, name: str = "", kind: str = "") -> Proposal:
    """What a file says, as fields of a card; raises InvalidRequest naming what is wrong with it.

    ``kind`` is one of ``KINDS``; without it the name of the file decides, then its first bytes.
    """
    kind = kind or kind_of(name) or _sniffed(content[:4096])
    if kind not in KINDS:
        kinds = ", ".join(words for words, _ in KINDS.values())
        raise problems.InvalidRequest(
            f"{name or 'The file'} cannot be imported into a card. Supported files: {kinds}."
        )
    if len(content) > LIMIT_BYTES:
        raise problems.InvalidRequest(
            f"{name or 'The file'} has {len(content):,} bytes; at most {LIMIT_BYTES:,} are "
            "accepted. Send only the part that concerns this model."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(KINDS[kind][0], "it is not UTF-8.") from error
    return Proposal(**parsing.run(_read, kind, text))


def _read(kind: str, text: str) -> dict[str, Any]:
    return asdict(KINDS[kind][1](text))


def _sniffed(head: bytes) -> str:
    head = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith((b"{", b"[")):
        return "croissant"
    if head.startswith(b"timestamp,") or b"emissions" in head.split(b"\n", 1)[0]:
        return "codecarbon"
    if b"cff-version" in head:
        return "citation"
    return "eval-results" if head.startswith(b"- ") else ""
