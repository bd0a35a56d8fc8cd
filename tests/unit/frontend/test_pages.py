"""Every page through HTTP: complete without scripts, and only for those who may see it."""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from hub.protocol import problems
from registry.models import AccessToken, RegisteredModel, Version
from runners.models import Job
from tests import factories, samples

pytestmark = pytest.mark.django_db
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture
def version(ada):
    return factories.published(ada, factories.model(ada, summary="A small net."))


PAGES = [
    "/",
    "/models",
    "/models?task=image-classification",
    "/models?q=nothing-has-this-name",
    "/models/ada/net",
    "/models/ada/net/v/1",
    "/models/ada/net/v/1/files",
    "/models/ada/net/v/1/checks",
    "/models/ada/net/v/1/conformance",
    "/models/ada/net/v/1/variants",
    "/models/ada/net/versions",
    "/scoreboard",
    "/jobs",
    "/login",
    "/help",
    "/health",
    "/ns",
    "/catalog",
    "/tasks/image-classification",
    "/agents/ada",
]


@pytest.mark.parametrize("path", PAGES)
def test_page_for_everybody(guest, version, path):
    response = guest.get(path, HTTP_ACCEPT="text/html")
    assert response.status_code == 200
    directives = {part.strip() for part in response["Content-Security-Policy"].split(";")}
    assert directives == {part.strip() for part in POLICY.split(";")}
    html = response.content.decode()
    assert html.count("<h1") == 1
    assert " style=" not in html
    # A block of data is no script: no browser runs it.
    assert not re.search(r'<script(?![^>]* src=|[ ]type="application/ld\+json">)', html)
    assert not re.search(r"<[^>]*\son[a-z]+=", html)


@pytest.mark.parametrize(
    "path",
    [
        "/upload",
        "/account",
        "/account/tokens",
        "/models/ada/net/upload",
        "/models/ada/net/v/1/draft",
    ],
)
def test_page_that_needs_an_account_sends_to_sign_in(guest, version, path):
    response = guest.get(path)
    assert (response.status_code, response["Location"]) == (302, f"/login?next={path}")


def test_overview_says_what_is_known(guest, version):
    html = guest.page("/models/ada/net")
    for words in (
        "It tells digits apart.",
        "opset",
        "ada/net@1",
        "Strict inference",
    ):
        assert words in html
    assert 'href="/models/ada/net/v/1/files/model.onnx"' in html
    assert version.manifest_sha256 in html


def test_file_is_an_attachment_that_cannot_run(guest, version):
    response = guest.get("/models/ada/net/v/1/files/model.onnx")
    assert b"".join(response) == samples.mlp()
    assert response["Content-Disposition"].startswith("attachment")
    assert "sandbox" in response["Content-Security-Policy"]


def test_what_may_not_be_seen_is_not_there(guest, reader, bob, ada):
    factories.draft(ada, factories.model(ada, "secret", visibility="private"))
    for path in ("", "/v/1", "/v/1/files", "/v/1/files/model.onnx", "/v/1/checks", "/versions"):
        assert "There is nothing here" in guest.page(f"/models/ada/secret{path}", 404)
    assert "secret" not in guest.page("/models")
    guest.force_login(bob)
    guest.page("/models/ada/secret/v/1/draft", 404)
    guest.page("/models/ada/secret/upload", 404)
    assert "secret" in reader.page("/models/ada/secret/v/1")


def test_unknown_page_says_so_with_a_reference(guest):
    html = guest.page("/nowhere", 404)
    assert re.search(r"Reference <code>[0-9a-f]{32}</code>", html)


@pytest.mark.parametrize(
    "problem",
    [
        problems.NotAuthenticated("Sign in."),
        problems.NotAllowed("This needs the role writer."),
        problems.TooLarge("2 GB are too much."),
        problems.InvalidRequest.at("/name", "Too long."),
        problems.InternalError("It broke."),
        problems.StorageFull(),
    ],
    ids=lambda problem: problem.slug,
)
def test_every_problem_has_a_page(rf, problem):
    from hub.server.middleware import show

    request = rf.get("/somewhere", HTTP_ACCEPT="text/html")
    request.request_id = "the-reference"
    response = show(request, problem)
    assert response.status_code == problem.status
    html = response.content.decode()
    assert problem.title in html
    assert problem.detail in html
    assert "the-reference" in html
    assert ("Sign in</a>" in html.partition("<main")[2]) == (problem.status in (401, 403))


