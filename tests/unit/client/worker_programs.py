"""Programs whose worker processes load models, as data loaders and web servers do.

`python worker_programs.py NAME ...` runs one; gunicorn and Celery import the module.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import multiprocessing
import os
import shutil
import sys
import threading
from pathlib import Path

import hub

REF = "zoo/ones@1"
CHILDREN = 20
CHILD_SECONDS = 30.0


class Samples:
    """What a data loader gives to each of its workers: a data set with a hub of its own."""

    def __init__(self):
        self.hub = hub.Hub()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.hub.load(REF).ByteSize() + index


def draw(samples, indices, results):
    """The body of a worker."""
    faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
    results.put([samples[index] for index in indices])


def load(results):
    """The body of a forked child that has a model to load, from an empty cache."""
    faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
    os.environ["HUB_CACHE"] += f"-{os.getpid()}"
    results.put(hub.load(REF).ByteSize())


def busy(context):
    """Fork children while six threads of this process load models."""
    logging.getLogger("hub.client").setLevel(logging.CRITICAL)
    hub.load(REF)
    end = threading.Event()
    works = [
        lambda: hub.load(REF),
        lambda: hub.load("zoo/ones"),
        lambda: hub.info("zoo/ones"),
        lambda: hub.Hub().load("zoo/ones"),
        lambda: hub.download(REF),
        lambda: shutil.rmtree(Path(os.environ["HUB_CACHE"]) / "blobs", ignore_errors=True),
    ]

    def work(action):
        while not end.is_set():
            # Another thread empties the cache.
            with contextlib.suppress(hub.errors.CacheUnusable, FileNotFoundError):
                action()

    threads = [threading.Thread(target=work, args=(action,), daemon=True) for action in works]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(CHILDREN):
        results = context.SimpleQueue()
        child = context.Process(target=load, args=(results,))
        child.start()
        child.join()
        codes.append(child.exitcode)
    end.set()
    print(codes.count(0), "of", CHILDREN)  # noqa: T201  (read by the test)


def loaders(context):
    """Two workers share the work, after this process has used its hub."""
    samples = Samples()
    first = samples[0]
    results = context.SimpleQueue()
    workers = [
        context.Process(target=draw, args=(samples, [index, index + 2], results))
        for index in (0, 1)
    ]
    for worker in workers:
        worker.start()
    drawn = sorted(value - first for _ in workers for value in results.get())
    for worker in workers:
        worker.join()
    print(drawn, [worker.exitcode for worker in workers])  # noqa: T201  (read by the test)


def application(environ, start_response):
    """A WSGI application that loads a model at each request."""
    body = f"{os.getpid()} {hub.load(REF).ByteSize()}".encode()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [body]


def preloaded():
    """The application, after the master has loaded the model and left a thread at work."""
    hub.load(REF)
    threading.Thread(target=_load_on, daemon=True).start()
    return application


def _load_on():
    while True:
        hub.load("zoo/ones")


def celery_application():
    """A Celery application whose task loads a model."""
    import celery

    folder = Path(os.environ["BROKER_FOLDER"])
    app = celery.Celery("workers", broker="filesystem://", backend=f"file://{folder}/results")
    app.conf.broker_transport_options = {
        name: str(folder / "messages")
        for name in ("data_folder_in", "data_folder_out", "control_folder")
    }

    @app.task(name="load")
    def load_model():
        return [os.getpid(), hub.load(REF).ByteSize()]

    return app


def __getattr__(name):
    """`worker`: the Celery application, after the worker's own process has loaded the model."""
    if name != "worker":
        raise AttributeError(name)
    hub.load(REF)
    threading.Thread(target=_load_on, daemon=True).start()
    globals()[name] = celery_application()
    return globals()[name]


if __name__ == "__main__":
    method = multiprocessing.get_context(sys.argv[2])
    {"busy": busy, "loaders": loaders}[sys.argv[1]](method)
