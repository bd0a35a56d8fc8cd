"""What names in cards mean: nobody's entry becomes what another's card says, unless confirmed."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from metadata.models import NamedGraph
from metadata.store import maintenance
from registry.catalogue import search
from registry.catalogue.query import Query
from registry.core import outbox
from registry.datasets import selectors, services
from registry.models import NameConfirmation
from registry.people.services import namespaces
from registry.versions.services import registered_models
from tests import factories, shared

pytestmark = pytest.mark.usefixtures("lists")

HOME = "http://testserver"
NET = f"{HOME}/models/ada/net/v/1"
ENTRY = f"{HOME}/datasets/faces"
CARD = """---
datasets: [faces]
base_model: meta/llama
model-index:
- results:
  - dataset: {type: faces, name: Faces}
    metrics: [{type: accuracy, value: 0.9}]
---
# A model
"""
NAMES = "models/ada/net/names"


def net():
    return NamedGraph.objects.get(iri=f"{NET}/metadata").nquads


def personal(status):
    from django.contrib.auth.models import AnonymousUser

    rows = search.find(AnonymousUser(), Query.of(personal_data=(status,)))
    return [row.title for row in rows.items]


@shared.rows
def start():
    """Ada's model, whose card names data that nobody described; then Bob registers that name."""
    version = factories.published(factories.somebody("ada"), card=CARD)
    bob = factories.somebody("bob")
    factories.dataset(bob, "faces", personal_data="yes", license="cc-by-nc-4.0", title="Bobs Faces")
    outbox.deliver()
    return version


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def test_a_strangers_entry_says_nothing_of_anothers_model(published, ada, client, graphs):
    assert ENTRY not in net()
    assert f"<{NET}#data-faces>" in net()
    assert personal("yes") == []
    assert personal("unknown") == ["ada/net"]
    for page in ("/models/ada/net/v/1", "/models/ada/net/v/1/provenance"):
        assert "/datasets/faces" not in client.get(page).content.decode()
    entry = selectors.dataset("faces")
    assert selectors.uses(ada, entry) == []
    assert selectors.use_counts(ada, [entry]) == {}
    assert "ada/net" not in client.get("/datasets/faces").content.decode()


def test_nor_does_one_with_the_data_sets_own_iri(ada, bob, graphs):
    card = CARD.replace("[faces]", "[https://doi.org/10.1234/faces]")
    factories.published(ada, card=card)
    factories.dataset(bob, "other", personal_data="yes", iri="doi:10.1234/faces")
    outbox.deliver()
    assert f"{HOME}/datasets/" not in net()
    assert "specializationOf> <https://doi.org/10.1234/faces>" in net()
    assert personal("yes") == []


@pytest.mark.parametrize("written", ["faces", f"{HOME}/datasets/Faces", "doi:10.1234/FACES"])
def test_an_entry_of_the_own_namespace_or_by_its_address_is_meant(ada, written, graphs):
    factories.dataset(ada, "faces", personal_data="yes", iri="https://doi.org/10.1234/faces")
    factories.published(ada, card=CARD.replace("[faces]", f"['{written}']"))
    assert f"trainedOn> <{ENTRY}>" in net()
    assert personal("yes") == ["ada/net"]
    entry = selectors.dataset("faces")
    assert [one.ref for one in selectors.uses(ada, entry)] == ["ada/net@1"]
    assert selectors.use_counts(ada, [entry]) == {entry.pk: 1}


def test_an_address_names_an_entry_of_another(ada, bob, graphs):
    factories.dataset(bob, "faces", personal_data="yes")
    factories.published(ada, card=CARD.replace("[faces]", f"['{ENTRY}']"))
    assert f"trainedOn> <{ENTRY}>" in net()
    assert personal("yes") == ["ada/net"]


