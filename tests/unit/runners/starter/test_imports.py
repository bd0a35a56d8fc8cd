"""Imports of starter models with real pip, a real sandbox, and a package of the test's own."""

from __future__ import annotations

import pytest
import yaml

from hub.protocol import problems
from hub.protocol.vocabularies import TASKS
from hub.server import first_run
from registry.cards import cards
from registry.datasets import services as datasets
from registry.models import Blob, DatasetVersion, Version
from registry.storage.files import store
from registry.storage.services import uploads
from registry.versions.services import registered_models
from runners.engine.starter.recipes import Recipe
from runners.evaluations import scheduling
from runners.models import Job
from runners.queue import order
from runners.starter import fetching, imports, manifest, selectors
from runners.starter.selectors import StarterState
from tests import factories, wheels
from tests.unit.runners.starter.conftest import ARCHIVE

pytestmark = [pytest.mark.capability("starter"), pytest.mark.django_db]


@pytest.fixture
def chief(db):
    return factories.admin()


def state(chief):
    return selectors.starter_model(chief, "tiny-net")


def content(version, path):
    with store().open(version.files.get(path=path).blob_id) as reader:
        return reader.read()


def test_a_model_is_fetched_taken_out_and_submitted(chief, tiny, work):
    assert state(chief).state == StarterState.ABSENT
    job = imports.request(chief, model=tiny)
    assert state(chief).state == StarterState.QUEUED
    assert work(job).state == Job.State.SUCCEEDED, job.error_detail
    row = state(chief)
    assert (row.state, row.ref) == (StarterState.CHECKING, "zoo/tiny-net@1")
    version = row.version
    assert version.created_by == chief
    assert content(version, "model.onnx") == wheels.classifier()
    assert content(version, "labels.txt") == b"cat\nstriped cat\ndog\n"
    assert content(version, "LICENSE") == wheels.LICENCE
    assert (version.model.license, version.model.task) == ("Apache-2.0", "image-classification")


def test_the_card_says_which_package_the_files_are_from(chief, tiny, work, archive):
    work(imports.request(chief, model=tiny))
    card = state(chief).version.card
    assert card["packaged_in"] == {
        "package": "pkg:pypi/tiny-net@1.0",
        "version": "1.0",
        "sha256": wheels.sha256(archive),
    }
    text = content(state(chief).version, "README.md").decode()
    assert "Licence of the package's code: MIT. Licence of the weights: Apache-2.0." in text
    assert wheels.sha256(wheels.classifier()) in text


DATA = """[models.data]
name = "drawn-lines"
split = "test"
entry = {title = "Drawn lines", license = "CC0-1.0", personal_data = "no"}
"""


@pytest.fixture
def tiny_with_data(archive, tmp_path, monkeypatch):
    place = tmp_path / "models.toml"
    place.write_text(wheels.manifest(archive, wheels.members(), data=DATA), encoding="utf-8")
    monkeypatch.setattr(manifest, "FILE", place)
    return manifest.model("tiny-net")


def test_the_data_set_of_a_model_is_published_with_it(chief, tiny_with_data, work):
    work(imports.request(chief, model=tiny_with_data))
    version = state(chief).version
    assert version.card["tested_on"] == [{"name": "drawn-lines", "split": "test"}]
    data = DatasetVersion.objects.get(dataset__slug="drawn-lines")
    assert (data.dataset.namespace.slug, data.dataset.license) == ("zoo", "CC0-1.0")
    assert data.dataset.personal_data == "no"
    [split] = data.typed_splits
    assert (split.task, split.files, split.target.column) == (
        "text-recognition", ("lines.zip",), "text",
    )  # fmt: skip
    [target] = scheduling.targets(version)
    assert target.dataset == data


def test_a_data_set_of_another_namespace_keeps_its_name(chief, tiny_with_data, work):
    other = datasets.create(chief, namespace=factories.namespace(chief), slug="drawn-lines")
    work(imports.request(chief, model=tiny_with_data))
    assert state(chief).state == StarterState.CHECKING
    assert not DatasetVersion.objects.filter(dataset=other).exists()
    assert scheduling.targets(state(chief).version) == []


def test_a_model_is_imported_once(chief, tiny, work):
    job = work(imports.request(chief, model=tiny))
    imports.take(job)  # as an event that is delivered twice
    assert Version.objects.filter(model__name="tiny-net").count() == 1
    with pytest.raises(problems.StateConflict, match="imported already"):
        imports.request(chief, model=tiny)


def test_two_requests_are_one_job_and_the_higher_priority_counts(chief, tiny):
    first = imports.request(chief, model=tiny, priority=imports.AT_START)
    second = imports.request(chief, model=tiny)
    assert first.pk == second.pk
    assert second.priority == imports.ON_REQUEST


def test_a_stored_archive_is_not_fetched(chief, tiny, work, archive, folder):
    (folder / ARCHIVE).unlink()
    upload = uploads.create(chief, length=len(archive), filename=ARCHIVE)
    import io

    uploads.append(chief, upload=upload, offset=0, stream=io.BytesIO(archive))
    assert work(imports.request(chief, model=tiny)).state == Job.State.SUCCEEDED
    assert state(chief).state == StarterState.CHECKING


