"""Versions over HTTP: every state a version passes, and who may not move it."""

from __future__ import annotations

import hashlib

import pytest
import yaml

from hub.protocol import manifests, problems
from registry.models import Check, File, Ref, Version
from registry.versions.services import files, versions
from runners.models import Job
from tests import factories, samples, shared
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
V1 = "models/ada/net/versions/1"


@shared.rows
def start():
    """ada/net with one published version, which has a label."""
    return factories.published(factories.somebody("ada"), label="1.4.0")


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def submit(client, **body):
    return client.post(f"{V1}/submit", body)


@pytest.mark.usefixtures("lists")
def test_the_whole_way_over_http(api, ada, events_delivered):
    client = api(ada)
    content = samples.mlp()
    sha256 = hashlib.sha256(content).hexdigest()
    client.post("models", {"namespace": "ada", "name": "net"})
    made = client.post("models/ada/net/versions", {"message": "First"})
    assert made.status_code == 201
    assert (made.json()["number"], made.json()["state"]) == (1, "draft")
    uploaded = client.upload(content, claimed=sha256)
    assert (uploaded.status_code, uploaded["Hub-Blob"]) == (204, f"sha256:{sha256}")
    put = client.put(f"{V1}/files/model.onnx", {"blob": f"sha256:{sha256}"})
    assert put.status_code == 201
    assert put.json()["size"] == len(content)
    card = client.put(f"{V1}/card", factories.CARD, content_type="text/markdown")
    assert card.status_code == 200
    with events_delivered():
        answer = submit(client, publish=True)
    assert answer.json()["state"] == "submitted"
    opened = [(check["kind"], check["outcome"]) for check in answer.json()["checks"]]
    assert opened == [("card", "pending"), ("onnx", "pending")]
    problem(api().get(V1), 404, "not-found")
    assert factories.work() == 3  # describe, check, and then its graph
    version = api().get(V1).json()
    assert version["state"] == "published"
    assert len(version["commit_id"]) == 40
    readme = factories.CARD.encode()
    entries = [
        ("model.onnx", sha256, len(content)),
        ("README.md", hashlib.sha256(readme).hexdigest(), len(readme)),
    ]
    assert version["manifest_sha256"] == f"sha256:{manifests.digest(entries)}"
    assert [variant["opset"] for variant in version["variants"]] == [17]
    model = api().get("models/ada/net").json()
    assert model["license"] == "apache-2.0"
    assert model["task"] == "image-classification"
    assert model["summary"] == "It tells digits apart."
    assert {"name": "main", "kind": "branch", "number": 1} in model["refs"]
    assert api().get("resolve?ref=ada/net").json()["files"][1]["sha256"] == f"sha256:{sha256}"


@pytest.mark.usefixtures("lists")
def test_a_failed_check_sends_the_version_back_and_says_why(api, ada):
    factories.submitted(ada)
    factories.work("failed")
    version = api(ada).get(V1).json()
    assert version["state"] == "draft"
    [card, check] = version["checks"]
    assert (card["kind"], card["outcome"]) == ("card", "passed")
    assert check["outcome"] == "failed"
    assert check["report"]["files"][0]["findings"][0]["message"] == (
        "crashed: SIGSEGV in runtime load"
    )
    problem(api().get("models/ada/net"), 404, "not-found")
    assert not Ref.objects.exists()


def test_a_mended_draft_is_checked_again(api, ada):
    version = factories.submitted(ada)
    factories.work("failed")
    client = api(ada)
    assert client.put_file(V1, "model.onnx", samples.mlp(hidden=5)).status_code == 200
    assert submit(client).status_code == 200
    factories.work()
    version.refresh_from_db()
    assert version.state == Version.State.PUBLISHED
    assert Job.objects.filter(version=version).exclude(kind="skeleton").count() == 3


def test_nothing_of_a_submitted_version_can_be_changed(api, ada):
    factories.submitted(ada, publish=False)
    client = api(ada)
    digest = factories.blob(ada, b"other")
    for response in (
        client.put(f"{V1}/files/more.txt", {"blob": digest}),
        client.delete(f"{V1}/files/model.onnx"),
        client.put(f"{V1}/card", "x", content_type="text/markdown", If_Match="*"),
        client.delete(V1),
        submit(client),
    ):
        problem(response, 409, "state-conflict")
    assert File.objects.count() == 2