def test_a_maintainer_confirms_and_withdraws(published, ada, bob, api, graphs):
    told = api(ada).get(NAMES).json()["items"]
    assert {
        "kind": "dataset",
        "name": "faces",
        "by": "",
        "target": "",
        "suggestions": ["faces"],
    } in told
    answer = api(ada).put(NAMES, {"kind": "dataset", "name": "Faces", "target": "faces"})
    assert answer.status_code == 200, answer.content
    (one,) = [row for row in answer.json()["items"] if row["name"] == "faces"]
    assert (one["by"], one["target"], one["suggestions"]) == ("confirmation", "faces", [])
    outbox.deliver()
    assert f"trainedOn> <{ENTRY}>" in net()
    assert f"evaluationDataset> <{ENTRY}>" in net()
    assert personal("yes") == ["ada/net"]
    entry = selectors.dataset("faces")
    assert [row.ref for row in selectors.uses(bob, entry)] == ["ada/net@1"]
    assert selectors.use_counts(bob, [entry]) == {entry.pk: 1}
    # Of a model of another namespace the same name still means nothing.
    assert NameConfirmation.objects.get().confirmed_by == ada
    services.edit(bob, dataset=entry, personal_data="no")
    outbox.deliver()
    assert personal("no") == ["ada/net"]
    assert api(ada).delete(f"{NAMES}?kind=dataset&name=faces").status_code == 204
    outbox.deliver()
    assert ENTRY not in net()
    assert personal("no") == []
    assert api(ada).delete(f"{NAMES}?kind=dataset&name=faces").status_code == 404


def test_only_maintainers_of_the_model_see_and_confirm(published, ada, bob, api):
    sent = {"kind": "dataset", "name": "faces", "target": "faces"}
    assert api(bob).get(NAMES).status_code == 403
    assert api(bob).put(NAMES, sent).status_code == 403
    assert api().get(NAMES).status_code == 401
    space = published.model.namespace
    for role, status in (("reader", 403), ("writer", 403), ("maintainer", 200)):
        namespaces.set_member(ada, namespace=space, user=bob, role=role)
        assert api(bob).put(NAMES, sent).status_code == status, role
        assert NameConfirmation.objects.exists() is (status == 200), role
    assert api(bob, scopes=["read"]).put(NAMES, sent).status_code == 403
    registered_models.edit(ada, model=published.model, visibility="private")
    namespaces.set_member(ada, namespace=space, user=bob, role=None)
    assert api(bob).get(NAMES).status_code == 404


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({"kind": "dataset", "name": "other", "target": "faces"}, 422, "No card of ada/net names"),
        ({"kind": "dataset", "name": "faces", "target": "none"}, 404, "Data set none not found"),
        (
            {"kind": "model", "name": "meta/llama", "target": "bob/none"},
            404,
            "Model bob/none not found",
        ),
        ({"kind": "model", "name": "meta/llama", "target": "ada/net"}, 422, "own base model"),
        ({"kind": "thing", "name": "faces", "target": "faces"}, 422, "thing"),
    ],
)
def test_what_cannot_be_confirmed_says_why(published, ada, api, sent, status, said):
    answer = api(ada).put(NAMES, sent)
    assert answer.status_code in {status, 400 if status == 422 else status}
    assert said in answer.content.decode()
    assert not NameConfirmation.objects.exists()


def test_a_suggestion_reveals_no_private_model(ada, bob, api, graphs):
    factories.published(ada, card=CARD.replace("meta/llama", "bob/secret"))
    hidden = factories.published(bob, factories.model(bob, "secret", visibility="private"))
    (one,) = [row for row in api(ada).get(NAMES).json()["items"] if row["kind"] == "model"]
    assert one == {
        "kind": "model", "name": "bob/secret", "by": "", "target": "", "suggestions": []
    }  # fmt: skip
    sent = {"kind": "model", "name": "bob/secret", "target": "bob/secret"}
    missing = {**sent, "target": "bob/nothing"}
    refused, same = api(ada).put(NAMES, sent), api(ada).put(NAMES, missing)
    assert (refused.status_code, same.status_code) == (404, 404)
    # And the graph is what it would be without it: the name is one of Hugging Face's.
    assert "wasDerivedFrom> <https://huggingface.co/bob/secret>" in net()
    registered_models.edit(bob, model=hidden.model, visibility="public")
    (one,) = [row for row in api(ada).get(NAMES).json()["items"] if row["kind"] == "model"]
    assert one["suggestions"] == ["bob/secret"]