def test_without_a_network_one_line_says_what_to_do(chief, tiny, work, folder):
    (folder / ARCHIVE).unlink()
    job = work(imports.request(chief, model=tiny))
    assert job.state == Job.State.FAILED
    [finding] = job.typed_report.findings
    assert finding.code == "package-unfetched"
    row = state(chief)
    assert row.state == StarterState.FAILED
    assert row.detail.startswith("pip could not fetch tiny-net 1.0 (")
    assert f"hub import starter --from FOLDER, with {ARCHIVE} in it." in row.detail
    assert "\n" not in row.detail
    assert row.may_import


def test_another_archive_of_the_same_name_is_refused(chief, tiny, work, folder):
    (folder / ARCHIVE).write_bytes(wheels.wheel(wheels.members(extra=b"more")))
    job = work(imports.request(chief, model=tiny))
    assert job.state == Job.State.FAILED
    assert Version.objects.count() == 0
    assert not Blob.objects.filter(size=(folder / ARCHIVE).stat().st_size).exists()


def test_without_pip_the_message_names_the_folder(tiny, monkeypatch):
    monkeypatch.setattr(fetching.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(fetching.shutil, "which", lambda _: None)
    with (
        pytest.raises(fetching.UnfetchedError, match=r"no pip .* --from FOLDER"),
        fetching.fetched(tiny.packages[0], lambda: False),
    ):
        pass


def test_a_cancelled_fetch_ends_pip(tiny):
    with (
        pytest.raises(fetching.UnfetchedError, match="was stopped"),
        fetching.fetched(tiny.packages[0], lambda: True),
    ):
        pass


def test_a_file_that_changed_in_the_manifest_is_refused(chief, tiny, work, tmp_path):
    wrong = manifest.FILE.read_text().replace(wheels.sha256(wheels.classifier()), "0" * 64)
    manifest.FILE.with_name("other.toml").write_text(wrong)
    manifest.FILE = manifest.FILE.with_name("other.toml")  # the fixture undoes it
    job = work(imports.request(chief, model=manifest.model("tiny-net")))
    assert [finding.code for finding in job.typed_report.findings] == ["package-unusable"]
    assert Version.objects.count() == 0


def test_a_name_of_another_model_is_left_alone(chief, tiny):
    registered_models.create(chief, namespace=imports.namespace(), name="tiny-net")
    with pytest.raises(problems.StateConflict, match="is another model"):
        imports.request(chief, model=tiny)


def test_what_cannot_be_published_says_why(chief, tiny, work):
    job = imports.request(chief, model=tiny)
    registered_models.create(chief, namespace=imports.namespace(), name="Tiny-Net")
    space = imports.namespace()
    space.quota_bytes = 1
    space.save()
    work(job)
    row = state(chief)
    assert row.state == StarterState.FAILED
    assert "quota" in row.detail
    assert not Version.objects.filter(label=tiny.label).exists()


def test_others_may_neither_see_nor_import(ada, tiny):
    for call in (lambda: imports.request(ada, model=tiny), lambda: selectors.starter_models(ada)):
        with pytest.raises(problems.NotAllowed):
            call()


def test_a_deleted_model_may_be_requested_and_is_not_by_itself(chief, tiny, work, lists):
    work(imports.request(chief, model=tiny))
    registered_models.delete(chief, model=state(chief).version.model)
    assert state(chief).state == StarterState.ABSENT
    assert imports.request_first(chief) == ""


def test_the_first_start_requests_the_first_models_at_the_lowest_priority(chief, tiny):
    [line] = first_run.request_models()
    assert line.startswith("Importing 1 trained model (")
    assert "--no-starter" in line
    job = Job.objects.get(kind=imports.KIND)
    assert (job.priority, job.requester) == (imports.AT_START, chief)
    assert first_run.request_models() == first_run.request_models()
    assert Job.objects.filter(kind=imports.KIND).count() == 1


def test_a_failed_import_is_requested_again_at_the_next_start(chief, tiny, work, folder, archive):
    (folder / ARCHIVE).unlink()
    first_run.request_models()
    work(Job.objects.get(kind=imports.KIND))
    (folder / ARCHIVE).write_bytes(archive)
    first_run.request_models()
    assert work(Job.objects.get(state=Job.State.QUEUED)).state == Job.State.SUCCEEDED


# The manifest of the hub itself.
@pytest.mark.parametrize("name", list(manifest.models()))
def test_the_manifest_is_sound(name):
    model = manifest.model(name)
    paths = [file.path for package in model.packages for file in package.files]
    assert len(paths) == len(set(paths))
    assert any(path.endswith(".onnx") for path in paths)
    assert any("LICENSE" in path or "METADATA" in path for path in paths)
    recipes = {file.recipe for package in model.packages for file in package.files}
    assert recipes <= set(Recipe)
    assert model.task in TASKS
    assert model.card["license"] == model.licences.weights
    front = yaml.safe_load(model.card_text().split("---\n")[1])
    assert front["summary"] == model.summary
    report = cards.check(model.card_text())
    assert [str(one) for one in report.findings if one.severity == "error"] == []


def test_the_first_models_are_a_hundred_megabytes():
    first = [model for model in manifest.models().values() if model.is_first]
    assert len(first) == 9
    assert sum(model.size for model in first) < 110e6


def test_the_first_models_are_imported_before_evidence_is_gathered(chief, tiny):
    first_run.request_models()
    job = imports.jobs_of(["tiny-net"])["tiny-net"]
    evidence = order.due_at(order.FIRST, job.queued_at)
    assert job.due_at < evidence
