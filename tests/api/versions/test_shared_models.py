"""A private model that is shared with one user: everything of it for them, nothing for others."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from registry.catalogue import facets, search, selectors
from registry.catalogue.query import Query
from registry.core import outbox
from registry.models import AccessRequest, Event, RegisteredModel, Version
from registry.versions.services import access, registered_models
from runners.models import Job
from tests import factories, samples, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
ACCESS = "/models/ada/secret/access"
GRANT = "models/ada/secret/access/requests/bob"
MANIFEST = "/onnx-hub/ada/secret/main/ONNX_HUB_MANIFEST.json"
ADDRESSES = (
    "/api/v1/models/ada/secret",
    "/api/v1/models/ada/secret/versions",
    "/api/v1/models/ada/secret/versions/1",
    "/api/v1/models/ada/secret/versions/1/files/model.onnx",
    "/api/v1/models/ada/secret/access",
    "/api/v1/resolve?ref=ada/secret",
    "/api/v1/blobs/{blob}",
    "/api/v1/jobs/{job}",
    "/api/models/ada/secret",
    "/api/models/ada/secret/tree/main",
    "/ada/secret/resolve/main/model.onnx",
    "/ada/secret/resolve/{commit}/model.onnx",
    "/models/ada/secret",
    "/models/ada/secret/v/1/files",
    "/models/ada/secret/v/1/files/model.onnx",
    ACCESS,
)
# Addresses of capabilities that a hub may leave out.
OF_GIT = "/ada/secret.git/info/refs?service=git-upload-pack"
OF_OCI = "/v2/ada/secret/manifests/1"
OF_ONNX_HUB = "/onnx-hub/media/ada/secret/main/ada/secret@1/model.onnx"


@shared.rows
def start():
    """ada/secret, private and published, beside a public model of hers."""
    ada = factories.somebody("ada")
    factories.version(ada, factories.model(ada, "open"))
    model = factories.model(ada, "secret", visibility="private")
    card = factories.CARD.replace("digits, tiny", "digits, hush")
    version = factories.published(ada, model, {"model.onnx": samples.mlp(hidden=6)}, card=card)
    outbox.deliver()
    return version


@pytest.fixture
def secret(start, db):
    return shared.fresh(start)


def status_of(answer):
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer.status_code


def statuses(user, version, *addresses):
    """The status of each address for a session of a user, or for a guest."""
    caller = Client()
    if user:
        caller.force_login(user)
    names = {
        "blob": version.files.get(path="model.onnx").blob_id,
        "commit": version.commit_id,
        "job": Job.objects.filter(version=version)[0].uuid,
    }
    return {path: status_of(caller.get(path.format(**names))) for path in addresses}


def titles(user, **query):
    return sorted(row.title for row in search.find(user, Query.of(**query)).items)


def test_a_grant_opens_the_model_everywhere_and_its_end_closes_it(api, secret, ada, bob):
    assert statuses(bob, secret, *ADDRESSES) == dict.fromkeys(ADDRESSES, 404)
    assert api(ada).put(GRANT, {"status": "accepted"}).json()["covers_private"] is True
    assert statuses(bob, secret, *ADDRESSES) == dict.fromkeys(ADDRESSES, 200)
    for outsider in (factories.user("eve"), None):
        assert not {200, 302, 403} & set(statuses(outsider, secret, *ADDRESSES).values())
    assert api(ada).put(GRANT, {"status": "rejected"}).json()["covers_private"] is False
    assert statuses(bob, secret, *ADDRESSES) == dict.fromkeys(ADDRESSES, 404)


@pytest.mark.capability("git")
@pytest.mark.capability("oci")
@pytest.mark.capability("onnx_hub")
def test_every_protocol_serves_it_to_the_user_alone(api, secret, ada, bob):
    eve = factories.user("eve")
    addresses = (OF_GIT, OF_OCI, OF_ONNX_HUB)

    def answers(user):
        caller = api(user, ["read"])
        return [status_of(caller.get(path)) for path in addresses]

    def loadable(user):
        answer = api(user, ["read"]).get(MANIFEST)
        return answer.status_code == 200

    assert answers(bob) == answers(eve) == [404, 404, 404]
    access.grant(ada, model=secret.model, username="bob")
    assert (answers(bob), loadable(bob)) == ([200, 200, 200], True)
    assert (answers(eve), loadable(eve)) == ([404, 404, 404], False)
    api(bob).delete("models/ada/secret/access")
    assert (answers(bob), loadable(bob)) == ([404, 404, 404], False)


def test_lists_search_and_counts_of_the_user_alone_have_it(api, secret, ada, bob):
    eve = factories.user("eve")
    access.grant(ada, model=secret.model, username="bob")
    everything = ["ada/open", "ada/secret"]
    for sort in ("updated", "name", "downloads"):
        assert titles(bob, sort=sort) == everything
        assert titles(eve, sort=sort) == ["ada/open"]
    assert titles(bob, text="secret") == ["ada/secret"]
    assert titles(bob, tags=("hush",)) == ["ada/secret"]
    assert titles(eve, text="secret") == titles(eve, tags=("hush",)) == []
    assert [facets.totals(user)["models"] for user in (ada, bob, eve)] == [2, 2, 1]
    assert selectors.documents(bob).count() == 2
    for caller, count in ((api(bob), 2), (api(eve), 1), (api(), 1)):
        assert caller.get("models").json()["count"] == count
        assert len(caller.get("/api/models").json()) == count
    for user, is_listed in ((bob, True), (eve, False)):
        browser = Client()
        browser.force_login(user)
        assert ("/models/ada/secret" in browser.get("/models").content.decode()) is is_listed
    assert Version.objects.visible_to(bob).filter(model=secret.model).count() == 1


def test_a_member_who_has_a_grant_too_sees_it_once(secret, ada):
    access.grant(ada, model=secret.model, username="ada")
    assert titles(ada, sort="updated") == ["ada/open", "ada/secret"]
    assert facets.totals(ada)["models"] == 2


def test_a_grant_is_for_reading_released_versions(api, secret, ada, bob):
    access.grant(ada, model=secret.model, username="bob")
    draft = factories.draft(ada, secret.model)
    assert api(bob).get(f"models/ada/secret/versions/{draft.number}").status_code == 404
    writes = (
        ("delete", "models/ada/secret", None),
        ("post", "models/ada/secret/versions", {}),
        ("put", "models/ada/secret/access/requests/eve", {"status": "accepted"}),
        ("get", "models/ada/secret/access/requests", None),
    )
    for method, path, body in writes:
        arguments = [] if body is None else [body]
        assert getattr(api(bob), method)(path, *arguments).status_code == 403, path


def test_tokens_of_another_namespace_carry_no_grant(api, secret, ada, bob):
    access.grant(ada, model=secret.model, username="bob")
    factories.namespace(bob, "lab")
    assert api(bob, ["read"]).get("models/ada/secret").status_code == 200
    bound = api(bob, ["admin"], "lab")
    assert bound.get("models/ada/secret").status_code == 404
    assert bound.get("models?q=secret").json()["items"] == []


def test_hidden_and_missing_cost_an_outsider_the_same(api, secret, ada, bob):
    access.grant(ada, model=secret.model, username="bob")
    caller = api(factories.user("eve"))
    for path in ("models/ada/{}", "/api/models/ada/{}", "/ada/{}/resolve/main/model.onnx"):
        answers, counts = [], []
        for name in ("secret", "nothing"):
            caller.get(path.format(name))
            with CaptureQueriesContext(connection) as queries:
                answer = caller.get(path.format(name))
            counts.append(len(queries))
            answers.append(answer.content.decode().replace(name, "…").partition("instance")[0])
        assert answers[0] == answers[1], path
        assert counts[0] == counts[1], path


def test_access_to_files_alone_does_not_reveal_a_model_made_private_later(api, secret, ada, bob):
    """Who asked for files, or got them from the gate, is not who a private model is shared with."""
    model = secret.model
    carl = factories.user("carl")
    registered_models.edit(ada, model=model, visibility="public", gate="auto")
    access.ask(bob, model=model)
    registered_models.edit(ada, model=model, gate="manual")
    access.ask(carl, model=model)
    access.decide(ada, model=model, username="carl", status="accepted")
    registered_models.edit(ada, model=model, visibility="private")
    assert [row.covers_private for row in AccessRequest.objects.all()] == [False, False]
    for user in (bob, carl):
        assert api(user).get("models/ada/secret").status_code == 404
    # A maintainer who accepts them now knows that the model is private.
    access.decide(ada, model=model, username="carl", status="accepted")
    access.grant(ada, model=model, username="bob")
    for user in (bob, carl):
        assert api(user).get("models/ada/secret").status_code == 200
        assert api(user).get("models/ada/secret/versions/1/files/model.onnx").status_code == 200


def test_the_log_names_the_user_of_each_decision(secret, ada, bob):
    for status in ("rejected", "accepted", "pending"):
        access.grant(ada, model=secret.model, username="bob")
        access.decide(ada, model=secret.model, username="bob", status=status)
    access.grant(ada, model=secret.model, username="bob")
    access.withdraw(bob, model=secret.model)
    rows = Event.objects.filter(verb__startswith="access.").order_by("pk")
    assert {(row.data["user"], row.model_id) for row in rows} == {("bob", secret.model_id)}
    assert [row.verb.removeprefix("access.") for row in rows] == [
        "granted", "rejected", "granted", "cancelled", "granted", "withdrawn",
    ]  # fmt: skip


def test_the_page_lists_who_has_it_and_takes_it_back(secret, ada, bob):
    hers, theirs = Client(), Client()
    hers.force_login(ada)
    theirs.force_login(bob)
    assert theirs.get(ACCESS).status_code == 404
    hers.post(f"{ACCESS}/grant", {"user": "bob"})
    page = hers.get(ACCESS).content.decode()
    assert "This model is private" in page
    assert "also while the model is private" in page
    assert "bob" in page
    own = theirs.get(ACCESS).content.decode()
    assert "Give up access" in own
    assert "Grant access to a user" not in own
    hers.post(f"{ACCESS}/decide", {"user": "bob", "status": "pending"})
    assert theirs.get("/models/ada/secret").status_code == 404
    hers.post(f"{ACCESS}/grant", {"user": "bob"})
    # Who gives up access to a private model sees its pages no more.
    assert theirs.post(f"{ACCESS}/withdraw")["Location"] == "/models"
    assert theirs.get(ACCESS).status_code == 404


def test_grants_move_and_end_with_the_model(api, secret, ada, bob):
    access.grant(ada, model=secret.model, username="bob")
    lab = factories.namespace(ada, "lab")
    moved = registered_models.move(ada, model=secret.model, namespace=lab, name="secret")
    assert api(bob).get("models/lab/secret").status_code == 200
    registered_models.delete(ada, model=moved)
    assert api(bob).get("models/lab/secret").status_code == 404
    assert RegisteredModel.objects.visible_to(bob).filter(pk=moved.pk).count() == 0