def test_a_model_that_takes_the_name_of_a_base_changes_no_lineage(ada, bob, admin, graphs):
    """Bob makes a namespace called after an organisation that older cards name."""
    factories.published(ada, card=CARD)
    derived = "<http://www.w3.org/ns/prov#wasDerivedFrom> <https://huggingface.co/meta/llama>"
    assert derived in net()
    factories.namespace(bob, "meta")
    factories.published(bob, factories.model(bob, "llama", slug="meta"))
    outbox.deliver()
    assert derived in net()
    assert f"{HOME}/models/meta" not in net()


def test_a_base_that_may_be_one_here_is_asked_for(ada, bob, api, graphs):
    base = factories.published(bob, factories.model(bob, "root"))
    factories.published(ada, card=CARD.replace("meta/llama", "bob/root"))
    assert "wasDerivedFrom" not in net()
    assert '"bob/root"' in net()
    (one,) = [row for row in api(ada).get(NAMES).json()["items"] if row["kind"] == "model"]
    assert one["suggestions"] == ["bob/root"]
    api(ada).put(NAMES, {"kind": "model", "name": "bob/root", "target": "bob/root"})
    outbox.deliver()
    assert f"wasDerivedFrom> <{HOME}/models/bob/root/v/1>" in net()
    registered_models.edit(bob, model=base.model, visibility="private")
    outbox.deliver()
    assert "wasDerivedFrom" not in net()


def test_an_entry_is_not_the_same_as_a_thing_of_the_hub(ada, bob, api, graphs):
    factories.published(ada)
    sent = {"namespace": "bob", "slug": "evil", "iri": f"{HOME}/models/ada/net/v/1"}
    answer = api(bob).post("datasets", sent)
    assert answer.status_code in (400, 422)
    assert "not an address of this hub" in answer.content.decode()
    # A row of before is not told either.
    entry = factories.dataset(bob, "old")
    type(entry).objects.filter(pk=entry.pk).update(iri=sent["iri"])
    maintenance.refresh_dataset(entry.pk)
    nquads = NamedGraph.objects.get(iri=f"{HOME}/datasets/old/metadata").nquads
    assert "sameAs" not in nquads


def test_a_move_to_another_namespace_changes_no_meaning(ada, bob, graphs):
    lab = factories.namespace(ada, "lab")
    factories.dataset(ada, "faces", personal_data="yes")
    root = factories.published(ada, factories.model(ada, "root"))
    version = factories.published(ada, card=CARD.replace("meta/llama", "ada/root"))
    registered_models.move(ada, model=version.model, namespace=lab, name="net")
    outbox.deliver()
    nquads = NamedGraph.objects.get(iri=f"{HOME}/models/lab/net/v/1/metadata").nquads
    assert f"trainedOn> <{ENTRY}>" in nquads
    assert f"wasDerivedFrom> <{HOME}/models/ada/root/v/{root.number}>" in nquads
    assert personal("yes") == ["lab/net"]


def test_the_settings_page_confirms(published, ada, client, graphs):
    client.force_login(ada)
    page = client.get("/models/ada/net/settings").content.decode()
    assert "Link to faces" in page
    sent = {"form": "names", "name": "dataset:faces", "target": "faces"}
    assert client.post("/models/ada/net/settings", sent).status_code == 302
    page = client.get("/models/ada/net/settings").content.decode()
    assert "Unlink" in page
    assert 'href="/datasets/faces"' in client.get("/models/ada/net/v/1").content.decode()
    sent.pop("target")
    assert client.post("/models/ada/net/settings", sent).status_code == 302
    assert not NameConfirmation.objects.exists()
    assert client.post("/models/ada/net/settings", {**sent, "name": "x"}).status_code == 302


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "model"},
        {"dataset": None},
        {"name": ""},
        {"name": "Faces"},
        {"kind": "thing"},
        "twice",
        "itself",
    ],
)
def test_the_database_refuses(published, ada, changed):
    entry = selectors.dataset("faces")
    row = {"model": published.model, "kind": "dataset", "name": "faces", "dataset": entry}
    row["confirmed_by"] = ada
    if changed == "twice":
        NameConfirmation.objects.create(**row)
    elif changed == "itself":
        row |= {"kind": "model", "dataset": None, "base": published.model}
    else:
        row |= changed
    with pytest.raises(IntegrityError), transaction.atomic():
        NameConfirmation.objects.create(**row)
