"""Deleted models: their addresses say what stood there, and what came from them stays true."""

from __future__ import annotations

import pytest

from registry.versions.services import registered_models, versions
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
REASON = "The licence of the data does not allow it."


@pytest.fixture
def family(ada, bob):
    """A model with a licence and data, and another user's model that comes from it."""
    card = "---\nlicense: mit\ndatasets: [people]\npersonal_data: 'yes'\n---\n# Secret recipe\n"
    root = factories.published(ada, factories.model(ada, "root"), card=card)
    base = "---\nbase_model: http://testserver/models/ada/root/v/1\n---\n# Another\n"
    heir = factories.published(bob, factories.model(bob, "heir"), card=base)
    factories.work()
    return root, heir


def delete(ada, version, **options):
    registered_models.delete(ada, model=version.model, **options)
    factories.work()


ADDRESSES = (
    "/models/ada/root",
    "/models/ada/root/v/1",
    "models/ada/root",
    "models/ada/root/versions",
)


def test_addresses_of_a_deleted_model_name_time_user_and_reason(api, ada, family):
    delete(ada, family[0], reason=REASON)
    for address in ADDRESSES:
        response = api().get(address)
        assert response.status_code == 410, address
        assert REASON in response.content.decode(), address
    problem = api().get("models/ada/root").json()
    assert problem["type"].endswith("/problems/deleted")
    assert (problem["deleted_by"], problem["reason"]) == ("ada", REASON)
    assert problem["deleted_at"]


@pytest.mark.parametrize("path", ["/models/ada/root", "/models/ada/root/v/1"])
def test_its_graphs_are_tombstones(client, ada, family, path):
    delete(ada, family[0], reason=REASON)
    asked = [client.get(path, headers={"accept": "text/turtle"}), client.get(f"{path}.ttl")]
    for response in asked:
        text = response.content.decode()
        assert response.status_code == 410
        assert response["Content-Type"].startswith("text/turtle")
        assert "prov:wasInvalidatedBy" in text
        assert REASON in text
        assert "dcterms:license" in text
        assert "Secret recipe" not in text


def test_what_comes_from_it_still_says_so_with_a_mark(api, client, ada, family):
    delete(ada, family[0], reason=REASON)
    graph = client.get("/models/bob/heir/v/1.ttl").content.decode()
    assert "http://testserver/models/ada/root/v/1" in graph
    page = client.get("/models/bob/heir/v/1", follow=True).content.decode()
    assert f"which was deleted: {REASON}" in page
    heirs = api().get("models?derived_from=ada/root").json()["items"]
    assert [row["ref"] for row in heirs] == ["bob/heir"]
    listed = {row["ref"] for row in api().get("models").json()["items"]}
    assert listed == {"bob/heir"}


def test_what_nobody_could_see_leaves_nothing(api, client, ada, family):
    registered_models.edit(ada, model=family[0].model, visibility="private")
    family[0].model.refresh_from_db()
    delete(ada, family[0], reason=REASON)
    for address in ADDRESSES:
        assert api().get(address).status_code == 404
        assert api(ada).get(address).status_code == 404
    assert client.get("/models/ada/root.ttl").status_code == 404


def test_a_deletion_may_leave_no_tombstone(api, client, ada, family):
    answer = api(ada).delete(f"models/ada/root?tombstone=false&reason={REASON}")
    assert answer.status_code == 204
    factories.work()
    assert api().get("models/ada/root").status_code == 404
    assert client.get("/models/ada/root.ttl").status_code == 404
    assert "ada/root/v/1" not in client.get("/models/ada/root/v/1.ttl").content.decode()


def test_a_withdrawn_version_answers_with_its_tombstone(client, ada, family):
    versions.withdraw(ada, version=family[0], reason=REASON, breaks_dependents=True)
    factories.work()
    response = client.get("/models/ada/root/v/1.ttl")
    assert response.status_code == 410
    assert "prov:wasInvalidatedBy" in response.content.decode()
    assert client.get("/models/ada/root/v/1").status_code == 410
