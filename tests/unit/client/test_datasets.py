"""Publishing a data set from this machine, and reading it."""

from __future__ import annotations

import json
import sys

import pytest

import hub
from hub.cli import command as cli_command
from hub.protocol import problems

pytestmark = pytest.mark.usefixtures("default")

SPLITS = """\
- name: test
  task: classification
  reader: csv
  files: [test.csv]
  inputs:
    - {name: features, columns: [weight]}
  target: {column: kind, labels: [basalt, granite]}
"""


@pytest.fixture
def folder(tmp_path):
    base = tmp_path / "stones"
    (base / "notes").mkdir(parents=True)
    (base / ".git").mkdir()
    (base / ".git" / "config").write_text("secret")
    (base / "test.csv").write_text("weight,kind\n1.5,granite\n")
    (base / "notes" / "README.md").write_text("# Stones\n")
    (base / "splits.yaml").write_text(SPLITS)
    return base


def run(capsys, *arguments):
    code = cli_command.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_folder_becomes_a_version_and_its_splits_are_no_file(fake, folder):
    version = hub.push_dataset("stones", folder, namespace="ada", message="First")
    assert [file["path"] for file in version["files"]] == ["notes/README.md", "test.csv"]
    assert [split["name"] for split in version["splits"]] == ["test"]
    assert (version["number"], version["message"]) == (1, "First")
    assert fake.datasets["stones"]["namespace"] == "ada"


def test_only_what_the_hub_misses_is_sent(fake, folder):
    hub.push_dataset("stones", folder, namespace="ada")
    sent = fake.received_bytes
    assert hub.push_dataset("stones", folder)["number"] == 1
    assert fake.received_bytes == sent
    (folder / "more.csv").write_bytes(b"12345")
    (folder / "same.csv").write_bytes(b"12345")
    assert hub.push_dataset("stones", folder)["number"] == 2
    assert fake.received_bytes == sent + 5


def test_a_line_says_what_was_sent(fake, folder, capsys):
    hub.push_dataset("stones", folder, namespace="ada", progress=True)
    assert "stones: 2 files sent (33 B), 0 already on the hub, 0 copied" in capsys.readouterr().err
    hub.push_dataset("stones", folder, progress=True)
    assert "identical to version 1, so nothing was sent" in capsys.readouterr().err
    (folder / "more.csv").write_bytes(b"12345")
    (folder / "same.csv").write_bytes(b"12345")
    hub.push_dataset("stones", folder, progress=True)
    assert "stones: 1 file sent (5 B), 2 already on the hub, 1 copied" in capsys.readouterr().err


def test_a_quota_stops_a_push_before_it_sends(fake, folder):
    hub.push_dataset("stones", folder, namespace="ada")
    (folder / "more.csv").write_bytes(b"12345")
    fake.quota_bytes = 37
    with pytest.raises(problems.QuotaExceeded):
        hub.push_dataset("stones", folder)
    assert fake.count("POST", "/uploads") == 2  # those of the first push


def test_an_answer_that_is_lost_makes_no_second_version(fake, folder):
    hub.push_dataset("stones", folder, namespace="ada")
    (folder / "more.csv").write_bytes(b"12345")
    fake.linkable.add("5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5")
    fake.blobs["5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"] = b"12345"
    fake.lost.append(("POST", "/versions"))
    assert hub.push_dataset("stones", folder)["number"] == 2
    assert len(fake.dataset_versions["stones"]) == 2


@pytest.mark.parametrize("name", ["splits.json", "described.yaml"])
def test_splits_are_read_from_a_named_file_wherever_it_lies(fake, folder, name):
    (folder / "splits.yaml").unlink()
    split = {
        "name": "all", "task": "regression", "reader": "csv", "files": ["test.csv"],
        "inputs": [{"name": "x", "columns": ["weight"]}], "target": {"column": "kind"},
    }  # fmt: skip
    (folder / name).write_text(json.dumps([split]))
    version = hub.push_dataset("stones", folder, splits=folder / name, namespace="ada")
    assert [split["name"] for split in version["splits"]] == ["all"]
    assert name not in {file["path"] for file in version["files"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SPLITS.replace("test.csv", "other.csv"), "not a file of this version"),
        ("- [", "cannot be read"),
        ("test: {}", "must be a list"),
    ],
)
def test_splits_that_do_not_fit_stop_a_push_before_it_sends(fake, folder, text, words):
    (folder / "splits.yaml").write_text(text)
    with pytest.raises(problems.InvalidRequest, match=words):
        hub.push_dataset("stones", folder, namespace="ada")
    assert fake.requests == []


