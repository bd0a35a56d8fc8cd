"""A small WSGI application behind the hub's web worker, run by test_front.py in gunicorn."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import tempfile
import time
from http import HTTPStatus

from django.conf import settings

from hub.server.front import connection, worker
from hub.server.front.direct import DirectAnswer
from registry.core import waiting


def _limit(name, default):
    return type(default)(os.environ.get(f"FRONT_{name}", default))


settings.configure(
    FILE_UPLOAD_TEMP_DIR=os.environ["FRONT_TEMP"],
    HUB_LIMITS_CLIENT_RATE=1_000,
    HUB_LIMITS_BODIES_BYTES=_limit("BODIES_BYTES", 2**30),
)
worker.WINDOW_SECONDS = _limit("WINDOW_SECONDS", worker.WINDOW_SECONDS)
connection.FAST_RATE = _limit("FAST_RATE", connection.FAST_RATE)
_large = tempfile.TemporaryFile(dir=os.environ["FRONT_TEMP"])  # noqa: SIM115 - as long as the process
_large.write(bytes(range(256)) * 2**16)  # 16 MiB
_large.flush()


# As a full disk: no file can grow beyond it.
resource.setrlimit(resource.RLIMIT_FSIZE, (_limit("FILE_BYTES", 2**40),) * 2)


def application(environ, start_response):
    """Answers by path; `/digest` says what body it read."""
    route = environ["PATH_INFO"]
    if route == "/digest":
        try:
            body = environ["wsgi.input"].read()
        except OSError as error:
            body = type(error).__name__.encode()
            print("cut", type(error).__name__, flush=True)
        content = json.dumps([len(body), hashlib.sha256(body).hexdigest()]).encode()
    elif route == "/unread":
        content = b"refused"
    elif route == "/file":
        start_response("200 OK", [("Content-Length", str(2**24 - 10))])
        file = os.fdopen(os.dup(_large.fileno()), "rb")
        file.seek(10)
        return environ["wsgi.file_wrapper"](file)
    elif route == "/pieces":
        start_response("200 OK", [])
        return (bytes([number % 256]) * 2**16 for number in range(320))
    elif route == "/events":
        start_response("200 OK", [])
        return _events()
    elif route == "/broken":
        start_response("200 OK", [])
        return _broken()
    elif route == "/wait":
        time.sleep(1)
        content = b"waited"
    elif route == "/left":
        content = str(waiting.read_seconds()).encode()
    elif route == "/gone":
        until = time.monotonic() + 10
        while not environ["gunicorn.socket"].is_gone() and time.monotonic() < until:
            time.sleep(0.02)
        print("gone", environ["gunicorn.socket"].is_gone(), flush=True)
        content = b"gone"
    else:
        content = route.encode()
    start_response("200 OK", [("Content-Length", str(len(content)))])
    return [content]


def _direct(environ):
    """Plain reads below /direct: of a large file, or of one that is shorter than it was."""
    length = {"/direct/file": 2**24 - 10, "/direct/cut": 2**24}.get(environ["PATH_INFO"])
    if length is None:
        return None
    file = os.fdopen(os.dup(_large.fileno()), "rb")
    file.seek(10)
    headers = {"Content-Length": str(length), "Agent": environ.get("HTTP_USER_AGENT", "")}
    return DirectAnswer(HTTPStatus.OK, headers, file, 10, length)


application.direct = _direct


def _events():
    yield b"first"
    time.sleep(1.5)
    yield b"second"


def _broken():
    yield b"a part"
    raise RuntimeError("broken on purpose")
