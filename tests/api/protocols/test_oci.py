"""The OCI distribution protocol: pulls of a published version, refusals, and what stays hidden."""

from __future__ import annotations

import base64
import hashlib
import io
import json

import pytest

from registry.core import usage
from registry.models import Namespace, Version
from registry.protocols.oci import repositories
from registry.versions.services import derivatives, refs, registered_models, versions
from tests import factories, samples, shared
from tests.proven import PROOF

pytestmark = [pytest.mark.capability("oci"), pytest.mark.django_db]
CONTENTS = {
    "model.onnx": samples.mlp(),
    "deep/notes.txt": b"deep\n",
    "config.json": b'{"hidden": 1}',
    "data_0.npz": b"PK",
}
MODEL = "application/vnd.cncf.model.manifest.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@shared.rows
def start():
    """ada/net at its first version, published."""
    return factories.published(factories.somebody("ada"), contents=CONTENTS)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def body(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def basic(secret):
    return {"Authorization": f"Basic {base64.b64encode(f'any:{secret}'.encode()).decode()}"}


def manifest(client, reference="1", **headers):
    answer = client.get(f"/v2/ada/net/manifests/{reference}", headers=headers)
    assert answer.status_code == 200, answer.content
    return answer


def code(answer, status):
    assert answer.status_code == status, answer.content
    return answer.json()["errors"][0]["code"]


def test_a_version_is_a_model_artifact_of_its_own_files(version, client):
    answer = manifest(client)
    content = json.loads(answer.content)
    assert answer["Docker-Content-Digest"] == digest(answer.content)
    assert (answer["Content-Type"], content["mediaType"]) == (MANIFEST, MANIFEST)
    assert content["artifactType"] == MODEL
    layers = {layer["annotations"]["org.cncf.model.filepath"]: layer for layer in content["layers"]}
    assert {
        path: layer["mediaType"].removeprefix("application/vnd.cncf.model.")
        for path, layer in layers.items()
    } == {
        "README.md": "doc.v1.raw",
        "config.json": "weight.config.v1.raw",
        "data_0.npz": "dataset.v1.raw",
        "deep/notes.txt": "doc.v1.raw",
        "model.onnx": "weight.v1.raw",
    }
    for path, stored in CONTENTS.items():
        assert layers[path]["digest"] == digest(stored)
        blob = client.get(f"/v2/ada/net/blobs/{layers[path]['digest']}")
        assert (body(blob), blob["Docker-Content-Digest"]) == (stored, digest(stored))
    config = client.get(f"/v2/ada/net/blobs/{content['config']['digest']}")
    assert digest(config.content) == content["config"]["digest"]
    assert config.json()["modelfs"]["diffIds"] == [layer["digest"] for layer in content["layers"]]
    assert config.json()["descriptor"] == {"version": "1", "revision": version.commit_id}


def test_a_manifest_is_found_by_its_digest_before_and_after_its_tag(version, client):
    other = factories.published(
        version.created_by, version.model, {"model.onnx": samples.mlp(hidden=3)}
    )
    by_tag = {number: manifest(client, number) for number in ("1", "2")}
    repositories.cache.clear()
    for number, answer in by_tag.items():
        for _ in range(2):
            again = manifest(client, answer["Docker-Content-Digest"])
            assert again.content == answer.content, number
    assert manifest(client, "latest").content == by_tag["2"].content
    assert manifest(client, "v1").content == by_tag["1"].content
    assert other.number == 2
    missing = client.get(f"/v2/ada/net/manifests/sha256:{'0' * 64}")
    assert code(missing, 404) == "MANIFEST_UNKNOWN"
    assert code(client.get(f"/v2/ada/net/blobs/sha256:{'0' * 64}"), 404) == "BLOB_UNKNOWN"
    assert code(client.get("/v2/ada/net/blobs/md5:1"), 404) == "BLOB_UNKNOWN"


def test_heads_and_ranges(version, client):
    stored = CONTENTS["model.onnx"]
    path = f"/v2/ada/net/blobs/{digest(stored)}"
    head = client.head(path)
    assert (head.status_code, head["Content-Length"]) == (200, str(len(stored)))
    part = client.get(path, headers={"Range": "bytes=3-9"})
    assert (part.status_code, body(part)) == (206, stored[3:10])
    assert client.get(path, headers={"Range": "bytes=99999999-"}).status_code == 416
    whole = manifest(client)
    head = client.head("/v2/ada/net/manifests/1")
    assert head.content == b""
    for name in ("Content-Length", "Docker-Content-Digest", "Content-Type", "ETag"):
        assert head[name] == whole[name]
    part = client.get("/v2/ada/net/manifests/1", headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, whole.content[:4])
    unchanged = client.get("/v2/ada/net/manifests/1", headers={"If-None-Match": whole["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_tags_are_numbers_and_names_that_fit(version, client):
    owner = version.created_by
    for name in ("champion", "release/1"):
        refs.put(owner, model=version.model, name=name, kind="alias", number=1)
    factories.draft(owner, version.model, {"model.onnx": samples.mlp(hidden=4)})
    tags = client.get("/v2/ada/net/tags/list").json()
    assert tags == {"name": "ada/net", "tags": ["1", "champion", "latest"]}
    assert manifest(client, "champion").content == manifest(client).content
    page = client.get("/v2/ada/net/tags/list?n=2")
    assert page.json()["tags"] == ["1", "champion"]
    following = page["Link"].partition(">")[0][1:]
    assert client.get(following).json()["tags"] == ["latest"]
    assert code(client.get("/v2/ada/net/manifests/2"), 404) == "MANIFEST_UNKNOWN"


def test_digests_survive_a_move_a_yank_and_a_new_card(version, client):
    owner, before = version.created_by, manifest(client)
    versions.yank(owner, version=version, reason="Wrong labels")
    assert manifest(client).content == before.content
    assert client.get("/v2/ada/net/tags/list").json()["tags"] == []
    factories.namespace(owner, "lab")
    space = Namespace.objects.get(slug="lab")
    registered_models.move(owner, model=version.model, namespace=space, name="renamed")
    for place in ("ada/net", "lab/renamed"):
        answer = client.get(f"/v2/{place}/manifests/{before['Docker-Content-Digest']}")
        assert answer.content == before.content


def test_evidence_refers_to_the_manifest(version, client):
    subject = manifest(client)["Docker-Content-Digest"]
    rows = client.get(f"/v2/ada/net/referrers/{subject}").json()
    assert rows["mediaType"] == "application/vnd.oci.image.index.v1+json"
    (checks,) = rows["manifests"]
    assert checks["annotations"] == {"in-toto.io/predicate-type": "urn:onnx-hub:checks:1"}
    assert checks["artifactType"] == "application/vnd.in-toto+json"
    repositories.cache.clear()
    answer = manifest(client, checks["digest"])
    assert json.loads(answer.content)["subject"]["digest"] == subject
    layer = json.loads(answer.content)["layers"][0]
    statement = client.get(f"/v2/ada/net/blobs/{layer['digest']}").json()
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert {"name": "model.onnx", "digest": {"sha256": digest(CONTENTS["model.onnx"])[7:]}} in (
        statement["subject"]
    )
    assert {row["outcome"] for row in statement["predicate"]["checks"]} == {"passed"}
    empty = client.get(f"/v2/ada/net/blobs/{json.loads(answer.content)['config']['digest']}")
    assert empty.content == b"{}"
    filtered = client.get(f"/v2/ada/net/referrers/{subject}?artifactType=other")
    assert (filtered.json()["manifests"], filtered["OCI-Filters-Applied"]) == ([], "artifactType")
    unknown = client.get(f"/v2/ada/net/referrers/sha256:{'0' * 64}")
    assert (unknown.status_code, unknown.json()["manifests"]) == (200, [])


def test_the_proof_of_a_variant_refers_too(version, client):
    sha256, _ = derivatives.store_bytes(io.BytesIO(b"upgraded"))
    subject = manifest(client)["Docker-Content-Digest"]
    variant = derivatives.attach(
        version=version,
        manifest_sha256=version.manifest_sha256,
        derived=derivatives.DerivedVariant(
            name="opset18",
            origin="upgraded",
            source="default",
            outputs=(derivatives.Output("model.opset18.onnx", sha256),),
            facts=factories.FACTS | {"opset": 18},
            derivation={},
            job_uuid="00000000-0000-0000-0000-000000000001",
            proof=PROOF,
        ),
    )
    _, row = client.get(f"/v2/ada/net/referrers/{subject}").json()["manifests"]
    assert row["annotations"]["onnx-hub.variant"] == variant.name
    assert row["annotations"]["onnx-hub.strength"] == "certified"
    repositories.cache.clear()
    [layer] = manifest(client, row["digest"]).json()["layers"]
    repositories.cache.clear()
    statement = client.get(f"/v2/ada/net/blobs/{layer['digest']}").json()
    assert statement["subject"] == [{"name": "model.opset18.onnx", "digest": {"sha256": sha256}}]
    assert statement["predicate"]["strength"] == "certified"
    assert statement["predicate"]["proof"]["nodes"] == PROOF.nodes
    # The version's own artifact stays as it was, whatever is derived from it.
    assert manifest(client)["Docker-Content-Digest"] == subject


def test_a_private_model_looks_like_a_missing_one(version, client):
    owner = version.created_by
    subject = manifest(client)["Docker-Content-Digest"]
    blob = digest(CONTENTS["model.onnx"])
    registered_models.edit(owner, model=version.model, visibility="private")
    stranger = factories.token(factories.user("eve"), ("read",))
    paths = ["manifests/1", f"manifests/{subject}", f"blobs/{blob}", "tags/list"]
    for path in [*paths, f"referrers/{subject}"]:
        for headers, status, expected in (
            ({}, 401, "UNAUTHORIZED"),
            ({"Authorization": "Bearer anonymous"}, 401, "UNAUTHORIZED"),
            ({"Authorization": f"Bearer {stranger}"}, 404, "NAME_UNKNOWN"),
        ):
            answers = []
            for name in ("net", "gone"):
                answer = client.get(f"/v2/ada/{name}/{path}", headers=headers)
                assert code(answer, status) == expected
                challenge = answer.headers.get("WWW-Authenticate", "")
                answers.append([text.replace(name, "…") for text in (
                    answer.content.decode(), challenge)])  # fmt: skip
            assert answers[0] == answers[1]
    own = factories.token(owner, ("read",))
    assert manifest(client, **basic(own))["Docker-Content-Digest"] == subject
    # Another model of the caller's does not open it.
    factories.published(
        owner, factories.model(owner, "open"), {"model.onnx": samples.mlp(hidden=5)}
    )
    answer = client.get(f"/v2/ada/open/blobs/{blob}")
    assert code(answer, 404) == "BLOB_UNKNOWN"


def test_guests_and_users_get_tokens(version, client):
    answer = client.get("/v2/")
    assert code(answer, 401) == "UNAUTHORIZED"
    assert answer["WWW-Authenticate"] == ('Bearer realm="http://testserver/v2/token",service="hub"')
    guest = client.get("/v2/token?service=hub&scope=repository:ada/net:pull").json()["token"]
    assert client.get("/v2/", headers={"Authorization": f"Bearer {guest}"}).status_code == 200
    secret = factories.token(version.created_by, ("read",))
    answer = client.get("/v2/token", headers=basic(secret))
    assert answer["Cache-Control"] == "no-store"
    own = answer.json()["token"]
    assert client.get("/v2/", headers={"Authorization": f"Bearer {own}"}).status_code == 200
    assert code(client.get("/v2/token", headers=basic("hf_wrong")), 401) == "UNAUTHORIZED"
    wrong = client.get("/v2/ada/net/manifests/1", headers={"Authorization": "Bearer hf_wrong"})
    assert code(wrong, 401) == "UNAUTHORIZED"


def test_gated_files_are_refused_in_words(version, client):
    registered_models.edit(version.created_by, model=version.model, gate="manual")
    answer = client.get("/v2/ada/net/manifests/1")
    assert code(answer, 401) == "UNAUTHORIZED"
    assert "Access to ada/net is restricted" in answer.json()["errors"][0]["message"]
    eve = factories.user("eve")
    headers = {"Authorization": f"Bearer {factories.token(eve, ('read',))}"}
    blob = f"/v2/ada/net/blobs/{digest(CONTENTS['model.onnx'])}"
    assert code(client.get(blob, headers=headers), 403) == "DENIED"


def test_a_push_is_refused_in_words(version, client):
    for method, path in (
        ("post", "blobs/uploads/"),
        ("patch", "blobs/uploads/1"),
        ("put", "manifests/new"),
        ("delete", "manifests/1"),
        ("delete", f"blobs/sha256:{'0' * 64}"),
    ):
        answer = getattr(client, method)(f"/v2/ada/net/{path}")
        assert code(answer, 405) == "UNSUPPORTED"
        assert "hub push" in answer.json()["errors"][0]["message"]
    assert code(client.get("/v2/net/manifests/1"), 404) == "NAME_UNKNOWN"
    assert Version.objects.count() == 1


def test_a_pull_counts_as_a_download_once(version, client):
    usage.notes.clear()
    body(client.get(f"/v2/ada/net/blobs/{digest(CONTENTS['model.onnx'])}"))
    body(client.get(f"/v2/ada/net/blobs/{digest(CONTENTS['config.json'])}"))
    manifest(client)
    usage.notes.flush()
    version.model.refresh_from_db()
    assert version.model.downloads == 1
