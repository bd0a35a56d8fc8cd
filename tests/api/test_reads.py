"""A request that reads writes nothing and waits for nobody: every route, whoever asks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.messages import constants
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import URLPattern, get_resolver

from hub.protocol import federated, problems
from hub.protocol.fleets import enrolment
from hub.server import reads
from hub.server.reads import ReadOnlyError, ReadOnlyMiddleware
from hub.server.sessions import LONGEST_MESSAGE, MessageStorage
from registry.api.models import fresh_model_data
from registry.catalogue import documents
from registry.community.collections import services as collections
from registry.community.comparisons import services as comparisons
from registry.community.discussions import services as discussions
from registry.core import outbox, usage
from registry.federated.services import enrolments, fleets
from registry.mirrors.services import mirrors
from registry.models import (
    AccessToken,
    DownloadCount,
    DownloadWeek,
    RefusedCard,
    RegisteredModel,
    SearchDocument,
    XetStore,
)
from registry.people.services import service_accounts
from registry.publishers import services as publishers
from registry.storage.services import uploads
from registry.versions.services import files
from registry.webhooks import services as webhooks
from runners.models import Job
from tests import factories, learning, proven, samples, timed, xet_samples

pytestmark = pytest.mark.django_db
GUARD = "hub.server.reads.ReadOnlyMiddleware"
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# Addresses whose routes are regular expressions.
BY_PATTERN = {
    "^onnx-hub/media/": ["onnx-hub/media/onnx/models/main/ada/net@1/model.onnx"],
    "^onnx-hub/(": ["onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json"],
    "^login/reset/": ["login/reset/1-wrong"],
    "^account/email/": ["account/email/wrong"],
}
# Changes of rows, and transactions and locks, for which SQLite and PostgreSQL would wait.
READS = re.compile(
    r"\s*(SELECT|WITH|PRAGMA|EXPLAIN)\b(?!.*\bFOR (NO KEY )?(UPDATE|SHARE)\b)", re.DOTALL
)


def routes(resolver, prefix=""):
    """Every route of the URL conf, with its view."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route, pattern.callback
        else:
            yield from routes(pattern, route)


def everything(ada):
    """One of all that an address can name; gives what addresses call it."""
    version = factories.version(
        ada, contents={"model.onnx": samples.mlp(), "config.json": b"{}", "data.bin": b"w" * 99}
    )
    model = version.model
    draft = factories.draft(ada, model)
    with pytest.raises(problems.CardInvalid):
        files.write_card(ada, version=draft, text="---\ndate: 2026-13-45\n---\n")
    factories.dataset(ada)
    collection = collections.create(ada, namespace=model.namespace, slug="small")
    collections.add(ada, collection=collection, model=model)
    saved = comparisons.create(ada, references=[f"{model.ref}@1", model.ref])
    discussions.open_discussion(ada, model=model, title="A", body="B", version=version)
    proven.upgrade(version)
    conformance = proven.conformance(version, [proven.measure("bundled")])
    measured = timed.benchmark(version)
    training = learning.training(ada, version)
    fleet, secret = fleets.create(ada, model=model, name="field")
    key, (_, code) = federated.new_key(), enrolments.invite(ada, fleet=fleet)
    signed = federated.sign(enrolment(model.ref, fleet.name, "d1", code), key)
    _, device = enrolments.enrol(
        namespace="ada", name=model.name, fleet=fleet.name, code=code, device="d1",
        public_key=federated.public_key(key), signature=signed,
    )  # fmt: skip
    fleets.desire(ada, fleet=fleet, version=version)
    firm = factories.namespace(ada, "firm")
    account = service_accounts.create(ada, namespace=firm, name="ci")
    service_accounts.create_token(ada, account=account, name="t", scopes=["read"])
    publishers.create(
        ada, namespace=firm, issuer="https://gitlab.com", repository="a/b", workflow="ci.yml"
    )
    upload = uploads.create(ada, length=5)
    with override_settings(HUB_MIRROR_SOURCES=["https://hub.example.org"]):
        mirror = mirrors.add(ada, source="https://hub.example.org/zoo", namespace=model.namespace)
    hook = {"url": "https://ci.example.org/hook", "events": ["model.edited"]}
    webhook = webhooks.add(ada, namespace=model.namespace, **hook)
    outbox.deliver()
    names = {
        "namespace": "ada", "name": "net", "number": 1, "earlier": 1, "path": "model.onnx",
        "ref": "champion", "rest": f"{version.commit_id}/model.onnx", "kind": "datasets",
        "space": "ada", "ending": "json", "download": "csv", "pk": measured.pk, "key": 1,
        "round_number": 1, "token_id": 1, "place": "models", "slug": "stones",
        "mirror_id": mirror.pk, "model_id": 1, "model_namespace": "ada", "model_name": "net",
        "discussion": 1, "comment": 1,
        "card_id": RefusedCard.objects.get().pk,
        "sha256": version.files.get(path="model.onnx").blob_id, "action": "read",
        "commit_id": version.commit_id, "device": "d1", "digest": measured.environment_id,
        "filename": "card.json", "fleet": fleet.name, "prefix": "default", "pseudonym": "p",
        "runtime": "onnxruntime", "version": "1.31.1", "status": "pending", "token": "none",
        "text": "wrong", "provider_id": "oidc", "secret": "wrong", "invitation_id": 1,
        "session_id": 1,
        "username": "ada", "variant": "default", "uuid": Job.objects.first().pk,
        "tile": "000", "level": 0, "webhook_id": webhook.pk, "delivery_id": 1, "signer_id": 1,
    }  # fmt: skip
    special = {
        "/conformance/": {"pk": conformance["bundled"].pk},
        "/trainings/": {"number": training.number},
        "uploads/": {"uuid": upload.pk},
        "v2/": {
            "reference": "1",
            "digest": f"sha256:{version.files.get(path='model.onnx').blob_id}",
        },
        "namespaces/": {"slug": "ada"},
        "scim/v2/": {"path": "Users"},
        "/service-accounts": {"slug": "firm", "username": account.username},
        "/publishers": {"slug": "firm"},
        "collections/": {"slug": "small"},
        "compare/": {"uuid": saved.pk},
        "saved-comparisons/": {"uuid": saved.pk},
        "api/xet/": {"place": f"{'0' * 32}-1"},
        "<place:place>": {"name": "ada/net"},
        "/tree/": {"rest": version.commit_id},
        "/commits/": {"rest": "main"},
        "/xet-write-token/": {"rest": "main"},
    }
    return names, special, (secret, device)


