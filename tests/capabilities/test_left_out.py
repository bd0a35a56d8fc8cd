"""A hub that leaves capabilities out has no trace of them, and the rest works.

scripts/test-capabilities runs this with HUB_CAPABILITIES. What it looks for is there where a
capability is offered.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands
from django.core.management.base import SystemCheckError
from django.test import Client
from django.urls import get_resolver, resolve

from hub.protocol.capabilities import CAPABILITIES
from registry.models import Blob, XetStore, Xorb, XorbPart
from registry.storage import collector, files
from tests import factories, shared
from tests.unit.registry.storage.test_collector import age

pytestmark = pytest.mark.django_db
LEFT_OUT = [name for name in CAPABILITIES if name not in settings.HUB_CAPABILITIES]
VERSION = "/models/ada/net/v/1"
PAGES = (
    "/", "/help", "/docs", "/health", "/robots.txt", "/sitemap.xml", "/models",
    "/jobs", "/api/docs", "/api/v1/schema", VERSION, f"{VERSION}/files", f"{VERSION}/benchmarks",
    f"{VERSION}/conformance", "/models/ada/net/versions", "/find",
    "/compare?m=ada/net@1", f"{VERSION}/provenance", "/.well-known/void", "/readyz",
)  # fmt: skip


class Traces(NamedTuple):
    """What a capability adds: addresses that answer, and words on pages."""

    addresses: tuple[str, ...] = ()
    words: str = ""
    commands: tuple[str, ...] = ()


TRACES = {
    "git": Traces(
        ("/ada/net/info/refs?service=git-upload-pack", "/ada/net.git/info/refs"),
        "git clone|/docs/git|>Git<",
    ),
    "oci": Traces(("/v2/", "/v2/token", "/v2/ada/net/tags/list"), "/docs/oci|skopeo"),
    "onnx_hub": Traces(
        ("/onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json",), "/docs/onnx-hub|onnx[.]hub"
    ),
    "xet": Traces(
        ("/api/models/ada/net/xet-write-token/main", "/api/xet/0-1", "/api/xet/0-1/v1/shards"),
    ),
    "s3": Traces(),
    "identity": Traces(
        (
            "/administration/invitations",
            "/administration/security-log",
            "/administration/provisioning",
            "/scim/v2/Users",
            "/account/new",
            "/login/reset",
            "/api/v1/security-events",
            "/account/sessions",
            "/account/data",
            "/api/v1/users/ada/erase",
            "/api/v1/sessions",
            "/api/v1/users/ada/sessions",
        )
    ),
    "backups": Traces(commands=("backup", "restore", "verify_backup")),
    "bridges": Traces(words="/docs/bridges|MLflow"),
    "tryouts": Traces(
        (f"{VERSION}/try", "/runtime/1.30.0/worker.js"),
        "Try it|/try|/runtime/|[Rr]uns? in (this|your|a) browser",
        ("fetch_browser_runtime",),
    ),
    "sparql": Traces(
        ("/sparql", "/query", "/query/result.csv"),
        "SPARQL|sparql|/query|>Query<|[Gg]raph store|query page",
    ),
    "compliance": Traces(
        (f"{VERSION}/compliance", f"{VERSION}/compliance.json"), "/compliance|/docs/compliance"
    ),
    "mirrors": Traces(
        ("/api/v1/mirrors", "/api/v1/mirrors/import", "/api/v1/mirrors/1/sync"),
        "/docs/mirrors|/api/v1/mirrors|hub mirror",
    ),
    "starter": Traces(
        ("/administration/starter", "/api/v1/starter", "/api/v1/starter/magika"),
        "/docs/starter|/api/v1/starter|[Ss]tarter",
    ),
    "federated": Traces(
        (
            "/trainings",
            "/models/ada/net/trainings",
            "/models/ada/net/fleets",
            "/api/v1/models/ada/net/trainings",
            "/api/v1/models/ada/net/fleets",
        ),
        "/trainings|[Tt]rainings|[Ff]leet|/docs/federated",
    ),
    "publishers": Traces(
        (
            "/account/namespaces/ada/publishers",
            "/api/v1/namespaces/ada/publishers",
            "/api/v1/publishers/token",
        ),
        "/publishers|[Tt]rusted publish",
    ),
    "packages": Traces(
        ("/api/v1/models/ada/net/versions/1/package",), "/docs/packages|[{]number[}]/package"
    ),
    "provenance": Traces(
        (
            "/api/v1/log/checkpoint",
            "/api/v1/log/head",
            "/api/v1/log/records",
            "/api/v1/log/tile/0/000.p/1",
            "/api/v1/models/ada/net/versions/1/log",
            "/.well-known/model-hub-log-keys",
            "/api/v1/models/ada/net/versions/1/signatures",
            "/api/v1/namespaces/ada/signers",
            "/account/namespaces/ada/signers",
        ),
        "/docs/provenance|[Tt]ransparency log|>not signed<|/signers",
        ("rotate_signing_key", "verify_log"),
    ),
    "webhooks": Traces(
        ("/account/webhooks", "/api/v1/webhooks", "/api/v1/webhooks/1/deliveries"),
        "/docs/webhooks|[Ww]ebhook|hub webhooks",
    ),
    "community": Traces(
        (
            "/collections",
            "/collections/new",
            "/watching",
            "/compare/saved",
            "/models/ada/net/discussions",
            "/models/ada/net/discussions.atom",
            "/api/v1/collections",
            "/api/v1/watching",
            "/api/v1/saved-comparisons",
            "/api/v1/models/ada/net/like",
            "/api/v1/models/ada/net/discussions",
            "/api/models/ada/net/discussions",
        ),
        "[Dd]iscuss|[Cc]ollections?|[Ww]atching|[Ss]aved? (this )?comparison|[Ll]ikes? |>Like"
        "|hub like",
    ),
}


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def patterns(resolver=None):
    """Every address of the hub that leads somewhere, as its view's module."""
    for entry in (resolver or get_resolver()).url_patterns:
        if hasattr(entry, "url_patterns"):
            yield from patterns(entry)
        else:
            view = getattr(entry.callback, "view_class", entry.callback)
            yield getattr(view, "__wrapped__", view).__module__


