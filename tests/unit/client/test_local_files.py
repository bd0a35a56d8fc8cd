"""What a push takes of this machine: nothing outside the folder, and nothing but regular files."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from hub.client import local_files
from hub.client.push import Push
from hub.protocol import problems
from tests.unit.client.conftest import make_model


@pytest.fixture
def outside(tmp_path):
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret.txt").write_text("secret")
    return place


@pytest.fixture
def folder(tmp_path):
    base = tmp_path / "net"
    (base / "data").mkdir(parents=True)
    (base / "model.onnx").write_bytes(make_model()["model.onnx"])
    (base / "data" / "input_0.pb").write_bytes(b"input")
    return base


def refused(fake, client, *paths, match, **options):
    """Push what has to be refused before any request."""
    with pytest.raises(problems.HubError, match=match):
        client.push("ada/net", *paths, **options)
    assert fake.requests == []


LINKS = {
    "file": lambda folder, outside: (folder / "notes.txt").symlink_to(outside / "secret.txt"),
    "relative": lambda folder, _: (folder / "notes.txt").symlink_to("../outside/secret.txt"),
    "folder": lambda folder, outside: (folder / "notes.txt").symlink_to(outside),
    "deep": lambda folder, _: (folder / "data" / "notes.txt").symlink_to(
        "../../outside/secret.txt"
    ),
    "chain": lambda folder, outside: (
        (folder / "data" / "a").symlink_to(outside / "secret.txt"),
        (folder / "notes.txt").symlink_to("data/a"),
    ),
    "through a folder": lambda folder, outside: (
        (folder / ".hidden").symlink_to(outside),
        (folder / "notes.txt").symlink_to(".hidden/secret.txt"),
    ),
    "system": lambda folder, _: (folder / "notes.txt").symlink_to("/etc/hostname"),
    "model": lambda folder, outside: (folder / "notes.txt.onnx").symlink_to(outside / "secret.txt"),
}


@pytest.mark.parametrize("make", LINKS.values(), ids=LINKS)
def test_links_that_leave_the_folder_are_refused_by_name(fake, client, folder, outside, make):
    make(folder, outside)
    refused(fake, client, folder, match=r"notes\.txt.* -> /.*--follow-links")


@pytest.mark.parametrize("card", ["README.md", "given"])
def test_a_card_is_no_way_out(fake, client, folder, outside, card):
    if card == "README.md":
        (folder / "README.md").symlink_to(outside / "secret.txt")
        refused(fake, client, folder, match=r"README\.md -> ")
    else:
        (folder / "data" / "card.md").symlink_to(outside / "secret.txt")
        refused(fake, client, folder / "model.onnx", card=folder / "data" / "card.md",
                match="symbolic link")  # fmt: skip


def test_a_link_that_is_named_is_no_way_out(fake, client, folder, outside):
    (folder / "notes.txt").symlink_to(outside / "secret.txt")
    (folder / "more").symlink_to(outside)
    for link in ("notes.txt", "more"):
        refused(fake, client, folder / "model.onnx", folder / link, match="symbolic link to")


def test_links_within_the_folder_are_sent(fake, client, folder, tmp_path):
    (folder / "again.pb").symlink_to("data/input_0.pb")
    (folder / "data" / "up.pb").symlink_to(folder / "again.pb")
    (folder / "test_data_set_0").symlink_to("data")
    (tmp_path / "current").symlink_to("net")
    client.push("ada/net", tmp_path / "current")
    files = fake.versions["ada/net"][0]["files"]
    assert {file["path"] for file in files} == {
        "again.pb", "model.onnx", "data/input_0.pb", "data/up.pb",
        "test_data_set_0/input_0.pb", "test_data_set_0/up.pb",
    }  # fmt: skip
    sizes = [(folder / name).stat().st_size for name in ("model.onnx", "data/input_0.pb")]
    assert fake.received_bytes == sum(sizes)


def test_follow_links_sends_what_they_lead_to(fake, client, folder, outside):
    """The layout of a Hugging Face cache: a snapshot of links to blobs beside it."""
    (folder / "model.onnx").rename(outside / "blob")
    (folder / "model.onnx").symlink_to("../outside/blob")
    (folder / "more").symlink_to(outside)
    refused(fake, client, folder, match="follow_links=True")
    version = client.push("ada/net", folder, follow_links=True)
    assert {file["path"] for file in version["files"]} == {
        "model.onnx", "data/input_0.pb", "more/blob", "more/secret.txt"
    }  # fmt: skip


@pytest.mark.parametrize("follow_links", [False, True])
def test_broken_links_and_circles_are_refused(fake, client, folder, follow_links):
    (folder / "broken").symlink_to("nothing")
    refused(fake, client, folder, match="broken is a symbolic link.*not exist",
            follow_links=follow_links)  # fmt: skip
    (folder / "broken").unlink()
    (folder / "data" / "circle").symlink_to("..")
    refused(fake, client, folder, match="circle is a symbolic link to a folder that contains",
            follow_links=follow_links)  # fmt: skip
    (folder / "data" / "circle").unlink()
    (folder / "self").symlink_to("self")
    refused(fake, client, folder, match="self", follow_links=follow_links)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(path.parent)
        listener.bind(path.name)


SPECIAL = {
    "pipe": (os.mkfifo, "a named pipe"),
    "socket": (_socket, "a socket"),
    "device": (lambda path: os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5)), "a device"),
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("place", ["folder", "argument", "card", "link"])
def test_special_files_are_refused_and_not_opened(
    fake, client, folder, tmp_path, monkeypatch, kind, place
):
    monkeypatch.chdir(tmp_path)
    make, word = SPECIAL[kind]
    path = (folder if place == "folder" else tmp_path) / "odd.onnx"
    try:
        make(path)
    except PermissionError:
        make, word = SPECIAL["pipe"]  # devices are root's to make
        make(path)
    if place == "card":
        refused(fake, client, folder, card=path, match=word)
    elif place == "link":
        (folder / "link.onnx").symlink_to(path)
        refused(fake, client, folder, match=word, follow_links=True)
    else:
        refused(fake, client, folder if place == "folder" else path, match=word)


def test_external_data_outside_is_not_sent(fake, client, folder, outside):
    model = onnx.load(folder / "model.onnx")
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, location="../outside/secret.txt")
    tensor.ClearField("raw_data")
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    client.push("ada/net", folder)
    assert {file["path"] for file in fake.versions["ada/net"][0]["files"]} == {
        "model.onnx", "data/input_0.pb"
    }  # fmt: skip
    assert b"secret" not in fake.blobs.values()


@pytest.mark.parametrize("exchange", ["file", "folder"])
def test_a_link_made_while_the_folder_is_read(folder, outside, monkeypatch, exchange):
    """Between the look at a name and its opening another process puts a link there."""
    (outside / "input_0.pb").write_text("secret")
    original = local_files._status

    def late(real, root):
        if real.name == "input_0.pb":
            _exchange(folder, outside, exchange)
        return original(real, root)

    monkeypatch.setattr(local_files, "_status", late)
    with pytest.raises(problems.InvalidRequest, match="input_0"):
        local_files.collect([folder])


@pytest.mark.parametrize("exchange", ["file", "folder", "pipe"])
@pytest.mark.parametrize("moment", ["hash", "send"])
def test_a_link_made_before_the_file_is_sent(
    fake, client, folder, outside, monkeypatch, exchange, moment
):
    (outside / "input_0.pb").write_text("secret")
    if moment == "hash":
        original = local_files.measure

        def late(files, *, progress):
            _exchange(folder, outside, exchange)
            return original(files, progress=progress)

        monkeypatch.setattr(local_files, "measure", late)
        refused(fake, client, folder, match=r"input_0\.pb was exchanged|input_0\.pb")
        return
    send = Push.send

    def later(push, draft, files, lacking):
        _exchange(folder, outside, exchange)
        send(push, draft, files, lacking)

    monkeypatch.setattr(Push, "send", later)
    with pytest.raises(problems.HubError):
        client.push("ada/net", folder)
    assert b"secret" not in fake.blobs.values()
    assert all(b"secret" not in upload["bytes"] for upload in fake.uploads.values())


def _exchange(folder, outside, kind):
    if kind == "folder":
        (folder / "data").rename(folder.parent / "moved")
        (folder / "data").symlink_to(outside)
        return
    path = folder / "data" / "input_0.pb"
    if path.is_symlink() or path.is_fifo():
        return
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(outside / "secret.txt")


def test_the_command_names_the_option(fake, folder, outside, default):
    (folder / "notes.txt").symlink_to(outside / "secret.txt")
    command = [sys.executable, "-m", "hub", "push", "ada/net", str(folder)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert (done.returncode, fake.requests) == (1, [])
    assert f"notes.txt -> {outside}/secret.txt" in done.stderr
    assert "--follow-links" in done.stderr
    done = subprocess.run([*command, "--follow-links"], check=False, cwd=root, capture_output=True)
    assert done.returncode == 0


def test_results_of_a_folder_are_sent_and_other_hidden_names_are_not(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"x")
    for name in (
        ".eval_results/hle.yaml", ".eval_results/notes.txt", ".eval_results/.swap.yaml",
        ".eval_results/deep/more.yaml", ".git/config.yaml", "deep/.eval_results/hle.yaml",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("- {dataset: {id: a}, value: 1}")
    files, _ = local_files.collect([tmp_path])
    assert files.keys() == {"model.onnx", ".eval_results/hle.yaml"}
