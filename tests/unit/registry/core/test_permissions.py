"""Who may do what: every action with every role and every scope, written down a second time."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from hub.protocol import problems
from registry.core import permissions
from registry.models import AccessToken, Membership, Namespace, RegisteredModel, Version
from registry.people.services import tokens
from registry.storage.services import uploads
from registry.versions.services import commits
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db

ROLES = ["reader", "writer", "maintainer", "owner"]
SCOPES = ["read", "write", "publish", "admin"]
# The lowest role and the lowest scope; whoever changes the product's table changes this one too.
LOWEST = {
    "model.read": ("reader", "read"),
    "model.create": ("writer", "write"),
    "model.edit": ("maintainer", "write"),
    "access.decide": ("maintainer", "write"),
    "model.delete": ("owner", "write"),
    "model.move": ("owner", "write"),
    "model.restore": ("owner", "admin"),
    "version.draft": ("writer", "write"),
    "version.edit": ("writer", "write"),
    "version.submit": ("writer", "write"),
    "version.publish": ("maintainer", "publish"),
    "version.yank": ("maintainer", "publish"),
    "version.deprecate": ("maintainer", "publish"),
    "version.derive": ("maintainer", "write"),
    "version.withdraw": ("owner", "publish"),
    "tag.create": ("writer", "write"),
    "ref.move": ("maintainer", "publish"),
    "job.cancel": ("writer", "write"),
    "dataset.create": ("writer", "write"),
    "dataset.edit": ("writer", "write"),
    "dataset.withdraw": ("maintainer", "publish"),
    "collection.edit": ("writer", "write"),
    "collection.delete": ("maintainer", "write"),
    "discussion.moderate": ("writer", "write"),
    "training.manage": ("maintainer", "write"),
    "namespace.read": ("reader", "read"),
    "namespace.edit": ("owner", "admin"),
    "member.edit": ("owner", "admin"),
    "mirror.edit": ("owner", "admin"),
    "webhook.edit": ("owner", "admin"),
}


def member(space, role):
    person = factories.somebody("mia")
    Membership.objects.create(namespace=space, user=person, role=role)
    return person


def allowed(actor, space):
    return {action for action in LOWEST if permissions.can(actor, action, space)}


def with_token(user, scope, namespace=None):
    user.access_token, _ = tokens.issue(user, name="t", scopes=[scope], namespace=namespace)
    return user


def test_every_action_is_here():
    assert set(permissions.ACTIONS) == set(LOWEST)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_it_is_for(ada, role):
    space = Namespace.objects.get(slug="ada")
    ranks = {name: place for place, name in enumerate(ROLES)}
    lowest = {action for action, (need, _) in LOWEST.items() if ranks[role] >= ranks[need]}
    assert allowed(member(space, role), space) == lowest


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_narrows_its_user(ada, scope):
    space = Namespace.objects.get(slug="ada")
    ranks = {name: place for place, name in enumerate(SCOPES)}
    lowest = {action for action, (_, need) in LOWEST.items() if ranks[scope] >= ranks[need]}
    assert allowed(with_token(ada, scope), space) == lowest


def test_strangers_and_guests_may_do_nothing(ada, bob):
    space = Namespace.objects.get(slug="ada")
    assert allowed(bob, space) == allowed(AnonymousUser(), space) == set()
    with pytest.raises(problems.NotAuthenticated):
        permissions.require(AnonymousUser(), "model.read", space)
    with pytest.raises(problems.NotAllowed):
        permissions.require(bob, "model.read", space)


def test_an_administrator_owns_every_namespace(ada, admin):
    space = Namespace.objects.get(slug="ada")
    assert allowed(admin, space) == set(LOWEST)
    assert allowed(with_token(admin, "admin"), space) == set(LOWEST)


@pytest.mark.parametrize("scope", SCOPES[:-1])
def test_a_narrow_token_of_an_administrator_is_nobodys_elsewhere(ada, admin, scope):
    space = Namespace.objects.get(slug="ada")
    factories.model(ada, visibility="private")
    assert RegisteredModel.objects.visible_to(admin).count() == 1
    person = with_token(admin, scope)
    assert allowed(person, space) == set()
    assert not RegisteredModel.objects.visible_to(person).exists()


@pytest.mark.parametrize("who", ["ada", "admin"])
def test_a_bound_token_is_of_its_namespace_alone(ada, bob, admin, who):
    own, other = Namespace.objects.get(slug="ada"), Namespace.objects.get(slug="bob")
    Membership.objects.create(namespace=other, user=ada, role="owner")
    person = with_token({"ada": ada, "admin": admin}[who], "admin", own)
    assert allowed(person, own) == (set(LOWEST) if who == "ada" else set())
    assert allowed(person, other) == set()
    with pytest.raises(problems.NotAllowed):
        permissions.require_admin(person)


@pytest.mark.parametrize("scope", SCOPES)
def test_administration_takes_an_administrator_and_the_widest_scope(ada, admin, scope):
    for person in (ada, with_token(admin, scope)):
        if person == admin and scope == "admin":
            assert permissions.require_admin(person) == admin
            continue
        with pytest.raises(problems.NotAllowed):
            permissions.require_admin(person)


@pytest.mark.parametrize("role", ROLES)
def test_owners_alone_withdraw(api, ada, role):
    version = factories.version(ada)
    mia = member(version.model.namespace, role)
    answer = api(mia).post("models/ada/net/versions/1/withdraw", {"reason": "consent"})
    version.refresh_from_db()
    if role == "owner":
        assert (answer.status_code, version.state) == (200, Version.State.WITHDRAWN)
    else:
        problem(answer, 403, "not-allowed")
        assert version.state == Version.State.PUBLISHED


def test_a_commit_needs_a_writer_whoever_calls_the_service(ada):
    model = factories.model(ada)
    sha256 = uploads.take(ada, model=model, content=b"a").sha256
    add = commits.Add("a.txt", sha256, is_own=True)
    for person in (member(model.namespace, "reader"), with_token(ada, "read")):
        with pytest.raises(problems.NotAllowed):
            commits.make(person, model=model, branch="main", message="", changes=[add])
    assert not Version.objects.exists()


def test_a_token_is_bound_to_a_namespace_of_its_users(api, ada, bob):
    before = AccessToken.objects.count() + 1
    asked = {"name": "t", "scopes": ["read"], "namespace": "bob"}
    problem(api(ada).post("tokens", asked), 404, "not-found")
    assert AccessToken.objects.count() == before


def test_no_token_makes_one_that_may_do_more(api, ada):
    for scope in ("read", "write", "publish"):
        narrow = api(ada, [scope])
        before = AccessToken.objects.count()
        problem(narrow.post("tokens", {"name": "t", "scopes": ["read"]}), 403, "not-allowed")
        assert AccessToken.objects.count() == before
