"""The client for asyncio: the same results and errors, other tasks beside it, and cancellation."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time

import pytest

import hub
from hub.client import cancellation, download, retries
from hub.client.api import default_hub
from hub.protocol import problems
from tests.faults.conftest import wait_for
from tests.unit.client.conftest import make_model

SOON = 5.0  # seconds, of which none is spent on a quiet machine


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("asyncio_")]


@pytest.fixture(autouse=True)
def _model(fake, default):
    fake.add("zoo/ones", make_model())
    fake.add("zoo/twos", make_model(rows=4))


def test_every_function_is_there_with_its_documentation():
    functions = {name for name in hub.__all__ if inspect.isfunction(getattr(hub, name))}
    own = {
        name
        for name, value in vars(hub.aio).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    assert own == functions | {"run"}
    for name in functions:
        assert getattr(hub.aio, name).__doc__ == getattr(hub, name).__doc__


def test_results_are_those_of_the_functions(tmp_path):
    async def both():
        return await asyncio.gather(hub.aio.load("zoo/ones"), hub.aio.info("zoo/twos"))

    model, about = asyncio.run(both())
    assert model == hub.load("zoo/ones")
    assert about == hub.info("zoo/twos")


def test_errors_are_those_of_the_functions():
    with pytest.raises(problems.NotFound):
        asyncio.run(hub.aio.load("zoo/absent"))


def test_lists_are_asynchronous_iterators(monkeypatch):
    threads = set()

    def rows():
        for name in ("zoo/ones", "zoo/twos"):
            threads.add(threading.current_thread().name)
            yield {"ref": name}

    async def refs():
        return [row["ref"] async for row in hub.aio.list_models("o")]

    monkeypatch.setattr(type(default_hub()), "_pages", lambda *_, **__: rows())
    assert asyncio.run(refs()) == ["zoo/ones", "zoo/twos"]
    assert threading.current_thread().name not in threads


def test_whatever_blocks_can_run_beside_other_tasks():
    async def meet():
        barrier = threading.Barrier(2)
        return await asyncio.gather(*(hub.aio.run(barrier.wait, SOON) for _ in range(2)))

    assert sorted(asyncio.run(meet())) == [0, 1]


def test_a_timeout_ends_a_pause_between_retries(fake, monkeypatch):
    """The hub is overloaded for a minute; the task is over at once, and its thread as well."""
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(retries, "LONGEST_PAUSE_SECONDS", 60.0)
    monkeypatch.setenv("HUB_RETRY_SECONDS", "600")
    fake.answers.append((503, {}, b""))

    async def late():
        async with asyncio.timeout(0.2):
            await hub.aio.info("zoo/ones")

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(late())  # which waits for its threads
    assert time.monotonic() - began < SOON
    assert fake.count("GET", "/models/zoo/ones") == 1


@pytest.mark.parametrize("size", [1000, 80_000_000])
def test_a_cancelled_download_stops_and_goes_on_later(fake, monkeypatch, tmp_path, size):
    """Files in threads of a pool, and ranges of one file in threads of their own."""
    fake.add("zoo/many", {f"{number}.bin": bytes([number]) * size for number in range(3)})
    monkeypatch.setattr(download, "SMALL_THREADS", 1)
    reading, go_on = threading.Event(), threading.Event()
    original = cancellation.check

    def paused():
        if threading.current_thread().name.startswith(("hub-fetch", "hub-receive")):
            reading.set()
            go_on.wait(SOON)
        original()

    monkeypatch.setattr(cancellation, "check", paused)

    async def cancelled():
        task = asyncio.create_task(hub.aio.download("zoo/many", to=tmp_path / "files"))
        await hub.aio.run(reading.wait, SOON)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    asyncio.run(cancelled())
    sent = fake.sent_bytes
    assert sent < 3 * size
    assert not (tmp_path / "files").exists()
    wait_for(lambda: not workers(), "the threads of the loop to end")
    monkeypatch.undo()
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "cache"))
    folder = hub.Hub(fake.url, cache=tmp_path / "cache").download("zoo/many", to=tmp_path / "files")
    assert len(list(folder.iterdir())) == 3
