"""Every page through HTTP: complete without scripts, and only for those who may see it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hub.protocol import problems
from registry.models import AccessToken, RegisteredModel, Version
from tests import factories, samples, shared

pytestmark = pytest.mark.django_db
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@shared.rows
def start():
    ada = factories.somebody("ada")
    return factories.published(ada, factories.model(ada, summary="A small net."))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


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


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("path", PAGES)
def test_page_for_everybody(guest, version, path, graphs):
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


def test_overview_says_what_is_known(guest, version, graphs):
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


@pytest.mark.usefixtures("lists")
def test_what_may_not_be_seen_is_not_there(guest, reader, bob, ada):
    factories.draft(ada, factories.model(ada, "secret", visibility="private"))
    for path in ("", "/v/1", "/v/1/files", "/v/1/files/model.onnx", "/v/1/checks", "/versions"):
        assert "Not found" in guest.page(f"/models/ada/secret{path}", 404)
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
        problems.NotAllowed("This requires the role writer."),
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


def test_unchanged_page_costs_a_304(guest, version, graphs):
    first = guest.get("/models/ada/net")
    assert first["Cache-Control"] == "private, no-cache"
    assert guest.get("/models/ada/net", HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304


@pytest.mark.usefixtures("lists")
def test_presets_leave_the_address(guest):
    response = guest.get("/models?q=&sort=updated&task=x")
    assert (response.status_code, response["Location"]) == (302, "/models?task=x")


@pytest.mark.usefixtures("lists")
def test_search_finds_and_an_empty_list_names_the_filter_to_drop(guest, version):
    assert "ada/" in guest.page("/models?q=net")
    html = guest.page("/models?q=zzz&task=image-classification")
    assert "No models match these filters." in html
    assert "Text: zzz" in html


def test_many_versions_are_counted_and_the_shown_one_is_selected(guest, version):
    now = timezone.now()
    Version.objects.bulk_create(
        Version(
            model=version.model,
            number=number,
            state="published",
            created_by=version.created_by,
            manifest_sha256=f"{number:064x}",
            commit_id=f"{number:040x}",
            published_at=now,
        )
        for number in range(2, 131)
    )
    html = guest.page("/models/ada/net/v/1/files")
    select = html.partition('name="v"')[2].partition("</select>")[0]
    assert re.findall(r'value="(\d+)" selected', select) == ["1"]
    assert select.count("<option") == 101
    assert re.search(r'Versions\s+<span class="count">130</span>', html)
    newest = guest.page("/models/ada/net/v/130/files")
    select = newest.partition('name="v"')[2].partition("</select>")[0]
    assert re.findall(r'value="(\d+)" selected', select) == ["130"]
    assert select.count("<option") == 100


def test_version_select_goes_to_the_same_tab(guest, version):
    response = guest.get("/models/ada/net?v=1&tab=files")
    assert response["Location"] == "/models/ada/net/v/1/files"


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
    assert "already exists" in html
    assert "Keep me" in html
    assert RegisteredModel.objects.count() == 1


def test_a_wrong_label_makes_no_model(reader, ada):
    given = {"namespace": "ada", "name": "net", "visibility": "public", "summary": "Keep me"}

    def send(label):
        file = SimpleUploadedFile("model.onnx", samples.mlp())
        return reader.post("/upload", {**given, "label": label, "file": file})

    for label in ("2", "sha256", "a b"):
        response = send(label)
        assert response.status_code == 422
        html = response.content.decode()
        assert "The label" in html
        assert "Keep me" in html
        assert f'value="{label}"' in html
        assert not RegisteredModel.objects.exists()
    assert send("2.0")["Location"] == "/models/ada/net/v/1/draft"
    assert RegisteredModel.objects.get().versions.get().label == "2.0"


def test_form_over_its_limit_is_refused_before_it_is_read(reader, version, monkeypatch):
    monkeypatch.setattr("frontend.presenters.multipart.FORM_BYTES", 1000)
    response = reader.post(
        "/models/ada/net/upload",
        {"file": SimpleUploadedFile("model.onnx", b"x" * 2000)},
        HTTP_ACCEPT="text/html",
    )
    assert response.status_code == 413
    assert "limit without JavaScript" in response.content.decode()
    assert Version.objects.count() == 1


def test_forms_are_kept_from_other_sites(ada, version):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ada)
    for path in ("/models/ada/net/upload", "/models/ada/net/v/1/draft/delete", "/account/tokens"):
        assert browser.post(path, {"name": "x"}).status_code == 403
    assert Version.objects.count() == 1


def test_a_published_version_whose_check_failed_says_so(guest, ada, graphs):
    version = factories.version(ada)
    address = f"/models/{version.model.ref}/v/1"
    assert "Checks failed." not in guest.page(address)
    version.checks.filter(kind="onnx").update(outcome="failed")
    html = guest.page(address)
    assert "Checks failed." in html
    assert f'href="{address}/checks"' in html


def test_notes_above_ended_and_superseded_versions(guest, ada, version, graphs):
    from registry.versions.services import versions

    factories.version(ada, version.model)
    assert "Superseded." in guest.page("/models/ada/net/v/1")
    versions.yank(ada, version=version, reason="Wrong labels.")
    html = guest.page("/models/ada/net/v/1")
    assert "Yanked." in html
    assert "Wrong labels." in html
    version.refresh_from_db()
    versions.withdraw(ada, version=version, reason="Somebody asked.")
    html = guest.page("/models/ada/net/v/1", 410)
    assert "Withdrawn" in html
    assert "Download" not in html.partition('id="get"')[2].partition("</section>")[0]
    guest.page("/models/ada/net/v/1/files/model.onnx", 410)


def test_a_version_keeps_what_its_own_card_says(guest, ada, graphs):
    """An address that never changes shows no other version's licence, task or words."""
    first = factories.version(ada, card=factories.CARD)
    front = "license: mit\npipeline_tag: text-generation\ntags: [prose]\n"
    later = f"---\n{front}---\nIt writes now, a lot."
    factories.version(ada, first.model, card=later)
    old = guest.page("/models/ada/net/v/1")
    head, _, body = old.partition('aria-label="Version pages"')
    assert "?license=apache-2.0" in head
    assert "?task=image-classification" in head
    assert '<p class="summary">It tells digits apart.</p>' in head
    assert "?keyword=digits" in body
    new = guest.page("/models/ada/net/v/2")
    assert "?license=mit" in new
    assert "?task=text-generation" in new
    assert '<p class="summary">It writes now, a lot.</p>' in new
    assert "?keyword=prose" in new


