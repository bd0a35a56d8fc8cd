"""The table of a variant's nodes on the graph tab, filtered and in pages.

The table comes from a process that had opened an upload: rows of an unexpected shape are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from frontend.parts import addresses
from frontend.parts.options import Option
from frontend.parts.svg.barcode import CATEGORIES, REST
from hub.protocol import stored
from hub.protocol.facts import Facts
from runners.engine.graphs.changes import is_weighty

PAGE = 150
# Above so many nodes a drawing is slow and says little.
MANY = 5000
OPERATORS_SHOWN = 24
SEARCH_CHARACTERS = 100


def listing(
    table: Mapping[str, Any], query: Mapping[str, str], variant: str, *, with_values: bool
) -> dict[str, Any] | None:
    """The page of nodes that an address asks for; None where there is no table.

    Without ``with_values`` only the types of possible weights are shown.
    """
    nodes = table.get("nodes")
    if not isinstance(nodes, list):
        return None
    nodes = stored.rows(nodes)
    counts = Counter(_kind(node) for node in nodes)
    search = query.get("q", "").strip()[:SEARCH_CHARACTERS]
    operator = query.get("op", "") if query.get("op", "") in counts else ""
    matching = [
        node
        for node in nodes
        if operator in ("", _kind(node)) and (not search or _matches(node, search.lower()))
    ]
    number = addresses.page(query.get("page", ""), (len(matching) - 1) // PAGE + 1)
    page_nodes = matching[(number - 1) * PAGE : number * PAGE]
    parts = {"variant": variant, "q": search, "op": operator}
    first = (number - 1) * PAGE + 1 if page_nodes else 0
    return {
        "rows": tuple(_row(node, table, with_values=with_values) for node in page_nodes),
        "found": len(matching),
        "first": first,
        "last": first + len(page_nodes) - 1,
        "total": stored.count(table.get("total")) or len(nodes),
        "table_length": len(nodes),
        "inferred": table.get("inferred") is True,
        "search": search,
        "operator": operator,
        "operators": _operators(counts, parts),
        "start_url": _address(parts) if number > 1 else "",
        "next_url": _address(parts | {"page": str(number + 1)})
        if number * PAGE < len(matching)
        else "",
        "all_url": _address({"variant": variant}),
    }


def left_out(counts: Mapping[str, Any]) -> list[str]:
    """What a skeleton lacks, such as `data of 22 tensors`."""
    words_of = (
        ("tensors", "data of {} tensor{}"),
        ("external", "references to other files from {} tensor{}"),
        ("attributes", "long values of {} attribute{}"),
        ("texts", "{} long text{}"),
    )
    numbers = {key: stored.count(counts.get(key)) for key, _ in words_of}
    return [
        words.format(numbers[key], "" if numbers[key] == 1 else "s")
        for key, words in words_of
        if numbers[key]
    ]


def properties(facts: Facts) -> list[tuple[str, str]]:
    """What a model file says of itself: operator sets, names, and its metadata properties."""
    opsets = sorted((facts.opsets or {}).items())
    rows = [
        ("Graph", facts.graph_name),
        ("Operator sets", ", ".join(f"{name} {number}" for name, number in opsets)),
        ("Domain", facts.domain),
        ("Model version", str(facts.model_version or "")),
        ("Documentation", facts.doc),
    ]
    return [(name, value) for name, value in rows if value] + list(facts.metadata.items())


def _operators(counts: Counter[str], parts: dict[str, str]) -> tuple[Option, ...]:
    """Each operator, the most frequent first, with the link that lists its nodes alone."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(
        Option(name, url=_address(parts | {"op": name}), on=name == parts["op"], count=number)
        for name, number in ordered
    )


def _address(parts: Mapping[str, str]) -> str:
    return f"{addresses.join('', parts) or '?'}#nodes"


def _kind(node: Mapping[str, Any]) -> str:
    domain, name = str(node.get("domain", "")), str(node.get("op", ""))
    return f"{domain}.{name}" if domain else name


def _matches(node: Mapping[str, Any], search: str) -> bool:
    texts = [_kind(node), str(node.get("name", "")), str(node.get("path", ""))]
    texts += [name for name, _ in (*_pairs(node.get("in")), *_pairs(node.get("out")))]
    return any(search in text.lower() for text in texts)


def _row(node: Mapping[str, Any], table: Mapping[str, Any], *, with_values: bool) -> dict[str, Any]:
    names, place = table.get("categories"), node.get("c")
    is_listed = isinstance(names, list) and isinstance(place, int) and 0 <= place < len(names)
    category = str(names[place]) if is_listed and names is not None else REST
    called = [_kind(node), str(node.get("name", "")), str(node.get("path", ""))]
    return {
        "category": category if category in CATEGORIES else REST,
        "node": "\n".join(part for part in called if part),
        "inputs": _ports(node, "in"),
        "outputs": _ports(node, "out"),
        "attributes": _attributes(node, with_values=with_values),
    }


def _ports(node: Mapping[str, Any], key: str) -> str:
    lines = [f"{name or 'none'} {kind}".strip() for name, kind in _pairs(node.get(key))]
    return "\n".join([*lines, *_more(node, f"more_{key}")])


def _attributes(node: Mapping[str, Any], *, with_values: bool) -> str:
    attributes = node.get("attrs")
    rows = attributes if isinstance(attributes, list) else []
    operator = str(node.get("op"))
    lines = [
        f"{name} ({kind})"
        if not with_values and is_weighty(operator, kind)
        else f"{name} = {value}".removesuffix(" = ")
        for name, kind, value in (row for row in rows if isinstance(row, list) and len(row) == 3)
    ]
    return "\n".join([*lines, *_more(node, "more_attrs")])


def _more(node: Mapping[str, Any], key: str) -> Sequence[str]:
    number = stored.count(node.get(key))
    return [f"and {number} more"] if number else []


def _pairs(rows: Any) -> Iterable[tuple[str, str]]:
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, list) and len(row) == 2:
            yield str(row[0]), str(row[1])
