"""The pieces that capabilities add to pages of the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.template import Context

from hub.protocol.ports import Port


class Place(StrEnum):
    """Where a piece stands: which page, and where on it."""

    # Of a version: among its tags, facts and buttons, those for everyone and those of an account;
    # below the code, among what is said about it and after that, after its provenance, after the
    # verdicts of its checks, above the list of versions, below a result, beside a measured
    # accuracy, and where a measurement was made in a browser.
    TAGS = "tags"
    FACTS = "facts"
    ACTIONS = "actions"
    OWN = "own"
    USE = "use"
    ABOUT = "about"
    NOTES = "notes"
    CHECKS = "checks"
    VERSIONS = "versions"
    ORIGIN = "origin"
    RESULT = "result"
    ACCURACY = "accuracy"
    REPEAT = "repeat"
    # Of a namespace: after its members and its room.
    NAMESPACE = "namespace"
    # Of the administration of the hub: after its own sections.
    ADMINISTRATION = "administration"
    # Of sign-in: below its form; of the page of one's own account, and of that of an account for
    # administrators: among its sections.
    SIGN_IN = "sign-in"
    OWN_ACCOUNT = "own-account"
    USER = "user"
    # Of every page: links in the menu of an account, and in the footer.
    ACCOUNT = "account"
    FOOTER = "footer"
    # Of a list and of a search: in place of the same in Python, which it extends; then below
    # the list and outside of its form.
    LIST = "list"
    LIST_END = "list-end"
    FIND = "find"
    # Of a comparison: below its table.
    COMPARISON = "comparison"
    # Of home, beside the models.
    HOME = "home"
    # Of every page: its menu, and the short menu.
    MENU = "menu"
    SHORT_MENU = "short-menu"
    # Of help: among the shortcuts, among the keys that always work, and among the documents.
    SHORTCUTS = "shortcuts"
    KEYS = "keys"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class PagePart:
    """A piece of a page of the core: its place, its template, and further values for that.

    ``values`` are made from the context of the page, once for all turns of a loop.
    """

    place: Place
    template: str
    values: Callable[[Context], dict[str, Any]] = lambda _: {}


page_parts = Port(PagePart)


@dataclass(frozen=True, slots=True)
class Result:
    """The result that a page is about, as `result_of` in the context of `Place.RESULT`."""

    kind: str
    key: int
    node: str = ""