def test_a_silent_card_leaves_the_models_words(guest, ada, graphs):
    of = factories.model(ada, license="mit", task="text-generation", summary="It writes.")
    factories.version(ada, of, card="")
    html = guest.page("/models/ada/net/v/1")
    assert "?license=mit" in html
    assert "?task=text-generation" in html
    assert '<p class="summary">It writes.</p>' in html


def test_token_is_shown_once_and_revoked_by_name(reader, ada):
    response = reader.post(
        "/account/tokens",
        {"name": "laptop", "scopes": ["read"], "limits": "ada", "expires_days": "30"},
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


def test_names_of_tokens_have_a_column_of_a_readable_width(reader, ada):
    factories.token(ada)
    assert '<th scope="row" class="what">' in reader.page("/account/tokens")
    css = Path(finders.find("frontend/components.css")).read_text()
    (width,) = re.findall(r"\.table \.what \{ min-inline-size: ([\d.]+)rem", css)
    assert float(width) >= 10


def test_token_of_somebody_else_is_not_there(reader, bob):
    factories.token(bob)
    pk = AccessToken.objects.get().pk
    reader.page(f"/account/tokens/{pk}/revoke", 404)
    assert reader.post(f"/account/tokens/{pk}/revoke").status_code == 404
    assert AccessToken.objects.count() == 1


def test_sign_in_and_out(guest, ada):
    wrong = guest.post("/login", {"username": "ada", "password": "no"})
    assert "Incorrect user name or password." in wrong.content.decode()
    right = guest.post(
        "/login", {"username": "ada", "password": "a long enough password", "next": "/account"}
    )
    assert right["Location"] == "/account"
    assert guest.get("/logout").status_code == 405
    guest.post("/logout")
    assert guest.get("/account").status_code == 302


@pytest.mark.usefixtures("lists")
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


@pytest.mark.usefixtures("lists")
def test_queries_do_not_grow_with_rows(reader, ada, version):
    before = {}
    for path in ("/models", "/", "/models/ada/net/versions", "/jobs"):
        reader.page(path)
        with CaptureQueriesContext(connection) as first:
            reader.page(path)
        before[path] = len(first)
    assert max(before.values()) <= 35
    for index in range(3):
        factories.version(ada, version.model)
        factories.version(ada, factories.model(ada, f"net-{index}"))
    for path, count in before.items():
        with CaptureQueriesContext(connection) as then:
            reader.page(path)
        assert len(then) <= count, path


def test_model_page_has_a_fixed_number_of_queries(
    guest, version, django_assert_max_num_queries, graphs
):
    with django_assert_max_num_queries(27):
        guest.page("/models/ada/net/v/1")


@pytest.mark.usefixtures("lists")
def test_the_link_to_sign_in_leads_back_to_the_page(guest):
    assert 'href="/login?next=%2Fmodels%3Fq%3Dresnet"' in guest.page("/models?q=resnet")
    page = guest.page("/login?next=%2Fmodels")
    assert 'href="/login?next=%2Fmodels"' in page
    assert "next=%2Flogin" not in page
