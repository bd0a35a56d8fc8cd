"""A card that was refused is kept for its author, whatever way it came, until it is mended."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from registry.cards import refused_cards
from registry.models import Namespace, RefusedCard
from registry.people.services import namespaces
from registry.storage.services import quotas
from registry.versions.services import registered_models, versions
from tests import factories

BROKEN = "---\nlicense: [mit\ndate: 2026-13-45\n---\n# My long prose\n"
WRONG = "---\ndate: 2026-13-45\n---\n# My long prose\n"
GOOD = "---\nlicense: mit\n---\n# My long prose\n"
LIST = "models/ada/net/refused-cards"
DRAFT = "models/ada/net/versions/1"
MARKDOWN = {"content_type": "text/markdown"}


def put_card(api, text):
    return api("PUT", f"{DRAFT}/card", text, **MARKDOWN)


def put_file(api, text):
    return api.put_file(DRAFT, "README.md", text if isinstance(text, bytes) else text.encode())


def commit(api, text):
    plain = text if isinstance(text, bytes) else text.encode()
    file = {"path": "README.md", "encoding": "base64", "content": base64.b64encode(plain).decode()}
    lines = [{"key": "header", "value": {"summary": "Describe it"}}, {"key": "file", "value": file}]
    body = "\n".join(json.dumps(line) for line in lines)
    return api("POST", "/api/models/ada/net/commit/main", body, content_type="application/x-ndjson")


WAYS = {"card": put_card, "file": put_file, "commit": commit}


@pytest.fixture
def draft(ada):
    return factories.draft(ada, card="")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text", [BROKEN, WRONG, b"\xff\xfe not text"], ids=["yaml", "date", "utf8"]
)
def test_a_refused_card_is_kept_and_read_by_its_author(ada, api, draft, way, text):
    sent = text if isinstance(text, bytes) else text.encode()
    answer = WAYS[way](api(ada), sent)
    assert answer.status_code == (400 if way == "commit" else 422), answer.content
    told = answer.json()
    assert "The card is saved at http://testserver/models/ada/net/refused-cards." in str(told)
    (row,) = api(ada).get(LIST).json()["items"]
    assert (row["author"], row["size"]) == ("ada", len(sent))
    assert row["sha256"] == hashlib.sha256(sent).hexdigest()
    assert row["number"] == (None if way == "commit" else 1)
    whole = api(ada).get(f"{LIST}/{row['id']}").json()
    assert whole["text"] == sent.decode("utf-8", "replace")
    if text is not sent:
        assert any(one["severity"] == "error" for one in whole["findings"])
    assert bytes(RefusedCard.objects.get().content) == sent
    # Sent twice, it is there once.
    WAYS[way](api(ada), sent)
    assert RefusedCard.objects.count() == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_valid_card_in_its_place_deletes_it(ada, api, draft, way):
    WAYS[way](api(ada), WRONG)
    assert RefusedCard.objects.count() == 1
    assert WAYS[way](api(ada), GOOD).status_code in (200, 201)
    assert not RefusedCard.objects.exists()


def test_the_refusal_names_its_address(ada, api, draft):
    problem = put_card(api(ada), WRONG).json()
    address = problem["refused_card"].removeprefix("http://testserver")
    assert api(ada).get(address).json()["text"] == WRONG
    assert api(ada).delete(address).status_code == 204
    assert api(ada).get(address).status_code == 404


def test_only_its_author_and_maintainers_see_it(ada, bob, api, draft):
    space = draft.model.namespace
    eve = factories.somebody("eve")
    for user in (bob, eve):
        namespaces.set_member(ada, namespace=space, user=user, role="writer")
    put_card(api(bob), WRONG)
    (row,) = api(bob).get(LIST).json()["items"]
    assert api(eve).get(LIST).json()["items"] == []
    assert api(eve).get(f"{LIST}/{row['id']}").status_code == 404
    assert api(eve).delete(f"{LIST}/{row['id']}").status_code == 404
    assert [one["author"] for one in api(ada).get(LIST).json()["items"]] == ["bob"]
    namespaces.set_member(ada, namespace=space, user=eve, role="reader")
    assert api(eve).get(LIST).status_code == 403
    namespaces.set_member(ada, namespace=space, user=eve, role=None)
    assert api(eve).get(LIST).status_code == 404
    assert api().get(LIST).status_code == 404


def test_a_stranger_keeps_nothing_in_another_ones_model(ada, bob, api, draft):
    assert put_card(api(bob), WRONG).status_code == 404
    assert commit(api(bob), WRONG).status_code in (403, 404)
    assert not RefusedCard.objects.exists()


def test_ten_are_kept_of_an_author(ada, api, draft):
    for number in range(refused_cards.MOST_CARDS + 2):
        put_card(api(ada), f"{WRONG}{number}")
    texts = [refused_cards.text(row) for row in RefusedCard.objects.all()]
    assert texts == [f"{WRONG}{number}" for number in range(refused_cards.MOST_CARDS + 1, 1, -1)]


def test_they_count_towards_the_quota_and_need_room(ada, api, draft):
    space = Namespace.objects.get(slug="ada")
    before = quotas.of_namespace(space).used
    put_card(api(ada), WRONG)
    used = quotas.of_namespace(space)
    assert used.used == before + len(WRONG)
    Namespace.objects.filter(pk=space.pk).update(quota_bytes=used.used + used.reserved)
    answer = put_card(api(ada), f"{WRONG} and more")
    assert answer.status_code == 422
    assert "refused_card" not in answer.json()
    assert RefusedCard.objects.count() == 1


def test_what_is_larger_than_any_card_is_not_kept(ada, api, draft):
    answer = put_file(api(ada), WRONG + "x" * 1_000_000)
    assert answer.status_code == 422
    assert not RefusedCard.objects.exists()


def test_the_pages_show_it_and_lead_back_to_the_editor(ada, bob, api, client, draft):
    client.force_login(ada)
    address = reverse("draft-card", args=["ada", "net", 1])
    page = client.post(address, {"card": WRONG, "do": "save"})
    assert page.status_code == 422
    row = RefusedCard.objects.get()
    shown = client.get("/models/ada/net/refused-cards").content.decode()
    assert "My long prose" in shown
    assert "2026-13-45 is no such date" in shown
    link = f"?refused={row.pk}"
    assert link in shown
    draft_page = reverse("draft", args=["ada", "net", 1])
    assert "1 refused card" in client.get(draft_page).content.decode()
    editor = client.get(f"{draft_page}{link}").content.decode()
    assert "My long prose" in editor
    assert "Not saved yet." in editor
    assert client.post("/models/ada/net/refused-cards", {"card": "x"}).status_code == 400
    assert client.post("/models/ada/net/refused-cards", {"card": row.pk}).status_code == 302
    assert not RefusedCard.objects.exists()
    client.force_login(bob)
    assert client.get("/models/ada/net/refused-cards").status_code == 404


@pytest.mark.usefixtures("lists")
def test_it_outlives_its_draft_and_not_its_model(ada, api, draft):
    put_card(api(ada), WRONG)
    versions.delete_draft(ada, version=draft)
    assert api(ada).get(LIST).json()["items"][0]["number"] is None
    registered_models.delete(ada, model=draft.model)
    assert not RefusedCard.objects.exists()


def test_a_model_without_a_version_says_that_a_card_waits(ada, api, client):
    factories.model(ada)
    commit(api(ada), WRONG)
    client.force_login(ada)
    assert "1 refused card" in client.get("/models/ada/net").content.decode()


def test_a_form_with_files_keeps_a_refused_card(ada, client, draft):
    client.force_login(ada)
    sent = SimpleUploadedFile("README.md", WRONG.encode())
    client.post(reverse("draft-add", args=["ada", "net", 1]), {"file": sent})
    assert refused_cards.text(RefusedCard.objects.get()) == WRONG


@pytest.mark.parametrize(
    "changed", [{"size": 0}, {"size": 1_000_001}, {"sha256": "x"}, {"detail": ""}, "twice"]
)
def test_the_database_refuses(ada, draft, changed):
    row = {
        "model": draft.model,
        "author": ada,
        "content": b"x",
        "size": 1,
        "sha256": "0" * 64,
        "detail": "Wrong.",
        "sent_at": timezone.now(),
    }
    if changed == "twice":
        RefusedCard.objects.create(**row)
    else:
        row |= changed
    with pytest.raises(IntegrityError), transaction.atomic():
        RefusedCard.objects.create(**row)
