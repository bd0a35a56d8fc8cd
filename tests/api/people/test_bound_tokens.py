"""Limited tokens at every address: they reach what a guest does, and their own.

The walk takes its addresses from the URL configuration, so a new one is tried without being listed
here. Each is asked with tokens of scope admin that are limited to `ada`, to a model of it, to that
and an organisation, or to models of `lab` and organisation alike that are gone, for things in
`lab`, which belongs to the same user, and for things of the account.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from django.db import connection, transaction
from django.urls import get_resolver

from hub.protocol import federated
from hub.protocol.fleets import enrolment
from registry.datasets import services
from registry.federated.services import enrolments, fleets
from registry.identity.scim import clients
from registry.models import AccessToken, Namespace, TokenLimit, Upload, User
from registry.people.services import service_accounts, tokens
from registry.versions.services import access
from runners.models import Job
from runners.tryouts import tryouts
from tests import factories, samples
from tests.api.versions.test_models import problem
from tests.methods import methods_of

pytestmark = pytest.mark.django_db

MARK = "SECRETMARK"
MODELS = ("hidden", "open")
# What changes no row of anybody else's: checks of a text, questions with a body about a public
# model, and bytes on their way in, which belong to the token.
HARMLESS = {
    "POST api/v1/cards/check",
    "POST api/v1/uploads",
    "POST api/validate-yaml",
    "POST api/models/lab/open/paths-info/main",
    "POST lab/open.git/info/lfs/objects/batch",
    "POST lab/open.git/git-upload-pack",
    "POST lab/open/git-upload-pack",
}
_PARAMETERS = {
    "namespace": "lab", "owner": "lab", "username": "bob", "number": "1", "round_number": "1",
    "path": "model.onnx", "rest": "main", "ref": "stable", "key": "1", "pk": "1",
    "status": "pending", "action": "write", "kind": "datasets", "space": "lab", "version": "1",
}  # fmt: skip
_BODIES = {
    "POST api/v1/models": {"namespace": "lab", "name": "new"},
    "PATCH api/v1/models/*": {"summary": "changed"},
    "POST api/v1/models/*/move": {"name": "other"},
    "PUT api/v1/models/*/access/requests/bob": {"status": "accepted"},
    "POST api/v1/models/*/versions/1/yank": {"reason": "broken"},
    "POST api/v1/models/*/versions/1/withdraw": {"reason": "broken"},
    "PUT api/v1/models/*/refs/stable": {"kind": "alias", "version": 1},
    "PUT api/v1/models/*/alias-rules/stable": {
        "conditions": [{"kind": "conformance", "runtimes": 1}]
    },
    "POST api/v1/models/*/fleets": {"name": "boxes"},
    "POST api/v1/models/*/trainings": {"version": 1},
    "POST api/v1/models/*/versions/1/variants": {"kind": "upgrade"},
    "POST api/v1/models/*/versions/1/variants/default/with-metadata": {"props": {}},
    "POST api/v1/datasets/stones/withdraw": {"reason": "broken"},
    "POST api/v1/datasets": {"namespace": "lab", "slug": "pebbles", "title": "Pebbles"},
    "PATCH api/v1/datasets/stones": {"title": "Other"},
    "POST api/v1/namespaces": {"slug": "fresh"},
    "PATCH api/v1/namespaces/lab": {"display_name": "Other"},
    "PUT api/v1/namespaces/lab/members/bob": {"role": "reader"},
    "POST api/v1/users": {"username": "eve"},
    "PATCH api/v1/users/bob": {"is_active": False},
    "POST api/v1/tokens": {"name": "more", "scopes": ["read"]},
    "POST api/repos/create": {"name": "new", "organization": "lab"},
    "DELETE api/repos/delete": {"name": "hidden", "organization": "lab"},
    "POST api/repos/move": {"fromRepo": "lab/hidden", "toRepo": "ada/hidden"},
    "PUT api/models/*/settings": {"private": False},
    "POST api/models/*/user-access-request/grant": {"user": "bob"},
    "POST api/models/*/tag/main": {"tag": "v1"},
    "POST api/models/*/preupload/main": {"files": [{"path": "a.txt", "size": 1, "sample": ""}]},
    "POST api/v1/cards/check": {"card": "# A card"},
}
# Enough for each address that wants one: the version of the protocol, and any earlier state.
_HEADERS = {"Tus_Resumable": "1.0.0", "Upload_Length": "4", "If_Match": "*"}


class Operation(NamedTuple):
    method: str
    path: str

    def __str__(self):
        return f"{self.method} {self.path}"

    @property
    def body(self):
        return _BODIES.get(re.sub(r"lab/(hidden|open)", "*", str(self)))


def patterns(resolver, prefix=""):
    for pattern in resolver.url_patterns:
        here = prefix + str(pattern.pattern).replace("^", "").replace("$", "")
        if hasattr(pattern, "url_patterns"):
            yield from patterns(pattern, here)
        elif not pattern.callback.__module__.startswith("frontend"):  # pages read no tokens
            yield here, methods_of(pattern.callback)


def operations(world):
    for pattern, methods in patterns(get_resolver()):
        for name in MODELS:
            own = world | {"name": name}
            if "/uploads/" in pattern:
                own["uuid"] = world["upload"]
            if "/datasets/" in pattern:
                own["slug"] = "stones"
            path = re.sub(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)", r"<x:\1>", pattern)
            path = re.sub(r"<\w+:(\w+)>", lambda found, own=own: own.get(found[1], "x"), path)
            for method in methods or ["get"]:
                yield Operation(method.upper(), path.replace("\\", ""))


@pytest.fixture
def world(ada, bob):
    """A user with two namespaces, and something private of each kind that is not in `ada`."""
    ada.email = f"{MARK}@example.org"
    ada.save()
    lab = factories.namespace(ada, "lab")
    content = {"model.onnx": samples.mlp(), "notes.txt": MARK.encode()}
    for name in MODELS:
        of = factories.model(ada, name, slug="lab", summary=MARK if name == "hidden" else "")
        of.visibility = "private" if name == "hidden" else "public"
        of.save()
        factories.published(ada, of, content if name == "hidden" else None)
    gated = factories.model(bob, "gated", gate="manual")
    factories.published(bob, gated)
    access.ask(ada, model=gated, message=MARK)
    services.create(ada, namespace=lab, slug="stones", title="Stones")
    token, _ = tokens.issue(ada, name=MARK, scopes=["read"])
    digest = factories.blob(ada, f"{MARK} of an upload".encode())
    upload = Upload.objects.get(blob=digest.removeprefix("sha256:"))
    Upload.objects.filter(pk=upload.pk).update(filename=MARK)
    job = Job.objects.filter(version__model__name="hidden").first()
    return _PARAMETERS | {
        "slug": lab.slug, "uuid": str(job.pk), "upload": str(upload.pk), "token_id": str(token.pk),
        "sha256": digest.removeprefix("sha256:"), "variant": "default",
    }  # fmt: skip


class Watch:
    """Counts what a request writes, apart from when its token was used last."""

    def __enter__(self):
        self.writes = []
        self._hook = connection.execute_wrapper(self._note)
        self._hook.__enter__()
        return self

    def __exit__(self, *error):
        self._hook.__exit__(*error)

    def _note(self, execute, sql, params, many, context):
        if sql.split(" ", 1)[0] in {"INSERT", "UPDATE", "DELETE"} and "last_used_at" not in sql:
            self.writes.append(sql)
        return execute(sql, params, many, context)


def ask(client, operation):
    answer = client(operation.method, f"/{operation.path}", operation.body, **_HEADERS)
    if answer.streaming:
        return answer.status_code, b"".join(answer).decode(errors="replace")
    return answer.status_code, answer.content.decode(errors="replace")


def limited(api, ada, kind):
    """A client with a limited token, which reaches no model of `lab`."""
    if kind == "namespace":
        return api(ada, namespace="ada")
    if kind == "service account":
        space = factories.namespace(ada, "firm")
        account = service_accounts.create(ada, namespace=space, name="ci", role="maintainer")
        return api(account, namespace="firm")
    if kind == "identity provider":
        _, token = clients.create_token(User.objects.get(is_superuser=True), name="entra")
        client = api()
        client.headers["Authorization"] = f"Bearer {token}"
        return client
    model = factories.model(ada, "own", visibility="private")
    if kind == "device":
        return device_of(api, ada, model)
    client = api(ada, namespace="zoo" if kind == "several" else None, models=[model])
    if kind == "nothing left":
        TokenLimit.objects.all().delete()
    return client


def device_of(api, ada, model):
    """A client with the token of a device that enrolled in a fleet of a model."""
    fleet, _ = fleets.create(ada, model=model, name="boxes")
    key, (_, code) = federated.new_key(), enrolments.invite(ada, fleet=fleet)
    _, token = enrolments.enrol(
        namespace="ada", name=model.name, fleet="boxes", code=code, device="d1",
        public_key=federated.public_key(key),
        signature=federated.sign(enrolment(model.ref, "boxes", "d1", code), key),
    )  # fmt: skip
    client = api()
    client.headers["Authorization"] = f"Bearer {token}"
    return client


KINDS = [
    "namespace",
    "model",
    "several",
    "nothing left",
    "service account",
    pytest.param("device", marks=pytest.mark.capability("federated")),
    pytest.param("identity provider", marks=pytest.mark.capability("identity")),
]


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("kind", KINDS)
def test_a_limited_token_reaches_nothing_else_at_any_address(api, ada, admin, world, graphs, kind):
    bound, free = limited(api, ada, kind), api(ada)
    before = set(AccessToken.objects.values_list("pk", flat=True))
    n_changes = 0
    asked = dict.fromkeys(operations(world))
    for operation in asked:
        with Watch() as watch:
            status, text = ask(bound, operation)
        # 501: a part of SCIM that is not offered (RFC 7644, 3.12).
        assert status < 500 or status in (501, 503), (operation, status, text)
        assert MARK not in text, operation
        if world["uuid"] not in operation.path:
            assert world["uuid"] not in text, operation
        if operation.method == "GET" or str(operation) in HARMLESS:
            continue
        assert status >= 300, (operation, text)
        assert watch.writes == [], (operation, watch.writes)
    assert set(AccessToken.objects.values_list("pk", flat=True)) == before
    if kind != "namespace":
        return
    # The same requests do change things with a token for the whole account.
    for operation in asked:
        if operation.method == "GET" or str(operation) in HARMLESS:
            continue
        with transaction.atomic(), Watch() as watch:
            status, _ = ask(free, operation)
            n_changes += status < 300 and bool(watch.writes)
            transaction.set_rollback(True)
    assert len(asked) > 150
    assert n_changes >= 30, n_changes


@pytest.mark.usefixtures("lists")
def test_a_bound_token_works_in_its_namespace(api, ada):
    bound = api(ada, namespace="ada")
    assert bound.get("whoami").json()["namespaces"] == [{"slug": "ada", "role": "owner"}]
    assert bound.get("/api/whoami-v2").json()["email"] is None
    assert bound.get("namespaces").json() == [{"slug": "ada", "role": "owner"}]
    assert bound.post("models", {"namespace": "ada", "name": "net"}).status_code == 201
    assert bound.post("models/ada/net/versions", {}).status_code == 201
    put = bound.put_file("models/ada/net/versions/1", "model.onnx", samples.mlp())
    assert put.status_code == 201
    assert bound.post("models/ada/net/versions/1/submit", {"publish": True}).status_code == 200
    factories.work()
    assert bound.get("models/ada/net/versions/1").json()["state"] == "published"
    assert bound.delete("models/ada/net").status_code == 204


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "tokens"), ("POST", "tokens"), ("DELETE", "tokens/{}"), ("POST", "namespaces")],
)
def test_the_account_is_closed_to_a_bound_token(api, ada, method, path):
    other, _ = tokens.issue(ada, name="other", scopes=["read"])
    body = _BODIES.get(f"{method} api/v1/{path}")
    bound = api(ada, namespace="ada")
    rows = AccessToken.objects.count(), Namespace.objects.count()
    refused = bound(method, path.format(other.pk), body)
    problem(refused, 403, "not-allowed")
    assert "limited to other namespaces or models" in refused.json()["detail"]
    assert (AccessToken.objects.count(), Namespace.objects.count()) == rows


def test_a_bound_token_of_an_administrator_rules_its_namespace_alone(api, ada, admin):
    bound = api(admin, namespace="zoo")
    for method, path, body in (
        ("GET", "users", None),
        ("GET", "events", None),
        ("POST", "users", {"username": "eve"}),
        ("PATCH", "users/ada", {"is_active": False}),
        ("POST", "users/ada/password", None),
        ("PATCH", "namespaces/zoo", {"quota_bytes": 1}),
    ):
        problem(bound(method, path, body), 403, "not-allowed")
    problem(bound.get("namespaces/ada"), 404, "not-found")
    assert bound.patch("namespaces/zoo", {"display_name": "The zoo"}).status_code == 200


def test_uploads_of_a_bound_token_are_apart(api, ada):
    bound, free = api(ada, namespace="ada"), api(ada)
    draft = factories.draft(ada, factories.model(ada))
    files = f"models/ada/net/versions/{draft.number}/files"
    theirs = free.upload(b"of the account")["Hub-Blob"]
    refused = bound.put(f"{files}/stolen.txt", {"blob": theirs})
    assert refused.status_code in (404, 422)
    assert not draft.files.filter(path="stolen.txt").exists()
    own = bound.upload(b"of the token")["Hub-Blob"]
    assert bound.put(f"{files}/own.txt", {"blob": own}).status_code == 201
    assert free.put(f"{files}/again.txt", {"blob": own}).status_code == 201


def test_a_run_elsewhere_is_not_seen_by_a_bound_token(api, ada, bob):
    version = factories.published(bob)
    inputs = [tryouts.Input("x", "json", factories.blob(ada, b"[1]"))]
    job = tryouts.request(ada, variant=version.variants.get(), inputs=inputs)
    assert api(ada).get(f"jobs/{job.pk}").status_code == 200
    problem(api(ada, namespace="ada").get(f"jobs/{job.pk}"), 404, "not-found")
