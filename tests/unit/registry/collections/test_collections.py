"""Collections: who changes them, what their readers see, and what the database itself refuses."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, connection, transaction

from hub.protocol import problems
from registry.community.collections import selectors, services
from registry.models import (
    Collection,
    CollectionEntry,
    Event,
    Membership,
    Namespace,
    RegisteredModel,
)
from registry.models.collections import LONGEST_DESCRIPTION, LONGEST_NOTE, MOST_ENTRIES
from registry.versions.services import registered_models
from tests import factories
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
GUEST = AnonymousUser()


@rows
def start():
    """Ada's public models a, b, c and her private one, Bob a writer of the organisation lab."""
    ada, bob = factories.user("ada"), factories.user("bob")
    lab = factories.namespace(ada)
    Membership.objects.create(namespace=lab, user=bob, role="writer")
    models = []
    for name in "abc":
        model = factories.model(ada, name)
        factories.version(ada, model)
        models.append(model)
    private = factories.model(ada, "secret", visibility="private")
    collection = services.create(ada, namespace=lab, slug="small", title="Small models")
    return ada, bob, collection, private, *models


@pytest.fixture
def hub(start):
    return fresh(start)


def names(actor, collection):
    return [entry.model.name for entry in selectors.entries(actor, collection)]


def fill(actor, collection, *models):
    for model in models:
        services.add(actor, collection=collection, model=model)


def test_models_are_in_the_order_in_which_they_were_added_with_their_notes(hub):
    ada, bob, collection, _, a, b, _ = hub
    services.add(ada, collection=collection, model=b, note="  Fast  ")
    services.add(bob, collection=collection, model=a)
    assert names(GUEST, collection) == ["b", "a"]
    assert [entry.note for entry in selectors.entries(GUEST, collection)] == ["Fast", ""]
    with pytest.raises(problems.StateConflict, match="already contains ada/a"):
        services.add(ada, collection=collection, model=a)
    services.annotate(bob, collection=collection, model=a, note="Small")
    assert [entry.note for entry in selectors.entries(GUEST, collection)] == ["Fast", "Small"]
    services.remove(bob, collection=collection, model=b)
    assert names(GUEST, collection) == ["a"]
    with pytest.raises(problems.NotFound, match="does not contain ada/b"):
        services.remove(bob, collection=collection, model=b)


def test_models_that_are_named_come_first_and_the_others_follow_in_their_order(hub):
    ada, _, collection, _, a, b, c = hub
    fill(ada, collection, a, b, c)
    services.annotate(ada, collection=collection, model=c, note="Best")
    before = {row.model_id: row.added_at for row in CollectionEntry.objects.all()}
    services.reorder(ada, collection=collection, first=[c])
    assert names(GUEST, collection) == ["c", "a", "b"]
    services.reorder(ada, collection=collection, first=[b, a, c])
    assert names(GUEST, collection) == ["b", "a", "c"]
    assert {row.model_id: row.added_at for row in CollectionEntry.objects.all()} == before
    assert selectors.entry(ada, collection, c).note == "Best"
    with pytest.raises(problems.InvalidRequest, match="Name each model once"):
        services.reorder(ada, collection=collection, first=[a, a])
    services.remove(ada, collection=collection, model=a)
    with pytest.raises(problems.NotFound):
        services.reorder(ada, collection=collection, first=[a])
    assert names(GUEST, collection) == ["b", "c"]


def test_a_model_that_one_does_not_see_keeps_its_place_when_others_change(hub):
    ada, bob, collection, private, a, b, c = hub
    fill(ada, collection, a, private, b, c)
    services.reorder(bob, collection=collection, first=[c, b])
    assert names(bob, collection) == ["c", "b", "a"]
    assert names(ada, collection) == ["c", "secret", "b", "a"]


def test_a_hidden_model_is_in_no_list_and_no_count_of_its_readers(hub):
    ada, bob, collection, private, a, *_ = hub
    fill(ada, collection, private, a)
    for reader, seen, count in ((GUEST, ["a"], 1), (bob, ["a"], 1), (ada, ["secret", "a"], 2)):
        assert names(reader, collection) == seen
        assert [row.model_count for row in selectors.collections(reader)] == [count]
    assert selectors.unavailable(GUEST, collection) is None
    assert selectors.unavailable(bob, collection) == 1
    assert selectors.unavailable(ada, collection) == 0
    for change in (services.remove, services.annotate):
        fields = {"note": ""} if change is services.annotate else {}
        with pytest.raises(problems.NotFound):
            change(bob, collection=collection, model=private, **fields)
    assert names(ada, collection) == ["secret", "a"]


