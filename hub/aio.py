"""The functions of `hub` for asyncio: `await hub.aio.load("zoo/resnet50")`.

Each runs the function of the same name in a thread of the event loop's default executor, so that
other tasks go on. `run` does that for everything else, such as `await run(hub.jobs.cancel, uuid)`
and the methods of a `hub.Hub`. Lists are asynchronous iterators.

Cancelling a task (or the end of `asyncio.timeout`) raises where it waits, at once. The thread stops
before the next block of a transfer, instead of the next request and out of every pause; what the
hub has acknowledged stays, and the same push or download continues there.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar

from hub.client import api, cancellation

_P = ParamSpec("_P")
_T = TypeVar("_T")
_END: Any = object()


async def run(call: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return what `call` returns, which runs in a thread; raise what it raises."""
    event = threading.Event()

    def in_thread() -> _T:
        cancellation.current.set(event)
        return call(*args, **kwargs)

    try:
        return await asyncio.to_thread(in_thread)
    except asyncio.CancelledError:
        event.set()
        raise


def _awaited(call: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Return a function of the default hub as a coroutine function, with its documentation."""

    @functools.wraps(call)
    async def awaited(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await run(call, *args, **kwargs)

    return awaited


def _iterated(call: Callable[_P, Iterator[_T]]) -> Callable[_P, AsyncIterator[_T]]:
    """Return a function whose rows come in pages as one with an asynchronous iterator."""

    @functools.wraps(call)
    async def iterated(*args: _P.args, **kwargs: _P.kwargs) -> AsyncIterator[_T]:
        rows = await run(call, *args, **kwargs)
        while (row := await run(next, rows, _END)) is not _END:
            yield row

    return iterated


load = _awaited(api.load)
session = _awaited(api.session)
genai = _awaited(api.genai)
download = _awaited(api.download)
find = _awaited(api.find)
info = _awaited(api.info)
list_models = _iterated(api.list_models)
push = _awaited(api.push)
sign = _awaited(api.sign)
make_variant = _awaited(api.make_variant)
training = _awaited(api.training)
fleet_device = _awaited(api.fleet_device)
push_dataset = _awaited(api.push_dataset)
dataset = _awaited(api.dataset)
download_dataset = _awaited(api.download_dataset)
list_datasets = _iterated(api.list_datasets)
query = _awaited(api.query)
diff = _awaited(api.diff)
whoami = _awaited(api.whoami)
login = _awaited(api.login)
logout = _awaited(api.logout)