def addresses(names, special):
    """An address of each route; a parameter without a value here is a KeyError."""
    for route, _ in routes(get_resolver()):
        by_pattern = [found for start, found in BY_PATTERN.items() if route.startswith(start)]
        if by_pattern:
            yield from by_pattern[0]
            continue
        values = names | {
            key: value
            for part, more in special.items()
            if part in route
            for key, value in more.items()
        }
        address = route.replace("\\", "")
        for key in PARAMETER.findall(route):
            address = re.sub(rf"<(?:\w+:)?{key}>", str(values[key]), address)
        yield address


@pytest.mark.usefixtures("lists")
@pytest.mark.capability("community")
@pytest.mark.capability("webhooks")
@pytest.mark.capability("federated")
def test_no_read_of_any_route_writes_or_locks(ada, settings, graphs):
    names, special, fleet_tokens = everything(ada)
    guest, browser = Client(), Client()
    browser.force_login(factories.admin())
    secret = factories.token(ada)
    # The database's own words are the witness, not what refuses writes in the product.
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != GUARD]
    written, answered, here = [], {}, ""

    def witness(execute, sql, params, many, context):
        if not READS.match(sql):
            written.append((here, sql[:100]))
        return execute(sql, params, many, context)

    def ask(client, method, path, **headers):
        nonlocal here
        here = f"{method} /{path}"
        answer = client.generic(method, f"/{path}", headers=headers)
        if answer.streaming and answer["Content-Type"] != "text/event-stream":
            assert b"".join(answer.streaming_content) or method == "HEAD"
        answered.setdefault(answer.status_code, set()).add(path)

    paths = sorted(set(addresses(names, special)))
    with connection.execute_wrapper(witness):
        for path in paths:
            ask(guest, "GET", path)
            if not path.startswith("api/"):
                ask(browser, "GET", path, Accept="text/html")
            ask(guest, "HEAD", path, Authorization=f"Bearer {secret}")
            if "fleets" in path:
                for token in fleet_tokens:
                    ask(guest, "GET", path, Authorization=f"Bearer {token}")
    assert written == []
    assert len(paths) > 250
    # Enough of them lead somewhere, and none breaks: 503 is a service that is not running.
    assert len(answered[200]) > 110, {code: len(found) for code, found in answered.items()}
    assert not {code for code in answered if code >= 500} - {503}, answered.get(500)


def test_the_hub_guards_its_reads(settings):
    assert GUARD in settings.MIDDLEWARE


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_read_that_would_write_is_refused(method, ada, graphs):
    def view(request):
        RegisteredModel.objects.update(summary="written")
        return HttpResponse()

    def begin(request):
        with transaction.atomic():
            pass

    def lock(request):
        list(RegisteredModel.objects.raw("SELECT * FROM registry_registeredmodel FOR UPDATE"))

    request = RequestFactory().generic(method, "/")
    for writing in (view, begin, lock):
        with pytest.raises(ReadOnlyError), transaction.atomic():
            ReadOnlyMiddleware(writing)(request)
    assert ReadOnlyMiddleware(view)(RequestFactory().post("/")).status_code == 200
    assert not reads.is_reading()


def test_only_uploads_recover_when_they_are_read():
    recovering = {
        view.cls.__name__
        for _, view in routes(get_resolver())
        if getattr(getattr(view, "cls", None), "recovers_on_read", False)
    }
    assert recovering == {"Uploads"}


