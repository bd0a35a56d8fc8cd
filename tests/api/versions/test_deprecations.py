"""Deprecated models and versions: who does it, what protocols answer, and what stays hidden."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from registry.core import outbox
from registry.models import Deprecation, Event, RegisteredModel
from registry.versions.services import registered_models, versions
from registry.versions.services.deprecations import deprecate
from tests import factories, samples, shared
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists", "graphs")]
MODEL = "models/ada/net"
V1 = f"{MODEL}/versions/1"
FILE = "/ada/net/resolve/main/model.onnx"


@shared.rows
def start():
    """ada/net with two published versions, and ada/better."""
    ada = factories.somebody("ada")
    first = factories.published(ada)
    factories.published(ada, first.model, {"model.onnx": samples.mlp(hidden=9)})
    better = factories.published(ada, factories.model(ada, "better"))
    return first, better


@pytest.fixture
def rows(start, db):
    first, better = shared.fresh(start)
    outbox.deliver()
    return first, better


def warning(client, ref="ada/net"):
    return client.get(f"resolve?ref={ref}").json()["warning"]


def test_a_version_is_deprecated_and_no_longer(api, ada, rows):
    client, guest = api(ada), api()
    body = {"message": "Wrong\n labels", "successor": "ada/net@2"}
    answer = client.post(f"{V1}/deprecate", body).json()
    assert answer["deprecation"]["message"] == "Wrong labels"
    assert answer["deprecation"]["successor"] == "ada/net@2"
    sentence = "ada/net@1 is deprecated: Wrong labels. Use ada/net@2 instead."
    response = guest.get("resolve?ref=ada/net@1")
    assert response.json()["warning"] == sentence
    assert response["Warning"] == f'299 - "{sentence}"'
    assert response.json()["state"] == "published"
    assert warning(guest) is None
    listed = guest.get(f"{MODEL}/versions").json()["items"]
    assert [row["deprecation"] is None for row in listed] == [True, False]
    assert guest.get(MODEL).json()["deprecation"] is None
    assert client.post(f"{V1}/deprecate", {"message": "Late"}).json()["deprecation"] == {
        "message": "Late",
        "at": Deprecation.objects.get().at.isoformat().replace("+00:00", "Z"),
        "successor": "",
    }
    assert client.post(f"{V1}/undeprecate").json()["deprecation"] is None
    assert warning(guest, "ada/net@1") is None
    problem(client.post(f"{V1}/undeprecate"), 409, "state-conflict")
    verbs = Event.objects.filter(verb__contains="deprecated").order_by("pk")
    assert list(verbs.values_list("verb", "actor__username")) == [
        ("version.deprecated", "ada"),
        ("version.deprecated", "ada"),
        ("version.undeprecated", "ada"),
    ]


def test_a_model_is_deprecated_with_all_of_its_versions(api, ada, rows):
    client, guest = api(ada), api()
    tag = guest.get("resolve?ref=ada/net")["ETag"]
    answer = client.post(f"{MODEL}/deprecate", {"message": "Old.", "successor": "ada/better"})
    assert answer.json()["deprecation"]["successor"] == "ada/better"
    assert answer.json()["deprecated_at"]
    # A client that has an answer from before is warned too.
    again = guest.get("resolve?ref=ada/net", if_none_match=tag)
    assert again.json()["warning"] == "ada/net is deprecated: Old. Use ada/better instead."
    assert warning(guest, "ada/net@1") == again.json()["warning"]
    outbox.deliver()
    found = {row["name"]: row["deprecated_at"] for row in guest.get("models").json()["items"]}
    assert found["net"]
    assert found["better"] is None
    assert client.post(f"{MODEL}/undeprecate").json()["deprecated_at"] is None
    assert warning(guest) is None
    assert guest.get("resolve?ref=ada/net")["ETag"] == tag


def test_a_search_ranks_what_is_deprecated_last(api, ada, rows):
    worse, best = (
        factories.published(ada, factories.model(ada, name)) for name in ("a-deep", "z-deep")
    )
    outbox.deliver()
    names = lambda: [row["name"] for row in api().get("models?q=deep").json()["items"]]  # noqa: E731
    assert names() == ["z-deep", "a-deep"]
    deprecate(ada, best, message="Wrong labels")
    outbox.deliver()
    assert names() == ["a-deep", "z-deep"]
    deprecate(ada, worse.model, message="Old")
    assert names() == ["z-deep", "a-deep"]


@pytest.mark.parametrize(
    ("successor", "words"),
    [
        ("ada/net", "its own successor"),
        ("ada/missing", "not found"),
        ("ada/better@7", "does not name a version"),
        ("ada/better@1:default", "without the variant"),
        ("a b", "not a reference"),
        ("ada/hidden", "not found"),
        ("ada/better@2", "is draft"),
    ],
)
def test_a_successor_is_another_one_that_is_published(api, ada, rows, successor, words):
    factories.model(factories.somebody("bob"), "hidden", visibility="private")
    factories.draft(ada, rows[1].model)
    answer = api(ada).post(f"{MODEL}/deprecate", {"message": "Old", "successor": successor})
    found = problem(answer, 400, "invalid-request")
    assert found["errors"][0]["pointer"] == "/successor"
    assert words in found["detail"]
    assert not Deprecation.objects.exists()


def test_what_is_deprecated_succeeds_nothing(api, ada, rows):
    client = api(ada)
    client.post("models/ada/better/deprecate", {"message": "Old"})
    answer = client.post(f"{MODEL}/deprecate", {"message": "Old", "successor": "ada/better"})
    assert "deprecated itself" in problem(answer, 400, "invalid-request")["detail"]
    answer = client.post(f"{V1}/deprecate", {"message": "Old", "successor": "ada/net@1"})
    assert "its own successor" in problem(answer, 400, "invalid-request")["detail"]
    assert (
        client.post(f"{V1}/deprecate", {"message": "Old", "successor": "ada/net"}).status_code
        == 200
    )


def test_only_maintainers_deprecate_and_only_what_was_published(api, ada, bob, rows):
    for path in (MODEL, V1):
        for act, body in (("deprecate", {"message": "Old"}), ("undeprecate", {})):
            problem(api().post(f"{path}/{act}", body), 401, "not-authenticated")
            problem(api(bob).post(f"{path}/{act}", body), 403, "not-allowed")
            problem(api(ada, scopes=["write"]).post(f"{path}/{act}", body), 403, "not-allowed")
    factories.draft(ada, rows[0].model)
    problem(api(ada).post(f"{MODEL}/versions/3/deprecate", {"message": "x"}), 409, "state-conflict")
    for message in ("", " \n", "x" * 501):
        problem(api(ada).post(f"{V1}/deprecate", {"message": message}), 400, "invalid-request")
    assert not Deprecation.objects.exists()


@pytest.mark.capability("oci")
def test_a_private_successor_is_shown_to_its_readers_alone(api, ada, bob, rows):
    secret = factories.published(ada, factories.model(ada, "secret", visibility="private"))
    first, better = rows
    deprecate(ada, first.model, message="Old.", successor="ada/secret@1")
    deprecate(ada, first, message="Older.", successor="ada/better")
    registered_models.edit(ada, model=better.model, visibility="private")
    outbox.deliver()
    assert "ada/secret@1" in warning(api(ada))
    paths = ("resolve?ref=ada/net@1", MODEL, V1, f"{MODEL}/versions", "models", "models?q=net")
    pages = (
        "/models/ada/net/v/1",
        "/models/ada/net/versions",
        "/models",
        FILE,
        "/v2/ada/net/manifests/1",
    )
    for client in (api(), api(bob)):
        answers = [client.get(path) for path in paths]
        answers += [client.get(path, HTTP_ACCEPT="text/html") for path in pages]
        answers += [client.get("/api/models/ada/net"), client.get("/models/ada/net/v/1.ttl")]
        for answer in answers:
            assert answer.status_code == 200, answer
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content
            shown = f"{dict(answer.headers)} {content.decode(errors='replace')}"
            assert "secret" not in shown
            assert "ada/better" not in shown
        assert warning(client, "ada/net@1") == (
            "ada/net@1 is deprecated: Older. ada/net is deprecated: Old."
        )
    assert secret.model.predecessors.get().message == "Old."


@pytest.mark.capability("oci")
def test_clients_of_other_protocols_are_warned(api, ada, rows):
    sentence = "ada/net is deprecated: Old; use more. Use ada/better instead."
    untouched = api().get(FILE)
    assert "X-HF-Warning" not in untouched
    deprecate(ada, rows[0].model, message="Old; use more", successor="ada/better")
    for answer in (api().get(FILE), Client().head(FILE), api().get("/api/models/ada/net")):
        assert answer["X-HF-Warning"] == f"deprecated ada/net; {sentence}"
    card = answer.json()["cardData"]
    assert (card["deprecated"], card["new_version"]) == (sentence, "ada/better")
    assert api().get("/ada/net/resolve/main/README.md")["ETag"]
    manifest = api().get("/v2/ada/net/manifests/latest")
    assert manifest["Warning"] == f'299 - "{sentence}"'
    assert api().get(f"/v2/ada/net/manifests/{manifest['Docker-Content-Digest']}")["Warning"]
    entries = api().get("/onnx-hub/ada/net/main/ONNX_HUB_MANIFEST.json").json()
    assert [row["metadata"]["hub"]["deprecated"] for row in entries] == ["Old; use more"]


def test_deprecating_a_deleted_model_is_none(api, ada, rows):
    deprecate(ada, rows[0].model, message="Old", successor="ada/better")
    registered_models.delete(ada, model=rows[1].model)
    assert warning(api()) == "ada/net is deprecated: Old."
    registered_models.delete(ada, model=rows[0].model)
    assert api(ada).post(f"{MODEL}/undeprecate").status_code in (404, 410)


def test_a_yanked_version_says_both(api, ada, rows):
    deprecate(ada, rows[0], message="Old!", successor="ada/net@2")
    versions.yank(ada, version=rows[0], reason="Wrong")
    assert warning(api(), "ada/net@1") == (
        "ada/net@1 was yanked: Wrong ada/net@1 is deprecated: Old! Use ada/net@2 instead."
    )


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"model": "net", "version": "first"},
        {"model": "net", "message": ""},
        {"model": "net", "successor": "net"},
        {"version": "first", "successor_number": 1},
    ],
)
def test_the_database_keeps_what_a_deprecation_is(rows, columns):
    first, better = rows
    values = {"net": first.model, "first": first}
    given = {"message": "Old"} | {key: values.get(value, value) for key, value in columns.items()}
    with pytest.raises(IntegrityError), transaction.atomic():
        Deprecation.objects.create(**given)
    Deprecation.objects.create(model=first.model, message="Old", successor=better.model)
    with pytest.raises(IntegrityError), transaction.atomic():
        Deprecation.objects.create(model=first.model, message="Twice")
    assert RegisteredModel.objects.get(predecessors__message="Old") == better.model
