"""A hub at a new address: its graphs have the new names, and former addresses still mean it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from metadata import nightly
from metadata.models import Comparison, GraphReference, NamedGraph
from registry.core import outbox
from registry.models import Mention
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs", "lists")]
OLD, NEW = "http://old.example", "http://new.example:8443"
CARD = f"""---
datasets: [{OLD}/datasets/Stones]
base_model: {OLD}/models/ada/net/v/1
---
# A model
"""
PATHS = ("/models/ada/child/v/1?tab=a%20b", "/datasets/stones", "/healthz")


def filled():
    rows = NamedGraph.objects.exclude(nquads="")
    return dict(rows.values_list("iri", "nquads"))


@pytest.fixture
def child(settings, ada):
    """A model whose card names a data set and a base by their addresses at the old place."""
    settings.HUB_PUBLIC_URL = OLD
    factories.dataset(ada, "stones")
    factories.published(ada)
    model = factories.model(ada, "child")
    factories.published(ada, model, card=CARD)
    outbox.deliver()
    nightly._do(nightly.COMPARISON)
    assert Comparison.objects.get().address == OLD
    return model


@pytest.fixture
def moved(settings, child):
    settings.HUB_PUBLIC_URL = NEW
    settings.HUB_FORMER_URLS = ["http://older.example", OLD]
    settings.ALLOWED_HOSTS = ["old.example", "new.example", "testserver"]
    now = timezone.now()
    assert nightly._is_due(nightly.COMPARISON, now, now)
    nightly._do(nightly.COMPARISON)
    return child


def test_graphs_and_names_in_cards_follow_the_address(child, settings):
    before = filled()
    statements = before[f"{OLD}/models/ada/child/v/1/metadata"]
    assert f"<{OLD}/datasets/stones>" in statements
    assert f"<{OLD}/models/ada/net/v/1>" in statements
    settings.HUB_PUBLIC_URL, settings.HUB_FORMER_URLS = NEW, [OLD]
    nightly._do(nightly.COMPARISON)
    after = filled()
    assert set(after) == {iri.replace(OLD, NEW) for iri in before}
    statements = after[f"{NEW}/models/ada/child/v/1/metadata"]
    assert f"<{NEW}/datasets/stones>" in statements
    assert f"<{NEW}/models/ada/net/v/1>" in statements
    assert not [iri for iri, nquads in after.items() if f"<{OLD}/" in nquads]
    assert not GraphReference.objects.filter(iri__startswith=OLD).exists()
    assert not Mention.objects.filter(name__startswith=OLD).exists()
    assert Mention.objects.filter(name=f"{NEW}/datasets/stones").exists()


def test_without_the_former_address_a_name_means_another_hub(child, settings):
    settings.HUB_PUBLIC_URL = NEW
    nightly._do(nightly.COMPARISON)
    assert f"<{NEW}/datasets/stones>" not in filled()[f"{NEW}/models/ada/child/v/1/metadata"]


@pytest.mark.parametrize("path", PATHS)
def test_a_former_address_redirects_readers(moved, client, path):
    answer = client.get(path, headers={"Host": "old.example"})
    assert (answer.status_code, answer["Location"]) == (308, f"{NEW}{path}")
    assert answer["Vary"] == "Authorization"
    assert client.get(path, headers={"Host": "new.example:8443"}).status_code == 200


def test_a_former_address_answers_programs_with_a_token(moved, api, ada):
    answer = api(ada).get("models/ada/child", Host="old.example")
    assert (answer.status_code, answer.json()["name"]) == (200, "child")
    made = api(ada).post("models", {"namespace": "ada", "name": "more"}, Host="old.example")
    assert made.status_code == 201


def test_other_hosts_are_refused(moved, client):
    assert client.get("/", headers={"Host": "foreign.example"}).status_code == 400


@pytest.mark.capability("mirrors")
def test_a_mirror_of_a_former_address_is_one_of_itself(moved, api, admin):
    source = {"source": f"{OLD}/ada", "into": "zoo"}
    answer = api(admin).post("mirrors", source)
    assert answer.status_code == 400
    assert "cannot mirror itself" in answer.json()["detail"]