def test_unchanged_page_costs_a_304(guest, version):
    first = guest.get("/models/ada/net")
    assert first["Cache-Control"] == "private, no-cache"
    assert guest.get("/models/ada/net", HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304


def test_presets_leave_the_address(guest):
    response = guest.get("/models?q=&sort=updated&task=x")
    assert (response.status_code, response["Location"]) == (302, "/models?task=x")


def test_search_finds_and_an_empty_list_names_the_filter_to_drop(guest, version):
    assert "ada/" in guest.page("/models?q=net")
    html = guest.page("/models?q=zzz&task=image-classification")
    assert "No model matches all of this." in html
    assert "Text: zzz" in html


def test_version_select_goes_to_the_same_tab(guest, version):
    response = guest.get("/models/ada/net?v=1&tab=files")
    assert response["Location"] == "/models/ada/net/v/1/files"


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
    assert "pickle.onnx was refused" in html
    assert list(Version.objects.get().files.values_list("path", flat=True)) == ["model.onnx"]

    reader.post(f"{draft}/card", {"card": "---\nlicense: mit\n---\r\n# Mine"})
    assert Version.objects.get().readme == "---\nlicense: mit\n---\n# Mine"
    assert reader.post(f"{draft}/submit", {"publish": "on"})["Location"] == draft
    assert "Being checked." in reader.page(draft)
    factories.work()
    assert reader.get(draft)["Location"] == "/models/ada/mine/v/1"
    assert Version.objects.get().state == "published"


def test_form_that_is_wrong_keeps_what_was_typed(reader, version):
    response = reader.post(
        "/upload",
        {
            "namespace": "ada",
            "name": "net",
            "visibility": "public",
            "summary": "Keep me",
            "file": SimpleUploadedFile("model.onnx", samples.mlp()),
        },
    )
    assert response.status_code == 422
    html = response.content.decode()
    assert "exists already" in html
    assert "Keep me" in html
    assert RegisteredModel.objects.count() == 1


def test_form_over_its_limit_is_refused_before_it_is_read(reader, version, monkeypatch):
    monkeypatch.setattr("frontend.receiving.FORM_BYTES", 1000)
    response = reader.post(
        "/models/ada/net/upload",
        {"file": SimpleUploadedFile("model.onnx", b"x" * 2000)},
        HTTP_ACCEPT="text/html",
    )
    assert response.status_code == 413
    assert "without scripts it takes" in response.content.decode()
    assert Version.objects.count() == 1


def test_forms_are_kept_from_other_sites(ada, version):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ada)
    for path in ("/models/ada/net/upload", "/models/ada/net/v/1/draft/delete", "/account/tokens"):
        assert browser.post(path, {"name": "x"}).status_code == 403
    assert Version.objects.count() == 1


def test_rejected_draft_shows_why_and_can_be_mended(reader, ada):
    factories.submitted(ada)
    factories.work("failed")
    html = reader.page("/models/ada/net/v/1/draft")
    assert "Sent back." in html
    assert "SIGSEGV" in html
    reader.post("/models/ada/net/v/1/draft/remove", {"path": "model.onnx"})
    html = reader.page("/models/ada/net/v/1/draft")
    assert "No .onnx file yet." in html
    reader.post("/models/ada/net/v/1/draft/submit")
    assert "holds no .onnx file" in reader.page("/models/ada/net/v/1/draft")
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
    assert "No version yet." in reader.page("/models/ada/net")


def test_publish_by_hand(reader, ada):
    factories.submitted(ada, publish=False)
    draft = "/models/ada/net/v/1/draft"
    reader.post(f"{draft}/publish")
    assert "still being checked" in reader.page(draft)
    factories.work()
    assert "The checks have passed." in reader.page(draft)
    assert reader.post(f"{draft}/publish")["Location"] == "/models/ada/net/v/1"
    assert Version.objects.get().state == "published"


