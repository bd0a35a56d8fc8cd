"""The models of a hub: listed, and found by limits on what was measured."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hub.client.mirrors import Mirrored
from hub.client.transport import Transport

if TYPE_CHECKING:
    from hub.client.find import Measured

PAGE = 100


class Catalogue:
    """The part of `hub.client.hub.Hub` that lists models."""

    transport: Transport
    reads: Transport | Mirrored

    def list_models(
        self, /, query: str | None = None, *, limit: int | None = None, **filters: Any
    ) -> Iterator[dict[str, Any]]:
        """Iterate over models, best match first with a `query`, at most `limit` of them.

        `filters` are those of `GET /models`: namespace, license, task, keyword, precision,
        opset_max, sort, and the others. `sort="fastest"` goes by speed on a `device` with a
        `runtime` and its `provider`; what of them is left out is the most measured one. It raises
        `NotFound` where nothing that matches has an accepted result there. Pages are fetched as
        the iteration reaches them.
        """
        self.transport.config.require_network(query or "", "hub.list_models")
        return self._pages(query, limit, filters)

    def find(
        self,
        /,
        query: str | None = None,
        *,
        on: str | None = None,
        runtime: str | None = None,
        task: str | None = None,
        license: str | None = None,  # noqa: A002 - the word of the API
        precision: str | None = None,
        passes_on: str | None = None,
        predicted: bool = False,
        literal: bool = False,
        min: Measured = None,  # noqa: A002 - the word of the API
        max: Measured = None,  # noqa: A002 - the word of the API
        limit: int = 20,
        **limits: str | float | None,
    ) -> list[dict[str, Any]]:
        """Models that keep every limit, the best first, at most `limit` of them.

        A `query` of several words is a question: "fast image classifier under 20 MB" means a task,
        a size and an order, and what is no filter is searched for as text. Filters that are given
        win; `literal` searches for all of the words. `understand` gives the filters of a question.

        `limits` are `max_p50` (milliseconds, or "20ms") of an accepted result `on` a class of
        devices ("this machine" for that of this one) with a `runtime`, `max_memory` and `max_size`
        (bytes, or "500MB"), `max_macs` and `max_parameters` (a number, or "1G"). `min` is the
        least accuracy that the hub measured of the main variant: "accuracy=0.9",
        "accuracy@digits:test=90%", a list of these, or {"accuracy@digits": 0.9}; `max` the same
        for metrics of which less is better, such as rmse. Latency, else accuracy, else the only
        limit decides the order; with several others the newest come first. Models without the
        figure that a limit needs are left out; with `predicted` a prediction counts where nothing
        was measured. `fits` of each model has its values.

        Raises InvalidRequest for a limit that is none or names a metric or data set that the hub
        does not have, and NotFound where nothing that matches has
        an accepted result on the device that is named without a limit, or nothing at all was
        measured on machines like this one.
        """
        from hub.client import find, speeds  # noqa: PLC0415  (each verb imports what it needs)

        self.transport.config.require_network(query or "", "hub.find")
        if on == speeds.THIS_MACHINE:
            on = speeds.this_machine(self.transport.get("/api/v1/devices"))
        parameters = find.filters(limits, on, min=min, max=max) | {
            "runtime": runtime,
            "task": task,
            "license": license,
            "precision": precision,
            "passes_on": passes_on,
            "predicted": "true" if predicted else None,
        }
        if query and not literal and len(query.split()) > 1:
            parameters["understand"] = "true"
            if parameters.get("sort") == find.UNASKED_SORT:  # the question may ask for an order
                del parameters["sort"]
        return list(self._pages(query, limit, parameters))

    def understand(self, query: str) -> dict[str, Any]:
        """How the hub reads a question: `parts`, each with its `words` and filter.

        `text` is what is searched for as text, `unused` lists words that name a filter that cannot
        be applied, each with its reason.
        """
        self.transport.config.require_network(query, "hub.understand")
        fields = {"q": query, "understand": "true", "limit": 1}
        page: dict[str, Any] = self.reads.get("/api/v1/models", query=fields)
        understood: dict[str, Any] = page["understood"]
        return understood

    def _pages(
        self, query: str | None, limit: int | None, filters: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        from hub.client import speeds  # noqa: PLC0415  (each verb imports what it needs)
        from hub.protocol.sorts import FASTEST  # noqa: PLC0415

        check = speeds.require if filters.get("sort") == FASTEST.name else None
        return items(self.reads, "/api/v1/models", {"q": query, **filters}, limit, check=check)


def items(
    reads: Transport | Mirrored,
    address: str,
    query: Mapping[str, Any],
    limit: int | None,
    *,
    check: Callable[[Mapping[str, Any]], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """At most `limit` items of a list, page by page as they are read; `check` is for the first."""

    def every() -> Iterator[dict[str, Any]]:
        page = reads.get(address, query={"limit": min(PAGE, limit or PAGE), **query})
        if check is not None:
            check(page)
        yield from page["items"]
        while page.get("next"):
            page = reads.get(page["next"])
            yield from page["items"]

    return itertools.islice(every(), limit if limit is None else max(0, limit))
