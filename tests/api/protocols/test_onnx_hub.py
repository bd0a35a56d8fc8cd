"""The addresses of `onnx.hub`: the manifest, what it costs, and the files it names."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
from dataclasses import replace

import onnx.helper
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hub.protocol.runtime_builds import PORTABLE
from registry.core import outbox, usage
from registry.models import Event, RegisteredModel
from registry.protocols.onnx_hub import archives, manifest, manifest_cache, scope
from registry.versions.services import derivatives, refs, registered_models, versions
from tests import factories, samples
from tests.proven import PROOF

pytestmark = [pytest.mark.capability("onnx_hub"), pytest.mark.django_db]
HEAD = "/onnx-hub"
ALL = f"{HEAD}/onnx/models/main/ONNX_HUB_MANIFEST.json"
PORTS = {
    "inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 4]}],
    "outputs": [
        {
            "name": "y",
            "type": "sequence",
            "element": {"type": "map", "key": "int64", "value": {"dtype": "float64"}},
        }
    ],
}
DATA = {
    "test_data_set_0/input_0.pb": b"\x08\x01",
    "test_data_set_0/output_0.pb": b"\x08\x02",
    "test_data_set_10/input_0.pb": b"",
}
FACTS = factories.FACTS | PORTS | {"external_files": []}


def body(answer):
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return gzip.decompress(content) if answer.get("Content-Encoding") == "gzip" else content


def publish(owner, name="net", contents=None, facts=None, **described):
    """A published version of facts as a worker finds them."""
    of = RegisteredModel.objects.filter(name=name).first()
    of = of or factories.model(owner, name, **described)
    version = factories.version(owner, of, contents, facts=FACTS | (facts or {}))
    outbox.deliver()
    return version


def upgraded(
    version, opset=18, name="opset18", origin="upgraded", content=b"upgraded", proof=PROOF
):
    sha256, _ = derivatives.store_bytes(io.BytesIO(content))
    return derivatives.attach(
        version=version,
        manifest_sha256=version.manifest_sha256,
        derived=derivatives.DerivedVariant(
            name=name,
            origin=origin,
            source="default",
            outputs=(derivatives.Output(f"model.{name}.onnx", sha256),),
            facts=FACTS | {"opset": opset},
            derivation={},
            job_uuid="00000000-0000-0000-0000-000000000001",
            proof=proof if origin == "upgraded" else None,
        ),
    )


def entries_of(answer):
    assert answer.status_code == 200, answer.content
    return json.loads(body(answer))


def test_an_entry_says_what_clients_read(api, ada):
    version = publish(ada)
    [entry] = entries_of(api().get(ALL))
    model = samples.mlp()
    assert entry == {
        "model": "ada/net",
        "model_path": "ada/net@1/model.onnx",
        "onnx_version": "1.12.0",
        "opset_version": 17,
        "metadata": {
            "model_sha": hashlib.sha256(model).hexdigest(),
            "model_bytes": len(model),
            "tags": ["digits", "tiny", "image-classification"],
            "io_ports": {
                "inputs": [{"name": "x", "shape": ["N", 4], "type": "tensor(float)"}],
                "outputs": [{"name": "y", "shape": None, "type": "seq(map(int64,tensor(double)))"}],
            },
            "extra_ports": {"features": []},
            "hub": {
                "ref": "ada/net@1:default",
                "license": "apache-2.0",
                "task": "image-classification",
            },
        },
    }
    file = api().get(f"{HEAD}/media/onnx/models/main/{entry['model_path']}")
    assert body(file) == model
    usage.notes.flush()
    version.model.refresh_from_db()
    assert version.model.downloads == 1


def test_releases_are_those_of_onnx():
    first = {}
    for release, _, opset, *_ in onnx.helper.VERSION_TABLE:
        first.setdefault(opset, release)
    assert first == manifest.RELEASES
    assert manifest._release_of(None) == ""
    assert manifest._release_of(4) == "1.0"


def test_an_upgrade_that_was_not_shown_to_be_equal_has_a_name_of_its_own(api, ada):
    version = publish(ada)
    upgraded(version, proof=None)
    found = {(one["model"], one["opset_version"]) for one in entries_of(api().get(ALL))}
    assert found == {("ada/net", 17), ("ada/net:opset18", 18)}


def test_each_opset_is_an_entry_and_other_variants_have_names(api, ada):
    version = publish(ada)
    upgraded(version)
    upgraded(version, 17, "fp16", "converted", b"half")
    upgraded(version, 17, "opset17", "upgraded", b"again")
    found = {(one["model"], one["opset_version"]): one for one in entries_of(api().get(ALL))}
    assert set(found) == {
        ("ada/net", 17), ("ada/net", 18), ("ada/net:fp16", 17), ("ada/net:opset17", 17),
    }  # fmt: skip
    for (_, opset), name, content in (
        (("ada/net", 18), "ada/net", b"upgraded"),
        (("", 17), "ada/net:fp16", b"half"),
    ):
        path = found[name, opset]["model_path"]
        assert body(api().get(f"{HEAD}/media/any/thing/at/all/{path}")) == content


def test_an_opset_that_some_runtimes_do_not_load_has_a_name_of_its_own(api, ada):
    """Clients take the highest opset under a name."""
    version = publish(ada)
    upgraded(version, 26, "opset26", content=b"portable")
    upgraded(version, PORTABLE.opset + 1, "opset27", content=b"newest")
    entries = entries_of(api().get(ALL))
    assert {(entry["model"], entry["opset_version"]) for entry in entries} == {
        ("ada/net", 17), ("ada/net", 26), ("ada/net:opset27", 27),
    }  # fmt: skip


def test_a_model_that_some_runtimes_do_not_load_keeps_its_name_unless_a_variant_is_better(api, ada):
    version = publish(ada, facts={"opset": PORTABLE.opset + 1})
    [entry] = entries_of(api().get(ALL))
    assert (entry["model"], entry["opset_version"]) == ("ada/net", 27)
    upgraded(version, 26, "opset26")
    entries = entries_of(api().get(ALL))
    assert {(entry["model"], entry["opset_version"]) for entry in entries} == {
        ("ada/net", 26), ("ada/net:default", 27),
    }  # fmt: skip


def test_models_with_weights_in_other_files_are_not_listed(api, ada):
    publish(ada, facts={"external_files": [{"path": "w.bin", "bytes": 3}]})
    assert entries_of(api().get(ALL)) == []
    assert api().get(f"{HEAD}/ada/net/main/ONNX_HUB_MANIFEST.json").status_code == 404


def test_repositories_and_refs(api, ada, bob, admin):
    publish(ada)
    second = publish(ada, contents={"model.onnx": samples.mlp(hidden=9)})
    publish(bob, "other")
    refs.put(ada, model=second.model, name="champion", kind="alias", number=1)

    def paths(repo, ref="main", **headers):
        answer = api().get(f"{HEAD}/{repo}/{ref}/ONNX_HUB_MANIFEST.json", **headers)
        if answer.status_code == 404:
            return None
        return [one["model_path"] for one in entries_of(answer)]

    assert paths("onnx/models") == ["ada/net@2/model.onnx", "bob/other@1/model.onnx"]
    assert paths("ada/models") == paths("Ada/Net") == ["ada/net@2/model.onnx"]
    assert paths("ada/models", "HEAD") == paths("ada/models", "latest") == paths("ada/net")
    assert paths("ada/models", "champion") == ["ada/net@1/model.onnx"]
    assert paths("onnx/models", "@champion") == ["ada/net@1/model.onnx"]
    for word in ("1", "v1", "@1"):
        assert paths("ada/net", word) == ["ada/net@1/model.onnx"]
    assert paths("ada/net", second.commit_id) == ["ada/net@2/model.onnx"]
    for repo, ref in (
        ("ada/no", "main"),
        ("no/models", "main"),
        ("ada/net", "no"),
        ("bob/net", "main"),
    ):
        assert paths(repo, ref) is None
    versions.yank(ada, version=second, reason="wrong")
    assert paths("ada/net") == ["ada/net@1/model.onnx"]
    assert paths("ada/net", "v2") == ["ada/net@2/model.onnx"]
    versions.withdraw(ada, version=second, reason="harmful")
    assert paths("ada/net", "v2") is None
    answer = api().get(f"{HEAD}/media/ada/net/v2/ada/net@2/model.onnx")
    assert answer.status_code == 410


def test_an_unchanged_manifest_costs_one_question_and_304(api, ada):
    publish(ada)
    first = api().get(ALL)
    with CaptureQueriesContext(connection) as asked:
        again = api().get(ALL, If_None_Match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert len(asked) == 1, [query["sql"] for query in asked]
    packed = api().get(ALL, Accept_Encoding="gzip")
    assert packed["Content-Encoding"] == "gzip"
    assert body(packed) == body(first)


@pytest.mark.usefixtures("lists")
def test_a_manifest_follows_what_happens(api, ada):
    version = publish(ada)
    tags = [api().get(ALL)["ETag"]]
    upgraded(version)
    tags.append(api().get(ALL)["ETag"])
    publish(ada, contents={"model.onnx": samples.mlp(hidden=9)})
    tags.append(api().get(ALL)["ETag"])
    answer = api(ada).get("models/ada/net")
    api(ada).patch("models/ada/net", {"visibility": "private"}, If_Match=answer["ETag"])
    answer = api().get(ALL)
    assert entries_of(answer) == []
    tags.append(answer["ETag"])
    assert len(set(tags)) == 4
    factories.draft(ada, factories.model(ada, "later"))
    assert api().get(ALL)["ETag"] == tags[-1]


def test_an_event_that_was_committed_late_is_seen(ada):
    version = publish(ada)
    seen = manifest_cache.public(scope.Scope.of("onnx", "models", "main"))
    rows, is_whole = manifest_cache._events(seen.top)
    assert is_whole
    assert manifest_cache._changed(seen, rows) == set()
    published = Event.objects.get(verb="version.published").pk
    lacks = replace(seen, seen=seen.seen - {published})
    assert manifest_cache._changed(lacks, rows) == {version.model_id}
    assert (
        manifest_cache._changed(lacks, [*rows, (published + 9_999, "namespace.edited", None)])
        is None
    )


def test_only_what_changed_is_made_anew(api, ada, bob, monkeypatch):
    publish(ada)
    publish(bob, "other")
    first = entries_of(api().get(ALL))
    made = []
    kept_entries = manifest.entries

    def entries(of, pages):
        for pair in kept_entries(of, pages):
            made.append(pair[1]["model"])
            yield pair

    monkeypatch.setattr(manifest, "entries", entries)
    publish(bob, "other", {"model.onnx": samples.mlp(hidden=9)})
    second = entries_of(api().get(ALL))
    assert made == ["bob/other"]
    assert [one["model_path"] for one in second] == [
        "ada/net@1/model.onnx",
        "bob/other@2/model.onnx",
    ]
    assert second[0] == first[0]
    monkeypatch.setattr(manifest_cache, "MOST_CHANGED", 0)
    publish(ada, contents={"model.onnx": samples.mlp(hidden=10)})
    entries_of(api().get(ALL))
    assert made == ["bob/other", "ada/net", "bob/other"]


def test_private_models_need_a_token(api, ada, bob):
    publish(ada, "secret", visibility="private")
    publish(bob, "open")
    path = f"{HEAD}/media/ada/secret/main/ada/secret@1/model.onnx"
    named = f"{HEAD}/ada/secret/main/ONNX_HUB_MANIFEST.json"
    names = [one["model"] for one in entries_of(api(ada, ["read"]).get(ALL))]
    assert names == ["bob/open", "ada/secret"]
    mine = api(ada, ["read"]).get(named)
    assert [one["model"] for one in entries_of(mine)] == ["secret"]
    assert entries_of(mine)[0]["metadata"]["hub"]["private"] is True
    assert api(ada).get(named, If_None_Match=mine["ETag"]).status_code == 304
    file = api(ada, ["read"]).get(path)
    assert body(file) == samples.mlp()
    assert "public" not in file["Cache-Control"]
    for caller in (api(), api(bob)):
        assert [one["model"] for one in entries_of(caller.get(ALL))] == ["bob/open"]
        costs = []
        for name in ("secret", "missing"):
            caller.get(named.replace("secret", name))
            with CaptureQueriesContext(connection) as asked:
                hidden = caller.get(named.replace("secret", name))
                media = caller.get(path.replace("secret", name))
            costs.append(len(asked))
            assert (hidden.status_code, media.status_code) == (404, 404)
        assert costs[0] == costs[1]


def test_gated_models_are_not_given_away(api, ada):
    version = publish(ada)
    RegisteredModel.objects.filter(pk=version.model_id).update(gate="manual")
    assert entries_of(api().get(ALL)) == []
    assert api().get(f"{HEAD}/media/ada/net/main/ada/net@1/model.onnx").status_code == 404


def test_a_manifest_from_before_a_model_moved_still_leads_to_its_files(api, ada):
    version = publish(ada)
    [old] = entries_of(api().get(ALL))
    space = version.model.namespace
    registered_models.move(ada, model=version.model, namespace=space, name="renamed")
    [new] = entries_of(api().get(ALL))
    assert (old["model"], new["model"]) == ("ada/net", "ada/renamed")
    for path in (old["model_path"], new["model_path"]):
        assert body(api().get(f"{HEAD}/media/ada/net/main/{path}")) == samples.mlp()


def test_a_model_comes_with_its_test_data_always_as_the_same_bytes(api, ada):
    publish(ada, contents={"model.onnx": samples.mlp(), "notes.txt": b"no", **DATA})
    outbox.deliver()
    [entry] = entries_of(api().get(ALL))
    told = entry["metadata"]
    assert told["model_with_data_path"] == "ada/net@1/model.onnx.with-data.tar.gz"
    address = f"{HEAD}/media/onnx/models/main/{told['model_with_data_path']}"
    answer = api().get(address)
    packed = body(answer)
    assert len(packed) == told["model_with_data_bytes"] == int(answer["Content-Length"])
    assert hashlib.sha256(packed).hexdigest() == told["model_with_data_sha"]
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as read:
        found = {one.name: read.extractfile(one).read() for one in read}
    expected = {"net/model.onnx": samples.mlp()} | {
        f"net/{path}": raw for path, raw in DATA.items()
    }
    assert found == expected
    head = api()("HEAD", address)
    assert (head["Content-Length"], body(head)) == (answer["Content-Length"], b"")
    assert api().get(address, If_None_Match=answer["ETag"]).status_code == 304


def test_the_digest_of_an_archive_is_null_until_it_is_known(api, ada, monkeypatch):
    monkeypatch.setattr(archives, "_on_event", lambda _: None)
    monkeypatch.setitem(outbox._handlers, "registry.onnx_hub", lambda _: None)
    publish(ada, contents={"model.onnx": samples.mlp(), **DATA})
    outbox.deliver()
    [entry] = entries_of(api().get(ALL))
    assert entry["metadata"]["model_with_data_sha"] is None
    packed = body(api().get(f"{HEAD}/media/a/b/main/{entry['metadata']['model_with_data_path']}"))
    assert entries_of(api().get(ALL))[0]["metadata"]["model_with_data_sha"] is None
    monkeypatch.setattr(manifest_cache, "WAITING_SECONDS", 0)
    [entry] = entries_of(api().get(ALL))
    assert entry["metadata"]["model_with_data_sha"] == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 511, 512, 65_535 * 2 - 512 * 3, 200_001])
def test_archives_of_every_size_are_sound(ada, size):
    content = bytes(range(256)) * (size // 256 + 1)
    stored = factories.blob(ada, content[:size]).removeprefix("sha256:")
    long = "test_data_set_0/" + "x" * 120
    found = archives.archive(
        "net", archives.Stored("a", stored, size), [archives.Stored(long, stored, size)]
    )
    packed = b"".join(found.stream())
    assert len(packed) == found.size
    assert found.sha256() == hashlib.sha256(packed).hexdigest()
    assert gzip.decompress(packed)
    with tarfile.open(fileobj=io.BytesIO(packed)) as read:
        assert read.getnames() == ["net/model.onnx", f"net/{long}"]
        assert read.extractfile(f"net/{long}").read() == content[:size]


def test_the_format_of_archives_is_pinned(ada):
    """Whoever changes how archives are written changes `FORMAT` too, and then this."""
    stored = factories.blob(ada, b"model").removeprefix("sha256:")
    packed = b"".join(archives.archive("net", archives.Stored("m", stored, 5), []).stream())
    pinned = "3027e19ce2a5fd65f51a5a62ba0e7f1a65c47d79e42791d548668c8359f83858"
    assert archives.FORMAT == "tar-stored-1"
    assert hashlib.sha256(packed).hexdigest() == pinned


def test_pages_hold_every_model_once(api, ada, monkeypatch):
    monkeypatch.setattr(scope, "PAGE", 2)
    for place in range(5):
        factories.version(ada, factories.model(ada, f"net{place}"))
    names = [one["model"] for one in entries_of(api().get(ALL))]
    assert names == [f"ada/net{place}" for place in range(5)]


def test_the_cost_of_writing_a_manifest_does_not_grow_with_models(api, ada):
    costs = []
    for place in range(3):
        factories.version(ada, factories.model(ada, f"net{place}"))
        with CaptureQueriesContext(connection) as asked:
            entries_of(api().get(ALL))
        costs.append(len(asked))
    assert costs[0] == costs[-1] <= 7


def test_paths_are_written_as_addresses(api, ada):
    publish(ada, contents={"a folder/mödel #1.onnx": samples.mlp()})
    [entry] = entries_of(api().get(ALL))
    assert re.fullmatch(r"[!-~]+", entry["model_path"])
    assert body(api().get(f"{HEAD}/media/a/b/c/{entry['model_path']}")) == samples.mlp()
