"""What becomes of a draft on its pages: filled, refused, mended, published, deleted."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from registry.models import Version
from runners.models import Job
from tests import factories, samples

pytestmark = pytest.mark.django_db


def test_publish_without_scripts(reader, ada):
    response = reader.post(
        "/upload",
        {
            "namespace": "ada",
            "name": "mine",
            "visibility": "public",
            "license": "MIT",
            "file": [
                SimpleUploadedFile("model.onnx", samples.mlp()),
                SimpleUploadedFile("pickle.onnx", b"\x80\x04K\x01."),
            ],
        },
    )
    draft = "/models/ada/mine/v/1/draft"
    assert (response.status_code, response["Location"]) == (302, draft)
    html = reader.page(draft)
    assert "pickle.onnx was rejected" in html
    assert list(Version.objects.get().files.values_list("path", flat=True)) == ["model.onnx"]

    reader.post(f"{draft}/card", {"card": "---\nlicense: mit\n---\r\n# Mine"})
    assert Version.objects.get().readme == "---\nlicense: mit\n---\n# Mine"
    assert reader.post(f"{draft}/submit", {"publish": "on"})["Location"] == draft
    assert "Checks running." in reader.page(draft)
    factories.work()
    assert reader.get(draft)["Location"] == "/models/ada/mine/v/1"
    assert Version.objects.get().state == "published"


def test_rejected_draft_shows_why_and_can_be_mended(reader, ada):
    factories.submitted(ada)
    factories.work("failed")
    html = reader.page("/models/ada/net/v/1/draft")
    assert "Checks failed." in html
    assert "SIGSEGV" in html
    reader.post("/models/ada/net/v/1/draft/remove", {"path": "model.onnx"})
    html = reader.page("/models/ada/net/v/1/draft")
    assert "No .onnx file yet." in html
    reader.post("/models/ada/net/v/1/draft/submit")
    assert "contains no .onnx file" in reader.page("/models/ada/net/v/1/draft")
    assert Version.objects.get().state == "draft"


def test_card_that_is_wrong_is_kept_and_not_saved(reader, ada):
    factories.draft(ada)
    before = Version.objects.get().readme
    response = reader.post(
        "/models/ada/net/v/1/draft/card", {"card": "---\ntags: {a\n---\nMy long text"}
    )
    assert response.status_code == 422
    assert "My long text" in response.content.decode()
    assert Version.objects.get().readme == before


def test_draft_is_deleted(reader, ada):
    factories.draft(ada)
    reader.post("/models/ada/net/v/1/draft/delete")
    assert Version.objects.count() == 0
    assert "No versions yet" in reader.page("/models/ada/net")


def test_publish_by_hand(reader, ada):
    factories.submitted(ada, publish=False)
    draft = "/models/ada/net/v/1/draft"
    reader.post(f"{draft}/publish")
    assert "still being checked" in reader.page(draft)
    factories.work()
    assert "All checks passed." in reader.page(draft)
    assert reader.post(f"{draft}/publish")["Location"] == "/models/ada/net/v/1"
    assert Version.objects.get().state == "published"


def test_job_says_why_it_waits_and_can_be_cancelled(reader, ada):
    factories.submitted(ada)
    job = Job.objects.get()
    html = reader.page(f"/jobs/{job.pk}")
    assert "no worker takes jobs of the pool cpu" in html
    assert "<title>queued" in html
    part = reader.get(f"/jobs/{job.pk}?part")
    assert "<html" not in part.content.decode()
    again = reader.get(f"/jobs/{job.pk}?part", HTTP_IF_NONE_MATCH=part["ETag"])
    assert again.status_code == 304
    reader.post(f"/jobs/{job.pk}/cancel")
    assert "cancelled" in reader.page(f"/jobs/{job.pk}")
    assert "Read model facts" in reader.page("/jobs?state=cancelled")


def test_job_of_others_is_not_there(guest, ada):
    factories.submitted(ada)
    guest.page(f"/jobs/{Job.objects.get().pk}", 404)
    assert "No jobs yet" in guest.page("/jobs")
