"""A path that a request puts before all addresses (SCRIPT_NAME) reaches no answer and no cache."""

from __future__ import annotations

import gc
import sys
from functools import _lru_cache_wrapper
from types import ModuleType

import pytest
from django.conf import settings
from django.core.cache import caches
from django.core.handlers.wsgi import get_script_name
from django.test import Client
from django.test.client import ClientHandler
from django.urls import clear_script_prefix, set_script_prefix

from tests.api.test_reads import addresses, everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
PREFIX = "/stranger"
DOCUMENTATION = ["docs", "docs/cli", "docs/decisions", "docs?q=model"]
ROOMS = {"frontend", "hub", "metadata", "registry", "runners"}
# Those that hold addresses today must be among what is looked at.
EXPECTED = {
    "frontend.pages.documentation.documents.document",
    "frontend.pages.documentation.documents.navigation",
    "frontend.pages.documentation.documents._sections",
    "default",
}


def function_caches():
    """Every function of the product that keeps its results, in modules and their classes."""
    functions = {}
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] in ROOMS]:
        classes = [value for value in vars(module).values() if isinstance(value, type)]
        for holder in [module, *classes]:
            for value in vars(holder).values():
                if isinstance(value, _lru_cache_wrapper):
                    functions[f"{value.__module__}.{value.__qualname__}"] = value
    return {name: value for name, value in functions.items() if name.split(".")[0] in ROOMS}


def texts(value, seen):
    """Every text in the data that can be reached from a value, bytes as text."""
    kind = type(value)  # isinstance would have lazy objects make what they stand for
    if id(value) in seen or issubclass(kind, type | ModuleType) or callable(value):
        return
    seen.add(id(value))
    if issubclass(kind, str):
        yield value
    elif issubclass(kind, bytes):
        yield value.decode("latin-1")
    else:
        for part in gc.get_referents(value):
            yield from texts(part, seen)


def texts_by_cache(functions):
    """The texts that each cache of the process keeps, by its name."""
    kept = {name: gc.get_referents(function) for name, function in functions.items()}
    kept |= {name: [caches[name]._cache] for name in settings.CACHES}
    return {
        name: [text for value in values for text in texts(value, set())]
        for name, values in kept.items()
    }


class Handler(ClientHandler):
    """Takes the prefix from a request as the WSGI handler does, which tests go without."""

    def __call__(self, environ):
        set_script_prefix(get_script_name(environ))
        return super().__call__(environ)


def read(paths):
    """The paths whose answers to a guest hold the prefix, where the server let it through."""
    client = Client(SCRIPT_NAME=PREFIX)
    client.handler = Handler(enforce_csrf_checks=False)
    holders = set()
    for path in paths:
        answer = client.get(f"/{path}", headers={"Accept": "text/html"})
        is_endless = answer.get("Content-Type") == "text/event-stream"
        if not is_endless and PREFIX.encode() in b"".join(answer):
            holders.add(path)
    clear_script_prefix()
    return holders


@pytest.mark.capability("webhooks")
def test_a_script_prefix_of_a_request_reaches_no_cache(ada, graphs):
    names, special, _ = everything(ada)
    paths = sorted({*addresses(names, special), *DOCUMENTATION})
    functions = function_caches()
    for function in functions.values():
        function.cache_clear()
    for cache in caches.all():
        cache.clear()
    holders = read(paths)
    kept = texts_by_cache(functions)
    assert {name for name in EXPECTED if kept[name]} == EXPECTED
    assert {name for name, words in kept.items() if any(PREFIX in text for text in words)} == set()
    assert holders == set()
