"""Every user has a namespace of their own name, administrators as well."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from registry.models import Membership, User
from registry.people import selectors
from tests import factories

pytestmark = pytest.mark.django_db


def owned(username):
    rows = Membership.objects.filter(user__username=username, role="owner")
    return sorted(rows.filter(namespace__kind="user").values_list("namespace__slug", flat=True))


def add_superuser(username, monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a long enough password")
    call_command("createsuperuser", username=username, email="", interactive=False, verbosity=0)


def test_the_first_administrator_has_one():
    factories.admin()
    assert owned("admin") == ["admin"]


def test_createsuperuser_opens_one(monkeypatch):
    add_superuser("chief", monkeypatch)
    assert User.objects.get(username="chief").is_superuser
    assert owned("chief") == ["chief"]


@pytest.mark.parametrize("username", ["models", "LAB", "a+b"])
def test_createsuperuser_adds_nobody_whose_namespace_cannot_be(monkeypatch, username):
    factories.namespace(factories.somebody("ada"), "lab")
    with pytest.raises(CommandError, match="No administrator was added"):
        add_superuser(username, monkeypatch)
    assert not User.objects.filter(username=username).exists()


def test_the_hubs_own_namespace_comes_first_then_ones_own():
    admin = factories.admin()
    for slug in ("alpha", "zulu"):
        factories.namespace(admin, slug)
    slugs = [one.slug for one in selectors.publishing_namespaces(admin)]
    assert slugs == ["zoo", "admin", "alpha", "zulu"]
