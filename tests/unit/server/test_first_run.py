"""What a new hub begins with: data sets of its own, before the models that name them."""

from __future__ import annotations

import pytest

from hub.server import first_run, samples
from registry.cards import resolution
from registry.datasets import services
from registry.models import Dataset, DatasetVersion, Namespace, RegisteredModel, Version
from registry.storage.files import store

pytestmark = pytest.mark.django_db


@pytest.fixture
def zoo(admin):
    return Namespace.objects.get(slug="zoo")


def test_data_sets_are_published_and_the_cards_of_the_models_name_them(zoo):
    first_run.plant()
    for sample in samples.DATA_SETS:
        entry = Dataset.objects.get(slug=sample.slug)
        assert (entry.namespace, entry.iri, entry.license) == (zoo, sample.iri, "CC-BY-4.0")
        version = entry.versions.get()
        kept = {file.path: store().read(file.blob_id, 10**6) for file in version.files.all()}
        wanted = {path: file.read_bytes() for path, file in samples.dataset_files(sample).items()}
        assert kept == wanted
        assert [split.name for split in version.typed_splits] == ["test"]
    digits = RegisteredModel.objects.get(namespace=zoo, name="digits-cnn")
    named = Version.objects.get(model=digits).typed_card.datasets[0].names
    assert {one.slug for one in resolution.datasets_of(digits, named).values()} == {"digits"}


def test_a_second_start_publishes_nothing_again(zoo):
    first_run.plant()
    before = DatasetVersion.objects.count()
    first_run.plant()
    assert (DatasetVersion.objects.count(), before) == (3, 3)


def test_data_that_somebody_described_already_are_theirs(zoo, ada):
    own = Namespace.objects.get(slug="ada")
    services.create(ada, namespace=own, slug="wine", title="My cellar")
    iri = samples.DATA_SETS[0].iri
    services.create(ada, namespace=own, slug="pen-digits", iri=iri.upper())
    first_run.plant()
    published = DatasetVersion.objects.values_list("dataset__slug", flat=True)
    assert set(published) == {"breast-cancer"}
