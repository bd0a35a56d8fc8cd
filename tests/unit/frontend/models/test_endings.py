"""Ending versions and models, and describing them, on pages without scripts."""

from __future__ import annotations

import pytest
from django.test import Client

from registry.core import outbox
from registry.models import Membership, RegisteredModel, SearchDocument, Version
from registry.versions.services import refs
from tests import factories, shared
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db
VERSION = "/models/ada/net/v/1"
SETTINGS = "/models/ada/net/settings"


@shared.rows
def start():
    ada = factories.somebody("ada")
    return factories.version(ada, factories.model(ada, summary="A small net."))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def member(user, of, role):
    Membership.objects.create(namespace=of.model.namespace, user=user, role=role)
    browser = Reader()
    browser.force_login(user)
    return browser


def state():
    return Version.objects.values_list("state", "reason").get()


def test_yank_and_restore_ask_once_and_name_the_version(reader, version):
    html = reader.page("/models/ada/net/versions")
    assert f'href="{VERSION}/yank"' in html
    assert f'href="{VERSION}/withdraw"' in html
    assert f'href="{VERSION}/restore"' not in html
    asked = reader.page(f"{VERSION}/yank")
    assert "<h1>Yank ada/net@1?</h1>" in asked
    assert "still get its files" in asked
    assert state() == ("published", "")
    empty = reader.post(f"{VERSION}/yank", {"reason": " "})
    assert empty.status_code == 422
    assert 'class="errorlist"' in empty.content.decode()
    assert state() == ("published", "")
    done = reader.post(f"{VERSION}/yank", {"reason": "Wrong labels."})
    assert done["Location"] == "/models/ada/net/versions"
    assert state() == ("yanked", "Wrong labels.")
    html = reader.page("/models/ada/net/versions")
    assert "ada/net@1 is yanked." in html
    assert f'href="{VERSION}/yank"' not in html
    assert "<h1>Restore ada/net@1?</h1>" in reader.page(f"{VERSION}/restore")
    assert reader.post(f"{VERSION}/restore").status_code == 302
    assert state() == ("published", "")


def test_withdraw_says_that_it_is_for_ever(reader, version):
    asked = reader.page(f"{VERSION}/withdraw")
    assert "This cannot be undone" in asked
    assert reader.post(f"{VERSION}/withdraw", {"reason": "Somebody asked."}).status_code == 302
    assert state() == ("withdrawn", "Somebody asked.")
    for act in ("yank", "restore", "withdraw"):
        assert reader.get(f"{VERSION}/{act}").status_code == 409
        assert reader.post(f"{VERSION}/{act}", {"reason": "x"}).status_code == 409
    assert state() == ("withdrawn", "Somebody asked.")


def test_roles_decide(guest, bob, version):
    assert guest.get(f"{VERSION}/yank")["Location"].startswith("/login")
    browser = member(bob, version, "maintainer")
    html = browser.page("/models/ada/net/versions")
    assert f'href="{VERSION}/yank"' in html
    assert f'href="{VERSION}/withdraw"' not in html
    for path in (f"{VERSION}/withdraw", "/models/ada/net/delete"):
        assert browser.get(path).status_code == 403
        assert browser.post(path, {"reason": "x"}).status_code == 403
    assert "Only owners of ada can delete this model." in browser.page(SETTINGS)
    Membership.objects.filter(user=bob).update(role="writer")
    assert "/yank" not in browser.page("/models/ada/net/versions")
    assert browser.post(f"{VERSION}/yank", {"reason": "x"}).status_code == 403
    assert state() == ("published", "")
    assert RegisteredModel.objects.get().deleted_at is None


def test_other_sites_end_nothing(ada, version):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ada)
    for path in (f"{VERSION}/yank", f"{VERSION}/withdraw", "/models/ada/net/delete"):
        assert browser.post(path, {"reason": "x"}).status_code == 403
    assert state() == ("published", "")
    assert RegisteredModel.objects.get().deleted_at is None


@pytest.mark.usefixtures("lists")
def test_a_model_is_deleted_by_its_name(reader, guest, version):
    assert 'href="/models/ada/net/delete"' in reader.page(SETTINGS)
    asked = reader.page("/models/ada/net/delete")
    assert "<h1>Delete ada/net?</h1>" in asked
    assert "1 version and all files" in asked
    assert "The name stays reserved permanently" in asked
    assert reader.post("/models/ada/net/delete")["Location"] == "/models"
    assert "ada/net is deleted." in reader.page("/models")
    guest.page("/models/ada/net", 404)
    guest.page(VERSION, 404)


@pytest.mark.usefixtures("lists")
def test_a_model_is_described_on_its_settings(reader, ada):
    factories.version(ada, card="")
    told = {
        "form": "describe",
        "license": "mit",
        "task": "text-generation",
        "summary": "It writes.",
        "keywords": "prose,  small ,prose",
    }
    assert reader.post(SETTINGS, told)["Location"] == SETTINGS
    outbox.deliver()
    model = RegisteredModel.objects.get()
    assert (model.license, model.task, model.summary) == ("mit", "text-generation", "It writes.")
    assert model.keywords == ["prose", "small"]
    assert (model.visibility, model.gate) == ("public", "open")
    assert SearchDocument.objects.get().license == "mit"
    html = reader.page(SETTINGS)
    assert 'value="prose, small"' in html
    wrong = reader.post(SETTINGS, told | {"keywords": "x" * 65, "summary": "Keep me"})
    assert wrong.status_code == 422
    assert "up to 64 characters" in wrong.content.decode()
    assert "Keep me" in wrong.content.decode()
    assert RegisteredModel.objects.get().summary == "It writes."


def test_a_task_of_no_list_is_kept(reader, ada):
    factories.version(ada, factories.model(ada, task="guess-the-weather"), card="")
    told = {"form": "describe", "task": "guess-the-weather", "summary": "It guesses."}
    assert reader.post(SETTINGS, told).status_code == 302
    assert RegisteredModel.objects.get().task == "guess-the-weather"
    assert reader.post(SETTINGS, told | {"task": "no such"}).status_code == 422


@pytest.mark.parametrize("act", ["yank", "withdraw"])
def test_an_end_names_what_depends_on_the_version(reader, version, ada, act):
    refs.put(ada, model=version.model, name="champion", kind="alias", number=1)
    html = reader.page(f"{VERSION}/{act}")
    assert "<li>alias champion</li>" in html
    assert '<input type="hidden" name="breaks_dependents" value="on">' in html
    refused = reader.post(f"{VERSION}/{act}", {"reason": "Wrong labels."})
    assert refused.status_code == 422
    assert "These depend on ada/net@1: alias champion." in refused.content.decode()
    agreed = {"reason": "Wrong labels.", "breaks_dependents": "on"}
    assert reader.post(f"{VERSION}/{act}", agreed).status_code == 302
    assert state()[0] == {"yank": "yanked", "withdraw": "withdrawn"}[act]


def test_the_page_of_versions_shows_names_and_moves(reader, version, ada):
    refs.put(ada, model=version.model, name="1.0", kind="tag", number=1)
    refs.put(
        ada, model=version.model, name="champion", kind="alias", number=1, message="<b>Best</b>"
    )
    html = reader.page("/models/ada/net/versions")
    for words in ("alias champion", "tag 1.0", "branch main"):
        assert f'<span class="tag">{words}</span>' in html
    assert '<h2 id="aliases">Moves of aliases</h2>' in html
    assert "&lt;b&gt;Best&lt;/b&gt;" in html
    assert "<b>Best</b>" not in html