def test_a_change_of_a_hidden_model_leaves_the_date_that_readers_see(hub):
    ada, _, collection, private, a, *_ = hub
    before = collection.updated_at
    services.add(ada, collection=collection, model=private, note="Soon")
    services.annotate(ada, collection=collection, model=private, note="Later")
    services.remove(ada, collection=collection, model=private)
    assert fresh(collection).updated_at == before
    services.add(ada, collection=collection, model=a)
    assert fresh(collection).updated_at > before


def test_writers_remove_what_is_not_available_to_them_without_learning_what_it_was(hub):
    ada, bob, collection, private, a, *_ = hub
    fill(ada, collection, private, a)
    assert services.remove_unavailable(bob, collection=collection) == 1
    assert names(ada, collection) == ["a"]
    assert services.remove_unavailable(bob, collection=collection) == 0


def test_a_private_collection_is_for_members_alone(hub):
    ada, bob, collection, _, a, *_ = hub
    carl = factories.user("carl")
    services.add(ada, collection=collection, model=a)
    services.edit(ada, collection=collection, visibility="private")
    for reader in (GUEST, carl):
        assert not selectors.collections(reader).exists()
        assert not selectors.collections(reader, model=a).exists()
        with pytest.raises(problems.NotFound):
            selectors.collection(reader, "lab", "small")
    for member in (ada, bob):
        assert selectors.collection(member, "LAB", "Small") == collection
        assert [row.ref for row in selectors.collections(member, model=a)] == ["lab/small"]
    Membership.objects.filter(user=bob).update(role="reader")
    assert selectors.collection(bob, "lab", "small") == collection
    assert selectors.unavailable(bob, collection) is None


@pytest.mark.parametrize(
    ("role", "may_edit", "may_delete"),
    [
        (None, False, False),
        ("reader", False, False),
        ("writer", True, False),
        ("maintainer", True, True),
        ("owner", True, True),
    ],
)
def test_writers_edit_and_maintainers_delete(hub, role, may_edit, may_delete):
    ada, _, collection, _, a, b, _ = hub
    services.add(ada, collection=collection, model=b)
    user = factories.user("carl")
    if role:
        Membership.objects.create(namespace=collection.namespace, user=user, role=role)
    changes = [
        (services.create, {"namespace": collection.namespace, "slug": "more"}),
        (services.edit, {"collection": collection, "title": "Changed"}),
        (services.add, {"collection": collection, "model": a}),
        (services.annotate, {"collection": collection, "model": b, "note": "Changed"}),
        (services.reorder, {"collection": collection, "first": [b]}),
        (services.remove, {"collection": collection, "model": b}),
        (services.remove_unavailable, {"collection": collection}),
    ]
    before = Event.objects.count()
    for change, fields in changes:
        if may_edit:
            change(user, **fields)
        else:
            with pytest.raises(problems.NotAllowed):
                change(user, **fields)
            with pytest.raises(problems.NotAuthenticated):
                change(GUEST, **fields)
    if not may_edit:
        assert (fresh(collection).title, names(GUEST, collection)) == ("Small models", ["b"])
        assert Event.objects.count() == before
    if may_delete:
        services.delete(user, collection=collection)
        assert not Collection.objects.filter(pk=collection.pk).exists()
        assert RegisteredModel.objects.visible_to(GUEST).count() == 3
    else:
        with pytest.raises(problems.NotAllowed):
            services.delete(user, collection=collection)
        assert Collection.objects.filter(pk=collection.pk).exists()


@pytest.mark.usefixtures("lists")
def test_a_model_stays_in_its_collections_when_it_moves_and_leaves_when_it_is_deleted(hub):
    ada, bob, collection, _, a, b, _ = hub
    fill(ada, collection, a, b)
    registered_models.move(ada, model=a, namespace=collection.namespace, name="renamed")
    assert [row.model.ref for row in selectors.entries(GUEST, collection)] == [
        "lab/renamed", "ada/b",
    ]  # fmt: skip
    registered_models.delete(ada, model=RegisteredModel.objects.get(name="b"))
    for reader in (GUEST, bob, ada):
        assert names(reader, collection) == ["renamed"]
        assert selectors.collections(reader).get().model_count == 1
    assert selectors.unavailable(ada, collection) == 0


