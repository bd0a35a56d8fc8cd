"""Functions that a child process calls for tests."""

from __future__ import annotations

import os
import time

from hub.protocol import problems


def spin(_text):
    while True:
        pass


def rest(_text):
    time.sleep(0.5)


def swell(_text):
    return len(b"x" * 2**34)


def name_process(_text):
    return os.getpid()


def name_environment(_text):
    return list(os.environ)


def refuse(text):
    raise problems.InvalidRequest.at("/a", f"{len(text)} characters are refused.")


def fall(text):
    raise KeyError(text[:10])