def test_without_pyyaml_splits_are_json(fake, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(problems.LibraryMissing, match=r"onnx-hub\[cli\]"):
        hub.push_dataset("stones", folder, namespace="ada")


def test_an_entry_is_made_only_where_a_namespace_is_given(fake, folder, capsys):
    code, _, err = run(capsys, "dataset", "push", "stones", str(folder))
    assert (code, "There is no data set stones." in err) == (3, True)
    assert "--namespace" in err
    assert fake.datasets == {}


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"creates": true, "missing": 3}'])
def test_an_answer_that_is_no_preflight(fake, folder, content):
    fake.answers.append((200, {"Content-Type": "application/json"}, content))
    with pytest.raises(problems.Unreachable, match="not what this client expects"):
        hub.push_dataset("stones", folder, namespace="ada")
    assert fake.count("POST", "/uploads") == 0


def test_a_link_out_of_the_folder_is_not_followed(fake, folder, tmp_path):
    (tmp_path / "secret.csv").write_text("secret")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(problems.InvalidRequest, match="outside"):
        hub.push_dataset("stones", folder, namespace="ada")


def test_the_command_pushes_shows_and_lists(fake, folder, capsys):
    code, out, _ = run(capsys, "dataset", "push", "stones", str(folder), "--namespace", "ada")
    digest = fake.dataset_versions["stones"][0]["sha256"]
    assert (code, out) == (0, f"stones@1 {digest}\n")
    code, out, _ = run(capsys, "dataset", "show", "stones")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith("digest"))
    assert (code, lines) == (0, {"digest": digest})
    assert "test: classification by csv, inputs features, target kind (2 labels)" in out
    assert run(capsys, "dataset", "list")[1].split() == ["stones", "not", "declared", "stones"]
    assert run(capsys, "dataset", "show", "stones@2")[0] == 3
    assert "names no version" in run(capsys, "dataset", "show", "stones@latest")[2]
    shown = json.loads(run(capsys, "dataset", "show", "stones@1", "--json")[1])
    assert shown["version"]["number"] == 1


def test_push_and_get_print_one_object(fake, folder, tmp_path, capsys):
    arguments = ("push", "stones", str(folder), "--namespace", "ada", "--json")
    code, out, _ = run(capsys, "dataset", *arguments)
    assert (code, json.loads(out)) == (0, fake.dataset_versions["stones"][0])
    here = tmp_path / "here"
    code, out, _ = run(capsys, "dataset", "get", "stones@1", "--to", str(here), "--json")
    assert (code, json.loads(out)) == (0, {"name": "stones@1", "folder": str(here)})
    assert (here / "test.csv").read_bytes() == (folder / "test.csv").read_bytes()


def test_a_version_is_downloaded_verified_and_once(fake, folder, tmp_path, capsys):
    hub.push_dataset("stones", folder, namespace="ada")
    code, out, _ = run(capsys, "dataset", "get", "stones@1", "--to", str(tmp_path / "here"))
    assert (code, out) == (0, f"{tmp_path / 'here'}\n")
    for path in ("test.csv", "notes/README.md"):
        assert (tmp_path / "here" / path).read_bytes() == (folder / path).read_bytes()
    sent = fake.sent_bytes
    hub.download_dataset("stones", tmp_path / "again")
    assert fake.sent_bytes == sent


def test_a_file_that_came_damaged_is_not_written(fake, folder, tmp_path):
    hub.push_dataset("stones", folder, namespace="ada")
    fake.corrupt |= {
        file["sha256"].removeprefix("sha256:")
        for file in fake.dataset_versions["stones"][0]["files"]
    }
    with pytest.raises(problems.DigestMismatch):
        hub.download_dataset("stones", tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_no_path_of_an_answer_leaves_the_folder(fake, folder, tmp_path):
    hub.push_dataset("stones", folder, namespace="ada")
    fake.dataset_versions["stones"][0]["files"][0]["path"] = "../up.csv"
    with pytest.raises(problems.PathInvalid):
        hub.download_dataset("stones", tmp_path / "here")
    assert not (tmp_path / "up.csv").exists()


def test_without_a_version_there_is_nothing_to_download(fake, folder, tmp_path):
    hub.push_dataset("stones", folder, namespace="ada")
    fake.dataset_versions["stones"].clear()
    with pytest.raises(problems.NotFound, match="no version"):
        hub.download_dataset("stones", tmp_path / "here")


def test_entries_are_listed_page_by_page(fake, monkeypatch):
    monkeypatch.setattr("hub.client.datasets.PAGE", 2)
    for name in "abc":
        fake.datasets[name] = {"slug": name}
    assert [row["slug"] for row in hub.list_datasets()] == ["a", "b", "c"]
    assert [row["slug"] for row in hub.list_datasets(limit=2)] == ["a", "b"]
    assert [row["slug"] for row in hub.list_datasets("c")] == ["c"]


def test_offline_needs_say_so(monkeypatch, folder):
    monkeypatch.setenv("HUB_OFFLINE", "1")
    for call in (
        lambda: hub.push_dataset("stones", folder),
        lambda: hub.dataset("stones"),
        hub.list_datasets,
    ):
        with pytest.raises(problems.NotCached):
            call()