def test_publishing_waits_for_the_checks(api, ada):
    factories.submitted(ada, publish=False)
    client = api(ada)
    problem(client.post(f"{V1}/publish"), 409, "checks-pending")
    factories.work()
    assert Version.objects.get().state == Version.State.SUBMITTED
    assert client.post(f"{V1}/publish").json()["state"] == "published"


@pytest.mark.parametrize(
    ("outcome", "refusal"),
    [
        ("failed", problems.ChecksFailed),
        ("errored", problems.ChecksFailed),
        ("pending", problems.ChecksPending),
        ("", problems.ChecksPending),
    ],
)
@pytest.mark.parametrize("kind", ["card", "onnx"])
def test_nothing_is_published_that_did_not_pass_every_check(ada, kind, outcome, refusal):
    version = factories.submitted(ada, publish=False)
    version.checks.update(outcome="passed")
    check = version.checks.filter(kind=kind)
    check.update(outcome=outcome) if outcome else check.delete()
    with pytest.raises(refusal):
        versions.publish(ada, version=version)
    version.refresh_from_db()
    assert version.state == Version.State.SUBMITTED


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_an_end_without_a_reason_is_none(ada, published, reason):
    for end in (versions.yank, versions.withdraw):
        with pytest.raises(problems.InvalidRequest):
            end(ada, version=published, reason=reason)
    assert Version.objects.get().state == Version.State.PUBLISHED


def test_a_late_report_on_other_bytes_changes_nothing(api, ada):
    from registry.versions.services import checks

    version = factories.submitted(ada)
    assert not checks.settle(
        version=version, manifest_sha256="0" * 64, kind="onnx", outcome="passed", report={}
    )
    version.refresh_from_db()
    assert version.state == Version.State.SUBMITTED
    assert Check.objects.get(kind="onnx").outcome == Check.Outcome.PENDING


def test_yank_restore_withdraw(api, ada, published):
    second = factories.published(ada, published.model, {"model.onnx": samples.mlp(hidden=9)})
    client, guest = api(ada), api()
    two = "models/ada/net/versions/2"
    problem(client.post(f"{two}/yank", {"reason": " "}), 400, "invalid-request")
    assert client.post(f"{two}/yank", {"reason": "wrong labels"}).json()["state"] == "yanked"
    assert guest.get("resolve?ref=ada/net").json()["number"] == 1
    pinned = guest.get("resolve?ref=ada/net@2")
    assert pinned.json()["number"] == 2
    assert "wrong labels" in pinned.json()["warning"]
    assert client.post(f"{two}/restore").json()["state"] == "published"
    assert guest.get("resolve?ref=ada/net").json()["number"] == 2
    withdrawn = client.post(f"{two}/withdraw", {"reason": "consent was withdrawn"})
    assert withdrawn.json()["state"] == "withdrawn"
    problem(guest.get(f"{two}/files/model.onnx"), 410, "withdrawn")
    problem(guest.get("resolve?ref=ada/net@2"), 410, "withdrawn")
    sha256 = second.files.get(path="model.onnx").blob_id
    problem(guest.get(f"blobs/{sha256}"), 404, "not-found")
    page = guest.get(two).json()
    assert (page["reason"], page["files"][1]["sha256"]) == (
        "consent was withdrawn",
        f"sha256:{sha256}",
    )
    problem(client.post(f"{two}/restore"), 409, "state-conflict")


@pytest.mark.usefixtures("lists")
def test_a_model_is_described_by_its_newest_published_version(api, ada):
    model = factories.model(ada)
    for licence in ("mit", "gpl-3.0"):
        factories.version(ada, model, card=f"---\nlicense: {licence}\n---\n# {licence}\n")
    client = api(ada)
    described = lambda: client.get("models/ada/net").json()["license"]  # noqa: E731
    assert described() == "gpl-3.0"
    client.post("models/ada/net/versions/2/yank", {"reason": "not ours to publish"})
    assert described() == "mit"
    client.post("models/ada/net/versions/2/restore")
    assert described() == "gpl-3.0"
    client.post("models/ada/net/versions/2/withdraw", {"reason": "not ours to publish"})
    assert described() == "mit"


def test_roles_and_scopes_of_each_verb(api, ada, bob, published):
    from registry.models import Membership, Namespace

    Membership.objects.create(namespace=Namespace.objects.get(slug="ada"), user=bob, role="writer")
    for client, status in ((api(), 401), (api(bob), 403), (api(ada, ["write"]), 403)):
        for verb in ("yank", "withdraw"):
            assert client.post(f"{V1}/{verb}", {"reason": "x"}).status_code == status, verb
        answer = client.put("models/ada/net/refs/stable", {"kind": "alias", "version": 1})
        assert answer.status_code == status
    assert Version.objects.get().state == Version.State.PUBLISHED
    assert api(bob).post("models/ada/net/versions", {}).status_code == 201


