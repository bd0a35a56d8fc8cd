"""Tokens that are limited to some namespaces and models: what they reach, over each protocol."""

from __future__ import annotations

import base64

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.catalogue import documents
from registry.models import AccessToken, Membership, Namespace, TokenLimit
from registry.people.services import tokens
from registry.versions.services import registered_models
from tests import factories, samples, xet_samples
from tests.api.protocols.huggingface.test_writing import Xet
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


@pytest.fixture
def models(ada):
    """Two private models of `lab`, which ada owns, each with a published version."""
    factories.namespace(ada, "lab")
    rows = []
    for hidden, name in enumerate(("net", "other"), start=3):
        model = factories.model(ada, name, slug="lab", visibility="private")
        factories.published(ada, model, {"model.onnx": samples.mlp(hidden=hidden)})
        documents.refresh(model.pk)
        rows.append(model)
    return rows


def create(client, **fields):
    asked = {"name": "t", "scopes": ["publish"]} | fields
    return client.post("tokens", asked)


def with_token(api, secret):
    client = api()
    client.headers["Authorization"] = f"Bearer {secret}"
    return client


def test_a_token_of_a_model_sees_it_and_none_beside_it(api, ada, models):
    made = create(api(ada), models=["LAB/net"])
    assert made.status_code == 201
    assert (made.json()["models"], made.json()["namespaces"]) == (["lab/net"], [])
    assert made.json()["is_limited"]
    client = with_token(api, made.json()["token"])
    assert [row["name"] for row in client.get("models").json()["items"]] == ["net"]
    assert client.get("models/lab/net").status_code == 200
    problem(client.get("models/lab/other"), 404, "not-found")
    assert client.get("namespaces").json() == []
    problem(client.get("namespaces/lab"), 404, "not-found")
    assert client.get("/api/models/lab/net").status_code == 200
    assert client.get("/api/models/lab/other").status_code == 401 or 404
    assert client.get("/lab/net/resolve/main/model.onnx").status_code == 200
    assert client.get("/lab/other/resolve/main/model.onnx").status_code in (401, 404)


def test_it_publishes_its_model_and_makes_no_other(api, ada, models):
    client = api(ada, ["publish"], models=[models[0]])
    assert client.post("models/lab/net/versions", {}).status_code == 201
    put = client.put_file("models/lab/net/versions/2", "model.onnx", samples.mlp(hidden=9))
    assert put.status_code == 201
    sent = client.post("models/lab/net/versions/2/submit", {"publish": True})
    assert sent.status_code == 200
    factories.work()
    assert client.get("models/lab/net/versions/2").json()["state"] == "published"
    problem(client.post("models", {"namespace": "lab", "name": "new"}), 403, "not-allowed")
    problem(client.post("models/lab/other/versions", {}), 404, "not-found")
    problem(client.post("models/lab/net/move", {"name": "renamed"}), 403, "not-allowed")


def test_its_scope_still_narrows_it(api, ada, models):
    client = api(ada, ["read"], models=[models[0]])
    assert client.get("models/lab/net").status_code == 200
    problem(client.post("models/lab/net/versions", {}), 403, "not-allowed")


def test_it_can_do_no_more_than_its_user(api, ada, bob, models):
    client = api(bob, ["admin"], models=[models[0]])
    problem(client.get("models/lab/net"), 404, "not-found")
    space = Namespace.objects.get(slug="lab")
    Membership.objects.create(namespace=space, user=bob, role="reader")
    assert client.get("models/lab/net").status_code == 200
    problem(client.get("models/lab/other"), 404, "not-found")
    problem(client.post("models/lab/net/versions", {}), 403, "not-allowed")


def test_namespaces_and_models_together(api, ada, models):
    made = create(api(ada), namespaces=["ada"], models=["lab/net"])
    client = with_token(api, made.json()["token"])
    own = factories.model(ada, "own", visibility="private")
    documents.refresh(own.pk)
    assert {row["name"] for row in client.get("models").json()["items"]} == {"net", "own"}
    assert client.get("namespaces").json() == [{"slug": "ada", "role": "owner"}]
    problem(create(client), 403, "not-allowed")
    problem(client.get("tokens"), 403, "not-allowed")


