"""What a token of scope `write` deletes and moves, how far, and how its owner undoes it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from registry.core import outbox
from registry.models import Blob, Discussion, Event, Namespace, RegisteredModel, RetiredName
from registry.storage import collector
from registry.storage.services import blobs, quotas
from registry.versions.services import deletions, registered_models
from runners.queue.services import workers
from tests import factories, samples, shared
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
DELETED = "namespaces/ada/deleted-models"


@shared.rows
def start():
    """ada/net, published."""
    ada = factories.somebody("ada")
    return factories.published(ada, contents={"model.onnx": samples.mlp(hidden=9)})


@pytest.fixture
def net(start, db):
    return shared.fresh(start).model


@pytest.fixture
def script(api, ada):
    """A client with a token of hers of scope `write`."""
    return api(ada, ["write"])


def age(model, days):
    """Have a deletion lie that many days back."""
    past = timezone.now() - timedelta(days=days)
    RegisteredModel.objects.filter(pk=model.pk).update(
        deleted_at=past, restorable_until=past + deletions.grace()
    )
    Blob.objects.update(touched_at=timezone.now() - 2 * blobs.GRACE)


@pytest.mark.capability("community")
def test_what_it_deletes_is_gone_and_can_be_restored(api, net, ada, script):
    registered_models.move(ada, model=net, namespace=net.namespace, name="lattice")
    api(ada).post("models/ada/lattice/discussions", {"title": "A question", "body": "Why?"})
    assert script.delete("models/ada/lattice?reason=leak").status_code == 204
    for path in ("models/ada/lattice", "models/ada/net"):
        assert script.get(path).status_code in {404, 410}, path
    assert api().get("models").json()["count"] == 0
    problem(script.post("models", {"namespace": "ada", "name": "lattice"}), 409, "name-retired")
    problem(script.post("models", {"namespace": "ada", "name": "net"}), 409, "name-retired")
    (row,) = api(ada).get(DELETED).json()["items"]
    assert row["model"] == "ada/lattice"
    restored = api(ada).post(f"{DELETED}/{row['id']}/restore")
    assert (restored.status_code, restored.json()["deleted_at"]) == (200, None)
    outbox.deliver()
    read = api().get("models/ada/lattice")
    assert (read.status_code, read.json()["latest"]["number"]) == (200, 1)
    assert api().get("models/ada/net").status_code == 307
    assert api().get("models").json()["count"] == 1
    assert Discussion.objects.count() == 1
    assert api().get("models/ada/lattice/versions/1/files/model.onnx").status_code == 200
    verbs = list(Event.objects.filter(verb__startswith="model.").values_list("verb", flat=True))
    assert verbs[:2] == ["model.restored", "model.deleted"]


def test_its_files_stay_and_count_until_the_time_is_up(net, ada, api, script, settings):
    used = quotas.of_namespace(net.namespace).used
    assert used > 0
    script.delete("models/ada/net")
    age(net, settings.HUB_DELETED_MODEL_DAYS - 1)
    workers.tidy()
    assert quotas.of_namespace(net.namespace).used == used
    assert not Blob.objects.filter(erased_at__isnull=False).exists()
    age(net, settings.HUB_DELETED_MODEL_DAYS + 1)
    workers.tidy()
    assert quotas.of_namespace(net.namespace).used == 0
    assert not collector.unneeded().exists()
    assert api(ada).get(DELETED).json()["items"] == []
    assert Event.objects.filter(verb="model.erased", actor=None).count() == 1
    problem(api(ada).post(f"{DELETED}/{net.pk}/restore"), 404, "not-found")


def test_only_owners_with_a_session_or_scope_admin_restore_and_erase(api, net, ada, bob, script):
    script.delete("models/ada/net")
    paths = (
        ("get", DELETED),
        ("post", f"{DELETED}/{net.pk}/restore"),
        ("delete", f"{DELETED}/{net.pk}"),
    )
    for method, path in paths:
        problem(getattr(script, method)(path), 403, "not-allowed")
        problem(getattr(api(ada, ["publish"]), method)(path), 403, "not-allowed")
        problem(getattr(api(bob), method)(path), 404, "not-found")
        problem(getattr(api(), method)(path), 404, "not-found")
    assert api(ada).delete(f"{DELETED}/{net.pk}").status_code == 204
    assert api(ada).get(DELETED).json()["items"] == []
    assert not deletions.erase_expired()


def test_a_session_or_token_of_scope_admin_deletes_at_once(api, net, ada):
    assert api(ada).delete("models/ada/net").status_code == 204
    assert api(ada).get(DELETED).json()["items"] == []
    assert RegisteredModel.objects.get().restorable_until is None


def test_roles_and_namespaces_of_tokens_hold_as_before(api, net, ada, bob):
    space = factories.namespace(ada, "lab")
    assert api(ada, ["write"], "lab").delete("models/ada/net").status_code == 403
    assert api(ada, ["read"]).delete("models/ada/net").status_code == 403
    for role in ("writer", "maintainer"):
        api(ada).put("namespaces/ada/members/bob", {"role": role})
        assert api(bob, ["write"]).delete("models/ada/net").status_code == 403
        moved = {"namespace": "bob", "name": "net"}
        assert api(bob, ["write"]).post("models/ada/net/move", moved).status_code == 403
    assert space.slug == "lab"


def test_tokens_end_few_models_in_an_hour(api, ada, script, settings, monkeypatch):
    settings.HUB_LIMITS_TOKEN_DELETIONS = 2
    for name in "abcd":
        factories.model(ada, name)
    assert script.delete("models/ada/a").status_code == 204
    assert script.post("models/ada/b/move", {"name": "e"}).status_code == 200
    # Another token of the same user counts along; a session or scope admin has no limit.
    for caller in (script, api(ada, ["write"])):
        refusal = problem(caller.delete("models/ada/c"), 429, "throttled")
        assert "2 models in an hour" in refusal["detail"]
        assert caller.post("models/ada/c/move", {"name": "f"})["Retry-After"] == "3600"
    assert api(ada).delete("models/ada/c").status_code == 204
    monkeypatch.setattr(deletions, "HOUR", timedelta(0))
    assert script.delete("models/ada/d").status_code == 204


def test_an_owner_forbids_it_for_a_namespace(api, net, ada, script):
    changed = api(ada).patch("namespaces/ada", {"allows_token_deletion": False})
    assert changed.json()["allows_token_deletion"] is False
    for answer in (
        script.delete("models/ada/net"),
        script.post("models/ada/net/move", {"name": "b"}),
    ):
        assert "scope admin" in problem(answer, 403, "not-allowed")["detail"]
    problem(script.patch("namespaces/ada", {"allows_token_deletion": True}), 403, "not-allowed")
    assert api(ada).post("models/ada/net/move", {"name": "b"}).status_code == 200


def test_a_token_cannot_take_the_old_name_of_a_model_that_it_moved(api, net, ada, script):
    """Else it could publish there, and the model could never have its name back."""
    assert script.post("models/ada/net/move", {"name": "b"}).status_code == 200
    new = {"namespace": "ada", "name": "net"}
    assert "7 days" in problem(script.post("models", new), 403, "not-allowed")["detail"]
    assert script.post("models/ada/b/move", {"name": "net"}).status_code == 200
    script.post("models/ada/net/move", {"name": "b"})
    RetiredName.objects.update(at=timezone.now() - timedelta(days=8))
    assert script.post("models", new).status_code == 201


def test_a_name_that_was_taken_meanwhile_is_named(api, ada, script):
    model = factories.model(ada, "a")
    script.delete("models/ada/a")
    factories.model(ada, "A")
    taken = api(ada).post(f"{DELETED}/{model.pk}/restore")
    assert "Move or delete" in problem(taken, 409, "name-taken")["detail"]
    assert api(ada).delete("models/ada/A").status_code == 204
    assert api(ada).post(f"{DELETED}/{model.pk}/restore").status_code == 200


@pytest.mark.usefixtures("graphs")
def test_the_page_of_the_namespace_restores_erases_and_forbids(net, ada, bob, script):
    script.delete("models/ada/net")
    hers, theirs = Client(), Client()
    hers.force_login(ada)
    theirs.force_login(bob)
    page = hers.get("/account/namespaces/ada").content.decode()
    assert "Restore net" in page
    place = f"/account/namespaces/ada/deletions/{net.pk}"
    assert theirs.post(place).status_code == 404
    assert hers.post(place)["Location"].endswith("/ada#deletions")
    assert hers.get("/models/ada/net").status_code == 200
    script.delete("models/ada/net")
    hers.post(place, {"erase": "on"})
    assert "Restore net" not in hers.get("/account/namespaces/ada").content.decode()
    assert RegisteredModel.objects.get().restorable_until is None
    hers.post("/account/namespaces/ada/deletions")
    assert "cannot delete or move" in hers.get("/account/namespaces/ada").content.decode()
    hers.post("/account/namespaces/ada/deletions", {"allow": "on"})
    assert Namespace.objects.get(slug="ada").allows_token_deletion


def test_only_what_is_deleted_can_be_restorable(net):
    with pytest.raises(IntegrityError), transaction.atomic():
        RegisteredModel.objects.update(restorable_until=timezone.now())