def test_a_draft_is_seen_by_writers_alone(api, ada, bob, published):
    factories.draft(ada, published.model)
    assert len(api(ada).get("models/ada/net/versions").json()["items"]) == 2
    for client in (api(), api(bob)):
        assert len(client.get("models/ada/net/versions").json()["items"]) == 1
        problem(client.get("models/ada/net/versions/2"), 404, "not-found")
        problem(client.get("models/ada/net/versions/2/files/model.onnx"), 404, "not-found")


@pytest.mark.parametrize("way", ["models/ada/net/versions/99", "resolve?ref=ada/net@99"])
def test_a_version_that_is_not_there_names_those_that_are(api, ada, bob, published, way):
    factories.draft(ada, published.model)
    for client, words in ((api(bob), "the version 1."), (api(ada), "the versions 2, 1.")):
        answer = client.get(way)
        problem(answer, 404, "not-found")
        detail = answer.json()["detail"]
        assert "ada/net@99 does not name a version that you can see." in detail
        assert words in detail
        address = "/api/v1/models/ada/net/versions"
        assert f"`hub info ada/net` and {address} list them." in detail
        assert 1 in [row["number"] for row in client.get(address).json()["items"]]


def test_a_version_gives_the_inputs_that_its_card_declares(api, ada):
    declared = "{pixels: {image: {channels: gray, scale: 0-1}}, old: {range: [1, 0]}}"
    version = factories.draft(ada, card="---\nlicense: mit\n---\n# Net\n")
    version.card = yaml.safe_load(f"inputs: {declared}")
    version.save(update_fields=["card"])
    found = api(ada).get("models/ada/net/versions/1").json()["inputs"]
    assert found == {"pixels": {"image": {"channels": "grey", "scale": "0-1"}}}


def test_a_model_without_versions_says_so(api, ada):
    factories.model(ada, "new")
    detail = api(ada).get("models/ada/new/versions/1").json()["detail"]
    assert detail == "ada/new@1 does not exist: ada/new has no version that you can see."


def test_aliases_move_and_tags_do_not(api, ada, published):
    factories.version(ada, published.model, {"model.onnx": samples.mlp(hidden=9)})
    client = api(ada)
    refs = "models/ada/net/refs"
    assert client.put(f"{refs}/stable", {"kind": "alias", "version": 1}).status_code == 201
    assert client.put(f"{refs}/stable", {"kind": "alias", "version": 2}).status_code == 200
    assert client.get("resolve?ref=ada/net@stable").json()["number"] == 2
    assert client.put(f"{refs}/v1.0", {"kind": "tag", "version": 1}).status_code == 201
    problem(client.put(f"{refs}/v1.0", {"kind": "tag", "version": 2}), 409, "name-taken")
    for name in ("latest", "7", "a" * 40):
        assert client.put(f"{refs}/{name}", {"kind": "alias", "version": 1}).status_code == 422
    assert client.get("resolve?ref=ada/net@v1.0").json()["number"] == 1
    assert client.delete(f"{refs}/stable").status_code == 204
    problem(client.get("resolve?ref=ada/net@stable"), 404, "not-found")


def test_references_of_every_form_resolve(api, published):
    guest = api()
    for ref in (
        "ada/net",
        "ADA/NET",
        "ada/net@1",
        "ada/net@latest",
        "ada/net@main",
        "ada/net@1.4.0",
        f"ada/net@{published.commit_id}",
        f"ada/net@sha256:{published.manifest_sha256}",
        "ada/net:default",
    ):
        assert guest.get(f"resolve?ref={ref}").json().get("number") == 1, ref
    problem(guest.get("resolve?ref=ada/net&opset=99"), 404, "variant-missing")
    problem(guest.get("resolve?ref=ada/net@2"), 404, "not-found")
    problem(guest.get("resolve?ref=a/b/c/d"), 400, "invalid-reference")


