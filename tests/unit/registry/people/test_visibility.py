"""Who sees what: every kind of reader with every kind of model, by every door to rows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from hub.protocol import problems
from registry.catalogue import documents
from registry.catalogue import selectors as catalogue
from registry.models import Membership, Namespace, RegisteredModel, Version
from registry.people import selectors as people_selectors
from registry.people.services import tokens
from registry.versions import blob_selectors, selectors
from registry.versions.services import registered_models
from tests import factories, samples, shared

pytestmark = pytest.mark.django_db
OPEN = {"open"}
EVERY = {"open", "new", "hidden"}
# Reader -> models, versions.
SEEN = {
    "guest": (OPEN, {"open@1"}),
    "stranger": (OPEN, {"open@1"}),
    "reader": (EVERY, {"open@1", "hidden@1"}),
    "writer": (EVERY, {"open@1", "open@2", "new@1", "hidden@1", "hidden@2"}),
    "maintainer": (EVERY, {"open@1", "open@2", "new@1", "hidden@1", "hidden@2"}),
    "owner": (EVERY, {"open@1", "open@2", "new@1", "hidden@1", "hidden@2"}),
    "admin": (EVERY, {"open@1", "open@2", "new@1", "hidden@1", "hidden@2"}),
    "owner with a token of here": (EVERY, {"open@1", "open@2", "new@1", "hidden@1", "hidden@2"}),
    "owner with a token of elsewhere": (OPEN, {"open@1"}),
    "admin with a token of elsewhere": (OPEN, {"open@1"}),
}


@shared.rows
def start():
    """ada's models: published with a draft, never published, private, and deleted."""
    ada = factories.somebody("ada")
    shelf = {"open": {}, "new": {}, "hidden": {"visibility": "private"}, "gone": {}}
    for place, (name, described) in enumerate(shelf.items()):
        model = factories.model(ada, name, **described)
        if name != "new":
            factories.version(ada, model, {"model.onnx": samples.mlp(hidden=3 + place)})
        factories.draft(ada, model, {"model.onnx": samples.mlp(hidden=13 + place)})
        documents.refresh(model.pk)
    registered_models.delete(ada, model=RegisteredModel.objects.get(name="gone"))
    factories.namespace(ada, "lab")
    return ada


@pytest.fixture(params=SEEN)
def reader(request, start, db, admin):
    """A reader of a kind, and what is there to be seen."""
    ada, who = shared.fresh(start), request.param
    space, lab = Namespace.objects.get(slug="ada"), Namespace.objects.get(slug="lab")
    person = {"guest": AnonymousUser()}.get(who)
    if person is None:
        person = {"owner": ada, "admin": admin}.get(who.split()[0]) or factories.somebody("mia")
    if who in ("reader", "writer", "maintainer"):
        Membership.objects.create(namespace=space, user=person, role=who)
    if "token" in who:
        bound = space if who.endswith("here") and not who.endswith("elsewhere") else lab
        person.access_token, _ = tokens.issue(person, name="t", scopes=["admin"], namespace=bound)
    return person, *SEEN[who]


def test_models(reader):
    person, models, _ = reader
    seen = RegisteredModel.objects.visible_to(person).filter(namespace__slug="ada")
    assert {model.name for model in seen} == models
    for name in ("open", "new", "hidden", "gone"):
        if name in models:
            assert selectors.model(person, "ADA", name.upper()).name == name
        else:
            with pytest.raises(problems.NotFound):
                selectors.model(person, "ada", name)


def test_versions(reader):
    person, models, versions = reader
    seen = Version.objects.visible_to(person).filter(model__namespace__slug="ada")
    assert {version.ref.removeprefix("ada/") for version in seen} == versions
    for model in RegisteredModel.objects.filter(name__in=models):
        refs = {f"{model.name}@{row.number}" for row in selectors.versions(person, model)}
        named = {f"{model.name}@{row.number}" for row in selectors.named_versions(person, model)}
        assert refs == named == {one for one in versions if one.startswith(model.name)}


@pytest.mark.usefixtures("lists")
def test_lists(reader):
    person, models, _ = reader
    titles = {f"ada/{name}" for name in models}
    assert {row.title for row in catalogue.documents(person)} == titles
    apart = [{row.title for row in rows} for rows in catalogue.documents_apart(person)]
    assert set().union(*apart) == titles
    assert sum(map(len, apart)) == len(titles)


def test_blobs_by_their_digest(reader):
    person, _, versions = reader
    for version in Version.objects.filter(model__namespace__slug="ada"):
        sha256 = version.files.get(path="model.onnx").blob_id
        if version.ref.removeprefix("ada/") in versions:
            assert blob_selectors.readable(person, sha256).pk == sha256
        else:
            with pytest.raises(problems.NotFound):
                blob_selectors.readable(person, sha256)


def test_namespaces(reader):
    person, models, _ = reader
    seen = {space.slug for space, _ in people_selectors.namespaces_of(person)}
    assert ("ada" in seen) == (models == EVERY)
