"""`hub import zoo` from a folder, into a hub that answers as one does."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict

import pytest

from hub.cli import command as cli_command
from hub.client.hub import Hub
from hub.client.imports import zoo as zoo_import
from hub.client.imports import zoo_cards, zoo_source
from hub.client.imports.zoo import Options, import_zoo
from hub.client.imports.zoo_source import hub_name
from hub.protocol import problems
from tests.unit.client.imports.test_untar import pack, special

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"


@pytest.fixture
def target(fake, tmp_path, monkeypatch):
    """A hub to import into, with nothing in it."""
    fake.token = "hf_secret"
    fake.versions = defaultdict(list)
    monkeypatch.setenv("HUB_URL", fake.url)
    monkeypatch.setenv("HUB_TOKEN", "hf_secret")
    return fake


@pytest.fixture
def zoo(tmp_path):
    """A folder with two opsets of a model, one with test data."""
    made = Zoo(tmp_path / "zoo")
    made.add("ResNet 50", 7, b"seven")
    made.add("ResNet 50", 12, b"twelve", data={"test_data_set_0/input_0.pb": b"in"})
    return made


class Zoo:
    def __init__(self, folder):
        self.folder = folder
        self.entries = []
        self.manifest = folder / "ONNX_HUB_MANIFEST.json"

    def add(self, model, opset, content, *, data=None, members=(), **changed):
        name = f"{hub_name(model)}-{opset}"
        path = f"vision/{name}.onnx"
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        told = {
            "model_sha": hashlib.sha256(content).hexdigest(),
            "tags": ["vision", "classification"],
        }
        if data is not None:
            archive = self.folder / f"vision/{name}.tar.gz"
            pack(archive, (f"{name}/model.onnx", content),
                 *((f"{name}/{path}", raw) for path, raw in data.items()), *members)  # fmt: skip
            told |= {
                "model_with_data_path": f"vision/{name}.tar.gz",
                "model_with_data_sha": hashlib.sha256(archive.read_bytes()).hexdigest(),
            }
        entry = {
            "model": model, "model_path": path, "onnx_version": "1", "opset_version": opset,
            "metadata": told | changed,
        }  # fmt: skip
        self.entries.append(entry)
        self.write()
        return file

    def write(self):
        self.manifest.write_text(json.dumps(self.entries))

    def run(self, **options):
        return import_zoo(Hub(), str(self.manifest), options=Options(progress=False, **options))


def held(fake, name):
    """The files of a model's newest version, by path."""
    return {
        file["path"]: fake.blobs[file["sha256"].removeprefix("sha256:")]
        for file in fake.versions[name][-1]["files"]
    }


def test_all_opsets_become_one_version(target, zoo):
    [outcome] = zoo.run()
    assert str(outcome) == "imported  zoo/resnet-50  @1  opset 12, 7; 1 data sets"
    assert outcome.failures == []
    assert held(target, "zoo/resnet-50") == {
        "model.onnx": b"twelve",
        "test_data_set_0/input_0.pb": b"in",
        "opset7/model.onnx": b"seven",
    }
    [version] = target.versions["zoo/resnet-50"]
    assert version["state"] == "published"
    card = version["card"]
    assert 'tags: ["vision", "classification"]' in card
    assert 'pipeline_tag: "image-classification"' in card
    assert '"manifest": "ONNX_HUB_MANIFEST.json"' in card
    assert str(zoo.folder) not in card
    assert hashlib.sha256(b"seven").hexdigest() in card
    assert "license" not in card


def test_what_is_there_is_passed_over(target, zoo):
    zoo.run()
    sent = len(target.uploads)
    (zoo.folder / "vision/resnet-50-7.onnx").unlink()  # nothing is even read
    [again] = zoo.run()
    assert (again.status, again.text, again.failures) == ("present", "@1  published already", [])
    assert (len(target.uploads), len(target.versions["zoo/resnet-50"])) == (sent, 1)


def test_what_somebody_else_published_is_not_published_again(target, zoo):
    del zoo.entries[1]
    zoo.write()
    target.add("zoo/resnet-50", {"any.onnx": b"seven"})
    [outcome] = zoo.run()
    assert (outcome.status, outcome.text) == ("present", "@1  has identical files")


def test_a_new_opset_is_a_new_version(target, zoo):
    zoo.run()
    zoo.add("ResNet 50", 17, b"seventeen")
    [outcome] = zoo.run()
    assert outcome.text == "@2  opset 17, 12, 7; 1 data sets"
    assert held(target, "zoo/resnet-50")["opset12/test_data_set_0/input_0.pb"] == b"in"