def test_counts_and_facets_leave_out_what_it_does_not_reach(api, ada, models):
    for client, count in ((api(ada, models=[models[0]]), 1), (api(ada), 2), (api(), 0)):
        found = client.get("models?facets=precision").json()
        assert len(found["items"]) == count
        assert sum(value["count"] for value in found["facets"]["precision"]) == count


def test_git_and_oci_keep_to_it(api, ada, models):
    secret = factories.token(ada, ["read"], models=[models[0]])
    basic = "Basic " + base64.b64encode(f"x:{secret}".encode()).decode()
    client = api()
    client.headers["Authorization"] = basic
    refs = "/lab/{}.git/info/refs?service=git-upload-pack"
    assert client.get(refs.format("net")).status_code == 200
    assert client.get(refs.format("other")).status_code in (401, 404)
    assert client.get("/v2/lab/net/tags/list").status_code == 200
    assert client.get("/v2/lab/other/tags/list").status_code in (401, 404)


def test_its_uploads_are_its_own(api, ada, models):
    client, other = (api(ada, ["publish"], models=[model]) for model in models)
    free = api(ada)
    theirs = [free.upload(b"of the account")["Hub-Blob"], other.upload(b"of the other")["Hub-Blob"]]
    client.post("models/lab/net/versions", {})
    files = "models/lab/net/versions/2/files"
    for name, digest in zip("ab", theirs, strict=True):
        assert client.put(f"{files}/{name}", {"blob": digest}).status_code in (404, 422)
    own = client.upload(b"of the token")["Hub-Blob"]
    assert client.put(f"{files}/own.txt", {"blob": own}).status_code == 201


def test_what_a_token_may_not_be_limited_to(api, ada, bob):
    factories.model(bob, "hidden", visibility="private")
    before = AccessToken.objects.count() + 1
    client = api(ada)
    problem(create(client, models=["bob/hidden"]), 404, "not-found")
    problem(create(client, namespaces=["bob"]), 404, "not-found")
    problem(create(client, models=["nothing"]), 404, "not-found")
    assert AccessToken.objects.count() == before


def test_a_moved_model_stays_reached_and_a_deleted_one_does_not(api, ada, models):
    client = api(ada, ["write"], models=[models[0]])
    registered_models.move(
        ada, model=models[0], namespace=Namespace.objects.get(slug="ada"), name="net"
    )
    assert client.get("models/ada/net").status_code == 200
    registered_models.delete(ada, model=models[0])
    problem(client.get("models/ada/net"), 404, "not-found")


def test_the_database_keeps_limits(ada, models):
    token, _ = tokens.issue(ada, name="t", scopes=["read"], models=models[:1])
    plain, _ = tokens.issue(ada, name="t", scopes=["read"])
    changes = [
        lambda: AccessToken.objects.filter(pk=token.pk).update(is_limited=False),
        lambda: TokenLimit.objects.filter(token=token).update(model=models[1]),
        lambda: TokenLimit.objects.create(token=plain, model=models[0]),
        lambda: TokenLimit.objects.create(token=token),
    ]
    for change in changes:
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_the_page_makes_one(ada, client, models):
    client.force_login(ada)
    fields = {"name": "ci", "scopes": ["write"], "limits": "lab/net\nada", "expires_days": 30}
    page = client.post("/account/tokens", fields)
    assert page.status_code == 200
    token = AccessToken.objects.get(name="ci")
    assert (token.namespaces, token.models) == (["ada"], ["lab/net"])
    assert b"ada, lab/net" in page.content
    refused = client.post("/account/tokens", fields | {"limits": "lab/nothing"})
    assert b"lab/nothing not found" in refused.content
    assert AccessToken.objects.filter(name="ci").count() == 1


@pytest.mark.capability("xet")
@pytest.mark.parametrize("kind", ["namespace", "model"])
def test_chunks_go_to_its_model_until_it_expires(api, ada, models, kind):
    limits = {"namespace": "lab"} if kind == "namespace" else {"models": models[:1]}
    xet = Xet(api(ada, ["write"], **limits), api, model="lab/net")
    name, content = xet_samples.xorb(b"some bytes")
    assert xet.post(f"v1/xorbs/default/{name}", content).status_code == 200
    other = api(ada, ["write"], models=models[1:])
    assert other.get("/api/models/lab/net/xet-write-token/main").status_code in (401, 403, 404)
    AccessToken.objects.update(expires_at=timezone.now())
    assert xet.post(f"v1/xorbs/default/{name}", content).status_code == 401
