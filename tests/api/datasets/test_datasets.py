"""Data sets over the API: entries that everybody reads and their namespace writes."""

from __future__ import annotations

import pytest

from registry.core import outbox
from registry.datasets import services
from registry.models import Dataset, Event
from registry.versions.services import registered_models
from tests import factories

GIVEN = {
    "namespace": "ada",
    "slug": "stones",
    "title": "Stones",
    "iri": "https://doi.org/10.1234/Stones",
    "license": "CC-BY-4.0",
    "personal_data": "no",
    "rows": 12,
    "collected_on": "2025-11-30",
}
CARD = "---\ndatasets: [{}]\n---\n# A model\n"


@pytest.fixture
def stones(ada):
    return factories.dataset(ada, "stones", iri=GIVEN["iri"])


def test_a_data_set_is_made_and_read_by_everybody(ada, api):
    made = api(ada).post("datasets", GIVEN)
    assert made.status_code == 201, made.content
    assert made["Location"].endswith("/api/v1/datasets/stones")
    read = api().get("datasets/Stones")
    assert read.status_code == 200
    assert {key: read.json()[key] for key in GIVEN} == GIVEN
    assert read.json()["used_by"] == []
    assert [row["slug"] for row in api().get("datasets?q=stone").json()["items"]] == ["stones"]
    assert api().get("datasets?q=pebble").json()["items"] == []
    event = Event.objects.get(verb="dataset.created")
    assert (event.actor, event.subject_kind, event.data) == (ada, "dataset", {"namespace": "ada"})


@pytest.mark.parametrize(
    ("changed", "status", "pointer"),
    [
        ({"slug": "Stones"}, 422, "/slug"),
        ({"slug": "new"}, 422, "/slug"),
        ({"slug": "a.ttl"}, 422, "/slug"),
        ({"iri": "javascript:alert(1)"}, 400, "/iri"),
        ({"iri": "https://user@a.example/"}, 400, "/iri"),
        ({"iri": "https://a.example/x y"}, 400, "/iri"),
        ({"title": " "}, 400, "/title"),
        ({"personal_data": "maybe"}, 400, "/personal_data"),
        ({"categories": ["Picture"]}, 400, "/categories"),
        ({"categories": ["Nonsense"], "personal_data": "yes"}, 400, "/categories/0"),
        ({"legal_basis": "Consent"}, 400, "/legal_basis"),
        ({"rows": -1}, 400, "/rows"),
        ({"rows": 2**63}, 400, "/rows"),
        ({"owner": "ada"}, 400, "/owner"),
    ],
)
def test_what_does_not_fit_is_refused_by_field_and_nothing_is_made(
    ada, api, changed, status, pointer
):
    answer = api(ada).post("datasets", GIVEN | changed)
    assert answer.status_code == status, answer.content
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
    assert not Dataset.objects.exists()
    assert not Event.objects.filter(verb__startswith="dataset.").exists()


def test_only_writers_of_the_namespace_write(ada, bob, api, stones):
    tag = api().get("datasets/stones")["ETag"]
    for caller, status in ((api(), 401), (api(bob), 403), (api(ada, scopes=("read",)), 403)):
        assert caller.post("datasets", GIVEN | {"slug": "other"}).status_code == status
        answer = caller.patch("datasets/stones", {"title": "Mine"}, If_Match=tag)
        assert answer.status_code == status
        answer = caller.post("datasets/stones/withdraw", {"reason": "No."})
        assert answer.status_code == status
    stones.refresh_from_db()
    assert (stones.title, stones.withdrawn_at) == ("stones", None)


def test_an_edit_needs_what_was_read(ada, api, stones):
    mine = api(ada)
    tag = mine.get("datasets/stones")["ETag"]
    assert mine.patch("datasets/stones", {"title": "New"}).status_code == 428
    changed = mine.patch("datasets/stones", {"personal_data": "yes"}, If_Match=tag)
    assert changed.json()["personal_data"] == "yes"
    assert mine.patch("datasets/stones", {"title": "New"}, If_Match=tag).status_code == 412
    assert Event.objects.get(verb="dataset.edited").data == {"fields": ["personal_data"]}


@pytest.mark.parametrize("changed", [{"slug": "stones"}, {"iri": "doi:10.1234/STONES"}])
def test_a_name_and_an_iri_are_given_once(ada, api, stones, changed):
    answer = api(ada).post(
        "datasets", {"namespace": "ada", "slug": "other", "title": "x"} | changed
    )
    assert answer.status_code == 409
    assert Dataset.objects.count() == 1


def test_a_withdrawn_entry_leaves_the_list_and_keeps_its_page(ada, api, stones):
    mine = api(ada)
    assert mine.post("datasets/stones/withdraw", {"reason": ""}).status_code == 400
    assert mine.post("datasets/stones/withdraw", {"reason": "Not ours."}).status_code == 200
    assert api().get("datasets").json()["items"] == []
    assert api().get("datasets/stones").json()["reason"] == "Not ours."
    assert mine.post("datasets/stones/restore", {}).json()["withdrawn_at"] is None
    assert len(api().get("datasets").json()["items"]) == 1


def test_pages_go_on_by_name(ada, api):
    for name in "bca":
        factories.dataset(ada, name)
    first = api().get("datasets?limit=2").json()
    assert [row["slug"] for row in first["items"]] == ["a", "b"]
    second = api().get(first["next"].removeprefix("http://testserver")).json()
    assert ([row["slug"] for row in second["items"]], second["next"]) == (["c"], None)


@pytest.mark.usefixtures("lists")
def test_who_uses_it_is_told_as_far_as_the_reader_may_see(ada, bob, api, stones):
    shown = factories.version(ada, card=CARD.format("doi:10.1234/stones"))
    factories.version(ada, shown.model, card=CARD.format("Stones"))
    hidden = factories.model(ada, "hidden", visibility="private")
    factories.version(ada, hidden, card=CARD.format("stones"))
    factories.draft(ada, factories.model(ada, "begun"), card=CARD.format("stones"))

    def uses(caller):
        return [row["ref"] for row in caller.get("datasets/stones").json()["used_by"]]

    assert uses(api()) == uses(api(bob)) == ["ada/net@2"]
    assert uses(api(ada)) == ["ada/hidden@1", "ada/net@2"]
    registered_models.delete(ada, model=shown.model)
    outbox.deliver()
    assert uses(api()) == []
    services.withdraw(ada, dataset=stones, reason="Gone.")
    assert uses(api()) == []