@pytest.mark.parametrize(
    ("path", "content", "status", "slug"),
    [
        ("model.onnx", samples.lfs_pointer(), 422, "not-onnx"),
        ("model.onnx", samples.pickle_file(), 422, "not-onnx"),
        ("../model.onnx", b"x", 422, "path-invalid"),
        ("a/./b", b"x", 422, "path-invalid"),
        ("README.md", b"---\nlicense: [a\n---\n", 422, "card-invalid"),
        ("README.md", b"\xff\xfe", 422, "card-invalid"),
        ("README.md", b"---\na: &x [1]\nb: *x\n---\n", 422, "card-invalid"),
    ],
)
def test_files_that_cannot_be_are_refused_and_nothing_changes(
    api, ada, path, content, status, slug
):
    version = factories.draft(ada, card="")
    problem(api(ada).put_file(V1, path, content), status, slug)
    assert list(version.files.values_list("path", flat=True)) == ["model.onnx"]


@pytest.mark.parametrize("path", ["model.onnx/a", "a", "a/b/c/d"])
def test_a_path_is_not_a_file_and_a_folder_at_once(api, ada, path):
    version = factories.draft(
        ada, contents={"model.onnx": samples.mlp(), "a/b/c": b"c", "ab": b"ab"}, card=""
    )
    before = list(version.files.values_list("path", "blob"))
    problem(api(ada).put_file(V1, path, b"x"), 422, "path-invalid")
    assert list(version.files.values_list("path", "blob")) == before


def test_a_blob_must_be_uploaded_or_readable_to_be_linked(api, ada, bob, published):
    private = factories.model(ada, "secret", visibility="private")
    secret = factories.version(ada, private, {"model.onnx": samples.mlp(hidden=11)})
    sha256 = secret.files.get(path="model.onnx").blob_id
    factories.draft(bob, card="")
    target = "models/bob/net/versions/1/files/stolen.onnx"
    known = api(bob).put(target, {"blob": f"sha256:{sha256}"})
    unknown = api(bob).put(target, {"blob": f"sha256:{'0' * 64}"})
    assert (
        problem(known, 422, "blob-unknown")["detail"].replace(sha256, "0" * 64)
        == (problem(unknown, 422, "blob-unknown")["detail"])
    )
    public = published.files.get(path="README.md").blob_id
    answer = api(bob).put("models/bob/net/versions/1/files/a.md", {"blob": f"sha256:{public}"})
    assert answer.status_code == 201


def test_a_version_needs_a_model(api, ada):
    factories.draft(ada, contents={"weights.bin": b"\0" * 10}, card="")
    problem(submit(api(ada)), 422, "model-missing")
    assert Version.objects.get().state == Version.State.DRAFT


def test_numbers_are_never_given_twice(api, ada):
    client = api(ada)
    factories.draft(ada)
    assert client.delete(V1).status_code == 204
    assert client.post("models/ada/net/versions", {}).json()["number"] == 2


def test_a_namespace_over_its_quota_is_told_so(api, ada):
    from registry.models import Namespace

    factories.draft(ada)
    Namespace.objects.filter(slug="ada").update(quota_bytes=5_000)
    client = api(ada)
    document = problem(client.upload(b"x" * 5_000), 413, "quota-exceeded")
    assert 0 < document["room_bytes"] < 5_000
    digest = factories.blob(ada, b"x" * 5_000)
    problem(client.put(f"{V1}/files/more.bin", {"blob": digest}), 413, "quota-exceeded")
    assert File.objects.count() == 2


def test_a_version_costs_a_fixed_number_of_queries(api, ada, published):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def cost(number):
        with CaptureQueriesContext(connection) as captured:
            assert api().get(f"models/ada/net/versions/{number}").status_code == 200
        return len(captured)

    many = {f"f{index}.txt": b"x" * index for index in range(12)}
    factories.published(ada, published.model, {"model.onnx": samples.mlp(), **many})
    assert cost(1) == cost(2) <= 8


def test_each_branch_has_its_own_newest_version(ada):
    from registry.models import Branch
    from registry.versions import lifecycle, selectors

    model = factories.model(ada)
    first = factories.submitted(ada, model, publish=False)
    Branch.objects.create(model=model, name="dev")
    model.refresh_from_db()
    second = lifecycle.draft(model, ada, branch="dev")
    digest = factories.blob(ada, samples.mlp(hidden=9))
    files.put(ada, version=second, path="model.onnx", digest=digest)
    for version in (Version.objects.get(pk=second.pk), Version.objects.get(pk=first.pk)):
        if version.branch == "dev":
            lifecycle.freeze(version, ada, publish=False)
        version.checks.update(outcome="passed")
        lifecycle.publish(lifecycle.lock(version), ada)
    named = {ref.name: ref.version.number for ref in Ref.objects.select_related("version")}
    assert named == {"main": 1, "dev": 2}
    model.refresh_from_db()
    assert model.license == "apache-2.0"
    assert selectors.latest(ada, model).number == 1