@pytest.mark.capability("identity")
def test_only_links_of_mails_and_other_sites_write_when_they_are_read():
    writing = {
        route for route, view in routes(get_resolver()) if getattr(view, "writes_on_read", False)
    }
    assert writing == {
        r"^login/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)$",
        "login/with/<str:provider_id>/callback",
        "account/email",
        "login/code",
        "account/confirm/passkey",
        "account/factors/app",
        "account/factors/codes",
        "account/factors/passkeys/new",
    }


def test_a_page_after_a_change_of_password_signs_out_without_a_write(ada):
    browser = Client()
    browser.force_login(ada)
    ada.set_password("another long password")
    ada.save()
    assert browser.get("/account").status_code == 302
    assert browser.cookies["sessionid"].value == ""
    assert Session.objects.count() == 1


def test_a_message_that_is_long_is_kept_in_the_cookie():
    request = RequestFactory().get("/")
    storage, answer = MessageStorage(request), HttpResponse()
    storage.add(constants.ERROR, "x" * 5_000)
    assert storage.update(answer) == []
    request.COOKIES["messages"] = answer.cookies["messages"].value
    assert [str(one) for one in MessageStorage(request)] == [f"{'x' * (LONGEST_MESSAGE - 1)}…"]


@pytest.mark.usefixtures("lists")
def test_a_model_that_lists_do_not_know_yet_is_shown_and_not_written(api, ada):
    model = factories.version(ada).model
    model_data = fresh_model_data(ada, model)
    SearchDocument.objects.all().delete()
    assert api(ada).get("models/ada/net").json() == model_data
    assert fresh_model_data(ada, model) == model_data
    assert not SearchDocument.objects.exists()


@pytest.mark.capability("xet")
def test_the_address_of_a_chunk_store_is_given_out_without_a_row(api, ada):
    model = factories.model(ada)
    client = api(ada)
    told = client.get("/api/models/ada/net/xet-write-token/main").json()
    assert not XetStore.objects.exists()
    sent = {"Authorization": f"Bearer {told['accessToken']}"}
    cas = told["casUrl"].removeprefix("http://testserver")
    name, body = xet_samples.xorb(b"one" * 100)
    posted = client.post(f"{cas}/v1/xorbs/default/{name}", body, **sent)
    assert (posted.status_code, XetStore.objects.get().model) == (200, model)
    assert client.get("/api/models/ada/net/xet-write-token/main").json()["casUrl"] == told["casUrl"]


@pytest.mark.usefixtures("lists")
def test_what_a_read_leaves_behind_is_written_later(api, ada):
    version = factories.version(ada)
    client = api(ada)
    AccessToken.objects.update(last_used_at=None)
    for _ in range(3):
        b"".join(client.get("models/ada/net/versions/1/files/model.onnx").streaming_content)
    assert version.model.downloads == 0
    assert AccessToken.objects.get().last_used_at is None
    usage.notes.flush()
    usage.notes.flush()
    assert RegisteredModel.objects.get().downloads == 3
    assert AccessToken.objects.get().last_used_at is not None
    assert client.get("models/ada/net").json()["downloads"] == 3
    assert [row["downloads"] for row in client.get("models").json()["items"]] == [0]
    assert [usage.refresh_lists(), usage.refresh_lists()] == [1, 0]
    assert [row["downloads"] for row in client.get("models").json()["items"]] == [3]
    documents.refresh(version.model_id)
    assert SearchDocument.objects.get().downloads == 3


def test_counts_of_downloads_add_up(ada):
    version = factories.version(ada)
    for count in (2, 3):
        usage.notes.add_download(version.pk, count)
        usage.notes.flush()
    assert RegisteredModel.objects.get().downloads == 5


def test_notes_that_could_not_be_written_stay(ada):
    version = factories.version(ada)
    usage.notes.add_download(version.pk, 2)
    usage.notes.add_download(10**9)  # a version that is gone

    def refuse(execute, sql, params, many, context):
        raise OperationalError("database is locked")

    with connection.execute_wrapper(refuse), pytest.raises(OperationalError):
        usage.notes.flush()
    usage.notes.flush()
    assert version.model.downloads == 2
    assert DownloadCount.objects.count() == 1


def test_downloads_are_counted_by_week_and_version(api, ada):
    model = factories.model(ada)
    first, second = factories.version(ada, model), factories.version(ada, model)
    usage.notes.add_download(first.pk, 2)
    usage.notes.add_download(second.pk)
    usage.notes.flush()
    monday = usage.week(datetime.now(UTC).date())
    old = monday - timedelta(weeks=usage.WEEKS_KEPT)
    DownloadWeek.objects.create(version=first, week=old, downloads=7)
    DownloadWeek.objects.create(version=first, week=old + timedelta(weeks=1), downloads=5)
    assert usage.forget_weeks() == 1
    rows = api().get(f"models/{model.ref}/downloads").json()["items"]
    assert rows == [
        {"week": monday.isoformat(), "version": 2, "downloads": 1},
        {"week": monday.isoformat(), "version": 1, "downloads": 2},
        {"week": (old + timedelta(weeks=1)).isoformat(), "version": 1, "downloads": 5},
    ]
    assert model.downloads == 3
    assert {field.name for field in DownloadWeek._meta.fields} == {
        "id",
        "version",
        "week",
        "downloads",
    }
