"""The orders of the list of models, each declared once, as its filters are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hub.protocol.attributes import CARBON, MEMORY, OPERATIONS, PARAMETERS, SIZE, Attribute


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of the list: its word in addresses, and its title on pages.

    It goes by an ``attribute``, leaving out models without it, by a ``column`` that every document
    has, or by what was measured. ``order`` is the order in the graphs. A question names it by
    ``nouns`` after a verb, by ``phrases``, or by ``adjectives`` before what they describe.
    """

    name: str
    title: str
    order: str
    attribute: Attribute | None = None
    column: str = ""
    is_descending: bool = False
    nouns: str = ""
    phrases: str = ""
    adjectives: str = ""


_NEWEST_ORDER: Final = "DESC(?updated) DESC(?created)"
UPDATED: Final = Sort(
    "updated", "Recently updated", _NEWEST_ORDER, column="updated_at", is_descending=True
)
DOWNLOADS: Final = Sort(
    "downloads",
    "Most downloaded",
    _NEWEST_ORDER,
    column="downloads",
    is_descending=True,
    nouns="downloads, popularity",
    phrases="most downloaded, most popular",
    adjectives="popular",
)
# Of two results alike the older model comes first; of models without one the newest.
FASTEST: Final = Sort(
    "fastest",
    "Fastest on the chosen device",
    "DESC(BOUND(?p50)) ?p50 DESC(BOUND(?noisy)) ?noisy "
    "(IF(BOUND(?p50) || BOUND(?noisy), ?created, 0)) DESC(?updated) DESC(?created)",
    nouns="latency, speed, p50",
    phrases="low latency, lowest latency, high speed",
    adjectives="fast faster fastest quick quickest real-time realtime",
)
ACCURACY: Final = Sort(
    "accuracy",
    "Best by the accuracy filter",
    "DESC(?accuracy1) DESC(?created)",
    nouns="accuracy",
    adjectives="accurate",
)
SMALLEST: Final = Sort(
    "size",
    "Smallest",
    "?size ?created",
    SIZE,
    nouns="size, file size",
    adjectives="small smaller smallest tiny tiniest lightweight light compact",
)
LEAST_CARBON: Final = Sort(
    "carbon",
    "Least carbon",
    "?kg ?created",
    CARBON,
    nouns="carbon",
    phrases="least carbon, low carbon, lowest carbon",
)
FEWEST_OPERATIONS: Final = Sort(
    "macs",
    "Fewest operations",
    "?macs ?created",
    OPERATIONS,
    nouns="macs, operations",
    phrases="fewest operations, fewest macs",
)
LEAST_MEMORY: Final = Sort(
    "memory",
    "Least memory",
    "?memory ?created",
    MEMORY,
    nouns="memory",
    phrases="least memory, low memory, lowest memory, memory efficient",
)
FEWEST_PARAMETERS: Final = Sort(
    "parameters",
    "Fewest parameters",
    "?parameters ?created",
    PARAMETERS,
    nouns="parameters",
    phrases="fewest parameters, few parameters",
)
BY_NAME: Final = Sort("name", "Name", "?name", column="title", nouns="name")
# In the order of pages.
SORTS: Final = {
    sort.name: sort
    for sort in (
        UPDATED,
        DOWNLOADS,
        FASTEST,
        ACCURACY,
        SMALLEST,
        LEAST_CARBON,
        FEWEST_OPERATIONS,
        LEAST_MEMORY,
        FEWEST_PARAMETERS,
        BY_NAME,
    )
}
