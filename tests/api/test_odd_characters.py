"""Characters that mean something to a database or a query are plain text, or refused in words.

PostgreSQL takes no null character in a text.
"""

import re

import pytest
from django.urls import get_resolver

from tests import factories
from tests.api.test_reads import routes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
NUMBERS = ("int", "number", "uuid")
PARAMETER = re.compile(r"<(?:(\w+):)?\w+>")


def addresses(text):
    """Every address with this text for each parameter that is no number."""
    for route, view in routes(get_resolver()):
        if route.startswith("^") or "(?P" in route:
            continue
        path = PARAMETER.sub(lambda match: "1" if match[1] in NUMBERS else text, route)
        yield "/" + path, view


def declared(view):
    """The parameters that an address may have, where they are declared."""
    action = getattr(view, "actions", {}).get("get", "get")
    handler = getattr(getattr(view, "cls", None), action, view)
    return sorted(getattr(handler, "accepted_parameters", ()))


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize("text", ["a%00b", "%25s'%5C%22"])
def test_in_a_path(client, ada, text):
    factories.version(ada)
    failed = {
        (path, answer.status_code)
        for path, _ in addresses(text)
        if (answer := client.get(path)).status_code >= 500
    }
    assert not failed


@pytest.mark.parametrize("value", ["a%00b", "%25s'%5C%22"])
@pytest.mark.usefixtures("graphs")
def test_in_a_parameter(client, ada, value):
    version = factories.version(ada)
    failed = set()
    for address, view in addresses("net"):
        path = address.replace("/net/net", f"/{version.model.ref}")
        for name in declared(view):
            answer = client.get(f"{path}?{name}={value}")
            if answer.status_code >= 500:
                failed.add((path, name))
    assert not failed


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/login", {"username": "a\0b", "password": "x"}),
        ("/api/v1/sparql", {"query": "ASK { ?s ?p '\0' }"}),
    ],
)
def test_in_a_form(client, ada, path, data):
    assert client.post(path, data).status_code < 500