def test_a_run_that_was_cut_is_gone_on_with(target, zoo, monkeypatch):
    from hub.client import push

    kept = push.Push.submit
    monkeypatch.setattr(
        push.Push, "submit", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        zoo.run()
    [draft] = target.versions["zoo/resnet-50"]
    assert draft["state"] == "draft"
    monkeypatch.setattr(push.Push, "submit", kept)
    sent = len(target.uploads)
    [outcome] = zoo.run()
    assert (outcome.status, len(target.versions["zoo/resnet-50"])) == ("imported", 1)
    assert len(target.uploads) == sent


def test_a_run_that_was_cut_while_it_waited_waits_again(target, zoo, monkeypatch):
    from hub.client import push

    kept = push.Push.wait
    monkeypatch.setattr(
        push.Push, "wait", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        zoo.run()
    assert target.versions["zoo/resnet-50"][0]["state"] == "submitted"
    monkeypatch.setattr(push.Push, "wait", kept)
    [outcome] = zoo.run()
    assert (outcome.status, len(target.versions["zoo/resnet-50"])) == ("imported", 1)


def test_pointers_are_missing_and_the_rest_is_imported_once(target, zoo):
    zoo.add("Pointer", 9, POINTER, model_sha="1" * 64)
    zoo.add("ResNet 50", 9, POINTER, model_sha="2" * 64)
    for _ in range(2):
        found = {outcome.ref: outcome for outcome in zoo.run()}
        pointer, other = found["zoo/pointer"], found["zoo/resnet-50"]
        assert pointer.status == "failed"
        assert "Git LFS pointer" in pointer.failures[0]
        assert "opset 9" in other.failures[0]
    assert other.status == "present"
    assert set(held(target, "zoo/resnet-50")) == {
        "model.onnx", "opset7/model.onnx", "test_data_set_0/input_0.pb",
    }  # fmt: skip
    assert len(target.versions["zoo/resnet-50"]) == 1
    assert "zoo/pointer" not in target.models


def test_other_bytes_than_the_manifest_says_are_not_imported(target, zoo):
    zoo.add("Wrong", 9, b"bytes", model_sha="3" * 64)
    outcome = zoo.run()[-1]
    assert outcome.status == "failed"
    assert "the manifest states" in outcome.failures[0]
    assert "zoo/wrong" not in target.models


def test_test_data_that_is_not_safe_is_left_out_and_told(target, zoo):
    data = {"test_data_set_0/input_0.pb": b"in"}
    link = special("net/test_data_set_0/output_0.pb", b"2", "/etc/passwd")
    zoo.add("Linked", 9, b"linked", data=data, members=[link])
    outcome = zoo.run()[-1]
    assert outcome.status == "imported"
    assert "link or a device" in outcome.failures[0]
    assert set(held(target, "zoo/linked")) == {"model.onnx"}
    again = zoo.run()[-1]
    assert (again.status, len(target.versions["zoo/linked"])) == ("present", 1)


def test_files_outside_the_folder_are_not_read(target, zoo, tmp_path):
    (tmp_path / "secret.onnx").write_bytes(b"secret")
    link = zoo.add("Link", 9, b"secret")
    link.unlink()
    link.symlink_to(tmp_path / "secret.onnx")
    zoo.add("Up", 9, b"secret")
    zoo.entries[-1]["model_path"] = "../secret.onnx"
    zoo.write()
    found = {outcome.ref: outcome for outcome in zoo.run()}
    assert "is not in" in found["zoo/link"].failures[0]
    assert "points outside" in found["zoo/up"].failures[0]


def test_entries_that_are_none_and_names_that_clash_are_told(target, zoo):
    zoo.add("resnet-50", 13, b"other")
    zoo.entries += [{"model": "Half"}, "nothing", {"model": "Bad", "model_path": "x",
                    "opset_version": 1, "metadata": {"model_sha": "zz"}}]  # fmt: skip
    zoo.write()
    found = {outcome.ref: outcome for outcome in zoo.run()}
    assert "have the same name on the hub" in found["zoo/resnet-50"].failures[0]
    assert found["zoo/resnet-50"].status == "imported"
    for name in ("half", "unnamed", "bad"):
        assert found[f"zoo/{name}"].status == "failed"


def test_what_is_private_stays_private(target, zoo):
    for entry in zoo.entries:
        entry["metadata"]["hub"] = {"private": True}
    zoo.write()
    target.models["lab/resnet-50"] = {"ref": "lab/resnet-50", "visibility": "public"}
    [refused] = zoo.run(namespace="lab")
    assert refused.status == "failed"
    assert "lab/resnet-50 is public" in refused.failures[0]
    assert target.versions["lab/resnet-50"] == []
    [outcome] = zoo.run()
    assert outcome.status == "imported"
    assert target.models["zoo/resnet-50"]["visibility"] == "private"


def test_the_command_tells_and_fails(target, zoo, capsys):
    zoo.add("Wrong", 9, b"bytes", model_sha="3" * 64)
    command = [
        "import",
        "zoo",
        str(zoo.manifest),
        "--quiet",
        "--license",
        "mit",
        "--namespace",
        "lab",
    ]
    assert cli_command.main(command) == 1
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "imported  lab/resnet-50  @1  opset 12, 7; 1 data sets",
        "failed    lab/wrong  (1 failed)",
        "2 models: 1 failed, 1 imported",
    ]
    assert said.err.startswith("hub: lab/wrong: opset 9: vision/wrong-9.onnx has the digest")
    assert 'license: "mit"' in target.versions["lab/resnet-50"][0]["card"]
    assert cli_command.main([*command, "--only", "ResNet 50"]) == 0


def test_without_a_token_nothing_begins(target, zoo, monkeypatch):
    monkeypatch.delenv("HUB_TOKEN")
    with pytest.raises(problems.NotAuthenticated):
        zoo.run()


def test_a_manifest_at_an_address_with_its_files(target, other, zoo):
    for path in (zoo.manifest, *zoo.folder.rglob("*.onnx"), *zoo.folder.rglob("*.gz")):
        other.answers.append((200, {}, path.read_bytes()))
    names = [path.name for path in (*zoo.folder.rglob("*.onnx"), *zoo.folder.rglob("*.gz"))]
    assert sorted(names) == ["resnet-50-12.onnx", "resnet-50-12.tar.gz", "resnet-50-7.onnx"]
    # Fetched in the order of the manifest.
    other.answers.clear()
    for path in ("ONNX_HUB_MANIFEST.json", "vision/resnet-50-7.onnx", "vision/resnet-50-12.onnx",
                 "vision/resnet-50-12.tar.gz"):  # fmt: skip
        other.answers.append((200, {}, (zoo.folder / path).read_bytes()))
    [outcome] = import_zoo(
        Hub(), f"{other.url}/z/ONNX_HUB_MANIFEST.json", options=Options(progress=False)
    )
    assert (outcome.status, outcome.failures) == ("imported", [])
    asked = [path for _, path, _ in other.requests]
    assert asked[0] == "/z/ONNX_HUB_MANIFEST.json"
    assert asked[1] == "/z/vision/resnet-50-7.onnx"
    assert all("authorization" not in headers for *_, headers in other.requests)


def test_where_files_lie_is_known_from_the_manifest():
    raw = "https://raw.githubusercontent.com/onnx/models/main/ONNX_HUB_MANIFEST.json"
    assert zoo_source.files_of(raw) == "https://media.githubusercontent.com/media/onnx/models/main"
    ours = "https://hub.example/base/onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json"
    assert zoo_source.files_of(ours) == "https://hub.example/base/onnx-hub/media/onnx/models/main"
    assert zoo_source.files_of("https://a.example/z/m.json") == "https://a.example/z"
    assert zoo_source.files_of("some/where/m.json") == "some/where"


@pytest.mark.parametrize(
    ("member", "place"),
    [
        ("net/test_data_set_0/input_0.pb", "test_data_set_0/input_0.pb"),
        ("test_data_set_12/output_3.pb", "test_data_set_12/output_3.pb"),
        ("a/b/test_data_set_0/input_0.pb", "test_data_set_0/input_0.pb"),
        ("net/._test_data_set_0/input_0.pb", None),
        ("net/test_data_set_0/._input_0.pb", None),
        ("net/test_data_set_x/input_0.pb", None),
        ("net/test_data_set_0/model.onnx", None),
        ("net/model.onnx", None),
    ],
)
def test_values_of_archives_have_a_place(member, place):
    assert zoo_import.data_path(member) == place


def test_tasks_are_not_guessed():
    assert zoo_cards.task_of(["vision", "classification", "resnet"]) == "image-classification"
    assert zoo_cards.task_of(["vision", "super_resolution"]) == "image-to-image"
    assert zoo_cards.task_of(["text", "machine comprehension"]) == ""
    assert zoo_cards.task_of(["vision", "object detection segmentation"]) == ""


@pytest.mark.parametrize(
    ("zoo_name", "name"),
    [("VGG 16-bn", "vgg-16-bn"), ("MobileNet v2-1.0", "mobilenet-v2-1.0"), ("net:fp16", "net-fp16"),
     ("a__b..c--d", "a__b.c-d"), (" .x.git", "x")],
)  # fmt: skip
def test_names_of_the_zoo_become_names_of_a_hub(zoo_name, name):
    assert hub_name(zoo_name) == name