def test_notes_above_ended_and_superseded_versions(guest, ada, version):
    from registry.services import versions

    factories.published(ada, version.model)
    assert "Superseded." in guest.page("/models/ada/net/v/1")
    versions.yank(ada, version=version, reason="Wrong labels.")
    html = guest.page("/models/ada/net/v/1")
    assert "Yanked." in html
    assert "Wrong labels." in html
    version.refresh_from_db()
    versions.withdraw(ada, version=version, reason="Somebody asked.")
    html = guest.page("/models/ada/net/v/1")
    assert "Withdrawn" in html
    assert "Download" not in html.partition('id="get"')[2].partition("</section>")[0]
    guest.page("/models/ada/net/v/1/files/model.onnx", 410)


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
    assert "Read the facts" in reader.page("/jobs?state=cancelled")


def test_job_of_others_is_not_there(guest, ada):
    factories.submitted(ada)
    guest.page(f"/jobs/{Job.objects.get().pk}", 404)
    assert "No jobs yet." in guest.page("/jobs")


def test_token_is_shown_once_and_revoked_by_name(reader, ada):
    response = reader.post(
        "/account/tokens",
        {"name": "laptop", "scopes": ["read"], "namespace": "ada", "expires_days": "30"},
    )
    (secret,) = set(re.findall(r"hf_[\w-]{40,}", response.content.decode()))
    assert "no-store" in response["Cache-Control"]
    token = AccessToken.objects.get()
    assert (token.name, token.scopes, token.namespace.slug) == ("laptop", ["read"], "ada")
    assert secret not in reader.page("/account/tokens")
    assert "Revoke laptop?" in reader.page(f"/account/tokens/{token.pk}/revoke")
    assert AccessToken.objects.count() == 1
    reader.post(f"/account/tokens/{token.pk}/revoke")
    assert AccessToken.objects.count() == 0


def test_token_of_somebody_else_is_not_there(reader, bob):
    factories.token(bob)
    pk = AccessToken.objects.get().pk
    reader.page(f"/account/tokens/{pk}/revoke", 404)
    assert reader.post(f"/account/tokens/{pk}/revoke").status_code == 404
    assert AccessToken.objects.count() == 1


def test_sign_in_and_out(guest, ada):
    wrong = guest.post("/login", {"username": "ada", "password": "no"})
    assert "No account has this name and password." in wrong.content.decode()
    right = guest.post(
        "/login", {"username": "ada", "password": "a long enough password", "next": "/account"}
    )
    assert right["Location"] == "/account"
    assert guest.get("/logout").status_code == 405
    guest.post("/logout")
    assert guest.get("/account").status_code == 302


def test_colours_are_rendered_by_the_server_and_lead_nowhere_else(guest):
    response = guest.post("/theme", {"next": "//evil.example/"})
    assert response["Location"] == "/"
    assert 'data-theme="light"' in guest.page("/")
    guest.post("/theme", {"next": "/models"})
    assert 'data-theme="dark"' in guest.page("/")
    guest.post("/theme")
    assert "data-theme" not in guest.page("/")


def test_single_keys_can_be_switched_off(guest):
    guest.post("/keys", {"next": "/help"})
    assert 'data-keys="off"' in guest.page("/help")


@pytest.mark.parametrize("path", ["/models", "/", "/models/ada/net/versions", "/jobs"])
def test_queries_do_not_grow_with_rows(reader, ada, path, django_assert_max_num_queries):
    model = factories.published(ada).model
    reader.page(path)
    with django_assert_max_num_queries(30) as first:
        reader.page(path)
    for index in range(3):
        factories.published(ada, model)
        factories.published(ada, factories.model(ada, f"net-{index}"))
    with django_assert_max_num_queries(len(first)):
        reader.page(path)


def test_model_page_has_a_fixed_number_of_queries(guest, version, django_assert_max_num_queries):
    with django_assert_max_num_queries(16):
        guest.page("/models/ada/net/v/1")
