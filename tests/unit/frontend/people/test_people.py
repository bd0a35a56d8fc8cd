"""Namespaces, members and accounts as pages: without scripts, and only for who may."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import authenticate
from django.test import Client

from registry.models import Membership, Namespace, User
from runners.engine.reports import Finding
from runners.queue import services
from tests import factories

pytestmark = pytest.mark.django_db
ACCOUNTS = "/administration/accounts"


@pytest.fixture
def owner(ada):
    factories.namespace(ada, "lab")
    return _signed(ada)


@pytest.fixture
def chief(admin):
    return _signed(admin)


def _signed(user):
    client = Client()
    client.force_login(user)
    return client


def test_an_owner_gives_and_takes_a_role(owner, bob):
    given = owner.post("/account/namespaces/lab", {"username": "bob", "role": "writer"})
    assert given["Location"] == "/account/namespaces/lab"
    page = owner.get("/account/namespaces/lab").content.decode()
    assert "bob now has the role writer." in page
    assert (
        "Remove bob from lab?" in owner.get("/account/namespaces/lab/members/bob").content.decode()
    )
    assert Membership.objects.filter(namespace__slug="lab", user=bob).exists()
    owner.post("/account/namespaces/lab/members/bob")
    assert not Membership.objects.filter(namespace__slug="lab", user=bob).exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"username": "eve", "role": "writer"}, "User eve not found"),
        ({"username": "ada", "role": "reader"}, "have no owner"),
        ({"username": "", "role": "writer"}, "required"),
    ],
)
def test_what_cannot_be_given_is_told_at_its_field(owner, given, words):
    answer = owner.post("/account/namespaces/lab", given)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert Membership.objects.get(namespace__slug="lab").role == "owner"


def test_the_last_owner_is_told_and_stays(owner):
    page = owner.post("/account/namespaces/lab/members/ada", follow=True).content.decode()
    assert "have no owner" in page
    assert Membership.objects.filter(namespace__slug="lab").count() == 1


def test_strangers_find_no_namespace_and_members_no_forms(owner, bob):
    theirs = _signed(bob)
    for path in ("/account/namespaces/lab", "/account/namespaces/lab/members/ada"):
        assert theirs.get(path).status_code == 404
    owner.post("/account/namespaces/lab", {"username": "bob", "role": "reader"})
    page = theirs.get("/account/namespaces/lab").content.decode()
    assert "Add member" not in page
    assert "Quota" not in page
    refused = theirs.post("/account/namespaces/lab", {"username": "bob", "role": "owner"})
    assert refused.status_code == 403
    assert Membership.objects.get(user=bob, namespace__slug="lab").role == "reader"


def test_a_namespace_is_made(owner):
    made = owner.post("/account/namespaces/new", {"slug": "works", "display_name": "The Works"})
    assert made["Location"] == "/account/namespaces/works"
    assert "The Works" in owner.get("/account/namespaces/works").content.decode()
    for slug, words in (
        ("works", "already exists"),
        ("jobs", "an address of the hub"),
        ("-", ""),
    ):
        again = owner.post("/account/namespaces/new", {"slug": slug})
        assert again.status_code == 422
        assert words in again.content.decode()


def test_an_administrator_changes_a_quota(owner, chief):
    assert owner.post("/account/namespaces/lab/quota", {"megabytes": "1"}).status_code == 403
    chief.post("/account/namespaces/lab/quota", {"megabytes": "5"})
    assert Namespace.objects.get(slug="lab").quota_bytes == 5_000_000
    assert "0 B used of 5 MB" in owner.get("/account/namespaces/lab").content.decode().replace(
        "\u202f", " "
    )
    assert chief.post("/account/namespaces/lab/quota", {"megabytes": "-1"}).status_code == 422
    chief.post("/account/namespaces/lab/quota", {"megabytes": ""})
    assert Namespace.objects.get(slug="lab").quota_bytes is None


def test_an_account_is_made_renewed_closed_and_opened(chief):
    page = chief.post(ACCOUNTS, {"username": "eve", "email": ""}).content.decode()
    first = _secret(page)
    assert authenticate(username="eve", password=first)
    assert first not in chief.get(ACCOUNTS).content.decode()
    assert "already exists" in chief.post(ACCOUNTS, {"username": "eve"}).content.decode()
    second = _secret(chief.post(f"{ACCOUNTS}/eve/password").content.decode())
    assert authenticate(username="eve", password=first) is None
    chief.post(f"{ACCOUNTS}/eve/close")
    assert authenticate(username="eve", password=second) is None
    chief.post(f"{ACCOUNTS}/eve/close", {"open": "1"})
    assert authenticate(username="eve", password=second)
    assert "No accounts match this name" in chief.get(f"{ACCOUNTS}?q=nobody").content.decode()
    assert "eve" in chief.get(f"{ACCOUNTS}?q=EV").content.decode()


def test_administration_is_the_administrators(owner, chief, guest):
    for path in (
        "/administration",
        ACCOUNTS,
        f"{ACCOUNTS}/ada/close",
    ):
        assert owner.get(path).status_code == 403
        assert guest.get(path)["Location"] == f"/login?next={path}"
        assert chief.get(path).status_code == 200
    assert owner.post(ACCOUNTS, {"username": "eve"}).status_code == 403
    assert not User.objects.filter(username="eve").exists()


def test_a_failed_job_is_listed_with_its_finding(chief, ada):
    services.enqueue(kind="describe", version=factories.version(ada))
    job = services.claim("w", ["cpu"], host="h")
    finding = Finding("conformance-not-run", "warning", "The model does not run.")
    assert services.finish(job, factories.report("describe", "failed", [finding]))
    assert "The model does not run." in chief.get("/administration").content.decode()


def _secret(page):
    return re.search(r"<code[^>]*>([\w-]{16})</code>", page)[1]
