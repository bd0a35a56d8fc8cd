"""Packages of versions: checked in the queue, shown on pages and over HTTP, in nobody's way."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from hub.protocol.packages import METHOD, Layout, Package
from registry.packages.models import VersionPackage
from registry.versions.services import versions
from runners.models import Job, MethodSet
from runners.packages import jobs
from runners.proofs import verification
from tests import deliveries, factories, packaged
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.capability("packages"), pytest.mark.django_db]
PLACE = "models/ada/net/versions/1/package"
PAGE = "/models/ada/net/v/1"
BROKEN = packaged.genai(vocab_size=32000, filename="decoder.onnx")


@pytest.mark.usefixtures("graphs")
def test_a_broken_package_is_published_and_names_what_is_wrong(api, ada, publish):
    publish(ada, BROKEN)
    answer = api().get(PLACE).json()
    assert (answer["state"], answer["layout"]) == ("checked", "genai")
    assert answer["title"] == "ONNX Runtime GenAI"
    assert answer["components"] == [
        {"name": "decoder", "role": "decoder", "model": "", "files": []},
        {
            "name": "tokenizer",
            "role": "tokenizer",
            "model": "",
            "files": ["tokenizer.json", "tokenizer_config.json"],
        },
    ]
    [missing, *_] = answer["findings"]
    assert missing == {
        "code": "file-missing",
        "severity": "error",
        "file": "genai_config.json",
        "field": "model.decoder.filename",
        "message": "The file 'decoder.onnx' does not exist in this version.",
        "cure": "Add 'decoder.onnx', or correct model.decoder.filename in genai_config.json.",
    }
    page = Client().get(f"{PAGE}/checks").content.decode()
    for words in ("ONNX Runtime GenAI, 2 components;", "file-missing", missing["cure"][:4]):
        assert words in page
    overview = " ".join(Client().get(PAGE).content.decode().split())
    assert "ONNX Runtime GenAI, 2 components</a>, 1 error" in overview


@pytest.mark.usefixtures("graphs")
def test_a_whole_package_has_components_and_no_findings(api, ada, publish):
    publish(ada, packaged.optimum())
    answer = api().get(PLACE).json()
    assert answer["findings"] == []
    assert [row["name"] for row in answer["components"]][:2] == [
        "encoder_model",
        "decoder_model_merged",
    ]
    assert "Optimum or transformers.js, 5 components" in Client().get(PAGE).content.decode()


@pytest.mark.usefixtures("graphs")
def test_a_single_model_is_no_package(api, ada):
    factories.published(ada)
    assert not Job.objects.filter(kind=jobs.KIND).exists()
    assert api().get(PLACE).json() == {
        "state": "unchecked",
        "checked_at": None,
        "layout": "",
        "title": "",
        "components": [],
        "findings": [],
        "generation": None,
    }
    assert 'id="package"' not in Client().get(f"{PAGE}/checks").content.decode()


@pytest.mark.usefixtures("graphs")
def test_the_check_delays_nothing_and_is_pending_meanwhile(api, ada):
    version = factories.submitted(ada, contents=packaged.genai())
    assert api(ada).get(PLACE).json()["state"] == "pending"
    later = timezone.now() + timedelta(hours=1)
    Job.objects.filter(kind=jobs.KIND).update(not_before=later)
    factories.work()
    version.refresh_from_db()
    assert version.state == "published"
    assert api().get(PLACE).json()["state"] == "pending"
    assert "queued or running" in Client().get(f"{PAGE}/checks").content.decode()


def test_a_check_that_fails_says_so(api, ada):
    version = factories.submitted(ada, contents=packaged.genai())
    factories.work(version=version)
    Job.objects.filter(kind=jobs.KIND).update(state=Job.State.FAILED)
    assert api().get(PLACE).json()["state"] == "failed"


@pytest.mark.usefixtures("graphs")
def test_private_packages_are_not_there_for_others(api, ada, bob, publish):
    publish(ada, BROKEN, visibility="private")
    assert api(ada).get(PLACE).json()["layout"] == "genai"
    for client in (api(), api(bob)):
        problem(client.get(PLACE), 404, "not-found")
    for place in (PAGE, f"{PAGE}/checks"):
        assert b"GenAI" not in Client().get(place).content


def test_private_results_serve_no_other_namespace(ada, bob, publish, work):
    publish(ada, BROKEN, visibility="private")
    factories.submitted(bob, factories.model(bob), BROKEN)
    assert work() == 1


def test_results_are_shared_among_equal_files_alone(ada):
    keys = []
    for name, files in (
        ("net", BROKEN),
        ("twin", BROKEN),
        ("other", BROKEN | {"genai_config.json": packaged.genai_config()}),
    ):
        version = factories.submitted(ada, factories.model(ada, name), files)
        keys.append(Job.objects.get(kind=jobs.KIND, version=version).content_key)
    assert keys[0] == keys[1] != ""
    assert keys[2] not in keys[:2]


@pytest.mark.usefixtures("graphs")
def test_older_versions_are_checked_later(ada, work):
    version = factories.version(ada, contents=packaged.genai())
    assert not VersionPackage.objects.exists()
    MethodSet.objects.all().delete()
    verification.catch_up()
    job = Job.objects.get(kind=jobs.KIND)
    assert (job.version, job.priority) == (version, verification.LATER)
    assert work() == 1
    assert VersionPackage.objects.get().method == METHOD
    assert jobs.schedule_missing(version) == 0


def test_a_withdrawn_version_has_no_package(api, ada, publish):
    version = publish(ada, BROKEN)
    versions.withdraw(ada, version=version, reason="legal")
    deliveries.deliver()
    assert not VersionPackage.objects.exists()
    assert api().get(PLACE).json()["state"] == "unchecked"


def test_a_result_of_other_files_is_not_kept(ada, work):
    version = factories.submitted(ada, contents=packaged.genai())
    job = Job.objects.get(kind=jobs.KIND)
    job.input["manifest_sha256"] = "0" * 64
    job.report = {"facts": {"package": Package(Layout.GENAI).to_json()}}
    jobs.take(job)
    job.report = {"facts": {"package": {"layout": "unknown"}}}
    job.input["manifest_sha256"] = version.manifest_sha256
    jobs.take(job)
    assert not VersionPackage.objects.exists()


def test_stored_rows_of_another_release_are_left_out(ada):
    version = factories.version(ada, contents=packaged.genai())
    document = {"layout": "future", "components": [{"name": "a", "role": "future"}, 7]}
    row = VersionPackage(version=version, document=document)
    assert row.package == Package(Layout.MODELS)


@pytest.mark.database
@pytest.mark.parametrize("column", [{"layout": "future"}, {"manifest_sha256": "no"}])
def test_the_database_knows_the_layouts(ada, column):
    version = factories.version(ada, contents=packaged.genai())
    columns = {"layout": "genai", "manifest_sha256": "0" * 64, "method": 1, "document": {}}
    with pytest.raises(IntegrityError), transaction.atomic():
        VersionPackage.objects.create(version=version, **columns | column)


def protocol_words(name):
    answer = Client().get(f"/api/models/ada/{name}").json()
    return answer.get("pipeline_tag"), answer.get("library_name")


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize(
    ("files", "task", "library"),
    [
        (packaged.diffusers(), "text-to-image", "diffusers"),
        (packaged.clip(), "zero-shot-image-classification", "transformers.js"),
        (packaged.genai(), "text-generation", "onnxruntime-genai"),
        (packaged.optimum(), None, "transformers.js"),
        (packaged.models(), None, None),
    ],
    ids=["diffusers", "clip", "genai", "encoder-decoder", "models"],
)
def test_the_hub_protocol_has_what_a_package_implies(ada, publish, files, task, library):
    publish(ada, files, card="---\nlicense: mit\n---\n# Net\n")
    assert protocol_words("net") == (task, library)


@pytest.mark.usefixtures("graphs")
def test_what_a_card_says_precedes(ada, publish):
    card = "---\nlicense: mit\npipeline_tag: fill-mask\nlibrary_name: own\n---\n# Net\n"
    publish(ada, packaged.clip(), card=card)
    assert protocol_words("net") == ("fill-mask", "own")