def packages(name):
    """The packages of a capability, and its folder in the API of the registry."""
    return (*CAPABILITIES[name].apps, f"registry.api.{name}.")


def test_every_capability_says_what_it_adds():
    assert set(TRACES) == set(CAPABILITIES)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_no_address_and_no_command_is_left(name, version):
    own = packages(name)
    assert [module for module in patterns() if f"{module}.".startswith(own)] == []
    for address in TRACES[name].addresses:
        assert Client().get(address).status_code == 404, address
    assert not set(TRACES[name].commands) & set(get_commands())


@pytest.mark.parametrize("name", [name for name in LEFT_OUT if TRACES[name].words])
def test_no_page_says_a_word(name, version):
    said = {
        page: words
        for page in PAGES
        if (words := re.findall(f".*(?:{TRACES[name].words}).*", text_of(page)))
    }
    assert said == {}


@pytest.mark.parametrize("name", settings.HUB_CAPABILITIES)
def test_what_is_offered_leaves_the_traces_that_are_looked_for(name, version):
    traces, own = TRACES[name], packages(name)
    for address in traces.addresses:
        module = resolve(address.partition("?")[0]).func.__module__
        assert f"{module}.".startswith(own), address
    assert set(traces.commands) <= set(get_commands())
    assert not traces.words or any(re.search(traces.words, text_of(page)) for page in PAGES)


def text_of(page):
    client = Client()
    client.force_login(factories.somebody("ada"))
    answer = client.get(page, headers={"Accept": "text/html" if page[-4:] != "hema" else "*/*"})
    assert answer.status_code == 200, page
    return answer.content.decode()


@pytest.mark.skipif("s3" not in LEFT_OUT, reason="buckets are offered")
def test_a_bucket_is_no_place_for_files(settings):
    assert files.forms() == "file:///folder"
    with pytest.raises(CommandError, match=r"is not supported: use file:///folder$"):
        call_command("copy_storage", "s3://bucket")
    settings.HUB_STORAGE_URL = "s3://bucket"
    with pytest.raises(SystemCheckError, match="Use file:///folder, or offer"):
        call_command("check")


@pytest.mark.skipif("xet" not in LEFT_OUT, reason="chunks are offered")
def test_bytes_that_chunks_of_before_need_stay(ada, django_capture_on_commit_callbacks):
    """Their rows are still there: whoever offers Xet again finds what they name."""
    store = XetStore.objects.create(model=factories.version(ada).model, uuid="0" * 32)
    digest = factories.blob(ada, b"once sent in chunks").removeprefix("sha256:")
    xorb = Xorb.objects.create(store=store, name="0" * 64, lengths=b"", size=1)
    XorbPart.objects.create(xorb=xorb, start=0, end=1, blob_id=digest, offset=0)
    age()
    with django_capture_on_commit_callbacks(execute=True):
        assert collector.collect() == 0
    assert Blob.objects.filter(pk=digest, erased_at=None).exists()


def test_a_model_is_published_listed_and_resolved(version):
    client = Client()
    listed = client.get("/api/v1/models").json()["items"]
    assert [row["ref"] for row in listed] == ["ada/net"]
    resolved = client.get("/api/v1/resolve?ref=ada/net").json()
    assert resolved["ref"] == "ada/net@1"
    html = text_of(VERSION)
    assert "hub.session(" in html
    assert ">Overview<" in html