def test_a_model_made_private_leaves_and_made_public_comes_back(hub):
    ada, bob, collection, _, a, b, _ = hub
    fill(ada, collection, a, b)
    registered_models.edit(ada, model=a, visibility="private")
    assert names(bob, collection) == ["b"]
    assert names(ada, collection) == ["a", "b"]
    registered_models.edit(ada, model=a, visibility="public")
    assert names(GUEST, collection) == ["a", "b"]


def full(ada, collection):
    """Fill a collection to its limit with models that nobody but Ada sees."""
    space = Namespace.objects.get(slug="ada")
    models = RegisteredModel.objects.bulk_create(
        RegisteredModel(namespace=space, name=f"m{number}", visibility="private")
        for number in range(MOST_ENTRIES)
    )
    CollectionEntry.objects.bulk_create(
        CollectionEntry(collection=collection, model=model, position=position)
        for position, model in enumerate(models)
    )
    return models


@pytest.mark.usefixtures("lists")
def test_a_full_collection_takes_a_model_once_another_leaves(hub):
    ada, bob, collection, _, a, b, _ = hub
    models = full(ada, collection)
    with pytest.raises(problems.StateConflict, match="at most 200 models"):
        services.add(ada, collection=collection, model=a)
    assert selectors.unavailable(bob, collection) == MOST_ENTRIES
    services.remove(ada, collection=collection, model=models[3])
    services.add(ada, collection=collection, model=a)
    assert collection.entries.count() == MOST_ENTRIES
    assert names(ada, collection)[2:4] == ["m2", "m4"]
    assert names(ada, collection)[-1] == "a"
    registered_models.delete(ada, model=models[0])
    services.add(ada, collection=collection, model=b)
    assert names(ada, collection)[-2:] == ["a", "b"]
    assert not collection.entries.filter(model=models[0]).exists()


def test_the_database_itself_refuses_what_a_collection_cannot_be(hub):
    ada, _, collection, _, a, b, _ = hub
    services.add(ada, collection=collection, model=a)
    entry = collection.entries.get()
    refusals = [
        lambda: Collection.objects.create(
            namespace=collection.namespace, slug="small", title="Again"
        ),
        lambda: Collection.objects.create(
            namespace=collection.namespace, slug="Not.A.Slug", title="Name"
        ),
        lambda: Collection.objects.filter(pk=collection.pk).update(title=""),
        lambda: Collection.objects.filter(pk=collection.pk).update(visibility="secret"),
        lambda: Collection.objects.filter(pk=collection.pk).update(
            description="x" * (LONGEST_DESCRIPTION + 1)
        ),
        lambda: collection.entries.create(model=a, position=1),
        lambda: collection.entries.create(model=b, position=entry.position),
        lambda: collection.entries.create(model=b, position=MOST_ENTRIES),
    ]
    if connection.vendor == "sqlite":  # PostgreSQL refuses it as too long for its column
        refusals.append(lambda: collection.entries.update(note="x" * (LONGEST_NOTE + 1)))
    for refusal in refusals:
        with pytest.raises(IntegrityError), transaction.atomic():
            refusal()
    assert [row.model_id for row in CollectionEntry.objects.all()] == [a.pk]


def test_what_is_wrong_is_named_and_changes_nothing(hub):
    ada, _, collection, _, a, *_ = hub
    space = collection.namespace
    with pytest.raises(problems.InvalidName):
        services.create(ada, namespace=space, slug="Small Models")
    with pytest.raises(problems.NameTaken):
        services.create(ada, namespace=space, slug="small")
    with pytest.raises(problems.InvalidRequest, match="at most 500 characters"):
        services.add(ada, collection=collection, model=a, note="x" * (LONGEST_NOTE + 1))
    assert [(row.slug, row.title) for row in Collection.objects.all()] == [
        ("small", "Small models")
    ]
    assert not CollectionEntry.objects.exists()


def test_every_change_is_an_event(hub):
    ada, _, collection, _, a, *_ = hub
    begin = Event.objects.order_by("-pk").first().pk
    services.add(ada, collection=collection, model=a)
    services.annotate(ada, collection=collection, model=a, note="Good")
    services.reorder(ada, collection=collection, first=[a])
    services.remove(ada, collection=collection, model=a)
    services.edit(ada, collection=collection, title="Renamed")
    services.delete(ada, collection=collection)
    events = Event.objects.filter(pk__gt=begin).order_by("pk")
    assert [(row.verb, row.actor_id, row.model_id) for row in events] == [
        (f"collection.{verb}", ada.pk, None)
        for verb in (
            "entry-added", "entry-edited", "reordered", "entry-removed", "edited", "deleted",
        )
    ]  # fmt: skip
