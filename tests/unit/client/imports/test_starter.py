"""`hub import starter` against a hub that answers as the API does."""

from __future__ import annotations

import json

import pytest

from hub.cli import command
from hub.client import api
from hub.client.imports import starter
from hub.client.rest.starter import Package, StarterModel
from hub.protocol import problems
from tests import wheels


def package(content=b"wheel", *, is_stored=False, name="net"):
    return Package(
        name=name, version="1.0", archive=f"{name}-1.0-py3-none-any.whl", size=len(content),
        sha256=f"sha256:{wheels.sha256(content)}", is_stored=is_stored,
    )  # fmt: skip


def model(name="net", state="absent", *, is_first=True, detail="", packages=()):
    return StarterModel(
        name=name, summary="", task="other", license="MIT", code_license="MIT", is_first=is_first,
        size=1, state=state, progress=0, detail=detail, packages=packages,
        ref=f"zoo/{name}@1" if state == "published" else "",
    )  # fmt: skip


class Answers:
    """A hub whose models change their state each time they are read."""

    def __init__(self, *models, then=()):
        self.starter = self
        self.models = {each.name: each for each in models}
        self.then = list(then)
        self.requested = []

    def list(self):
        return tuple(self.models.values())

    def read(self, name):
        return self.then.pop(0)

    def request_import(self, name):
        self.requested.append(name)
        return self.models[name]


@pytest.fixture
def served(monkeypatch, client):
    """Make a hub of these models the one of the command; its uploads go to a real server."""

    def serve(*models, then=()):
        answers = Answers(*models, then=then)
        answers.transport, answers.cache = client.transport, client.cache
        monkeypatch.setattr(api, "default_hub", lambda: answers)
        monkeypatch.setattr(starter, "POLL_SECONDS", 0.0)
        return answers

    return serve


def run(capsys, *arguments):
    code = command.main(["import", "starter", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def names(rows):
    return [row.name for row in rows]


def test_the_first_models_are_chosen_unless_others_are_named():
    hub = Answers(model("a"), model("b", is_first=False))
    assert names(starter.select(hub, [], is_all=False)) == ["a"]
    assert names(starter.select(hub, [], is_all=True)) == ["a", "b"]
    assert names(starter.select(hub, ["b", "b"], is_all=False)) == ["b"]
    with pytest.raises(problems.NotFound, match=r"'c'.*a, b"):
        starter.select(hub, ["c"], is_all=False)


def test_models_that_are_there_are_not_requested():
    rows = [model("a"), model("b", "published"), model("c", "failed"), model("d", "queued")]
    hub = Answers(*rows)
    starter.request(hub, rows)
    assert hub.requested == ["a", "c", "d"]


def test_waiting_ends_when_no_import_is_in_progress(monkeypatch):
    monkeypatch.setattr(starter, "POLL_SECONDS", 0.0)
    hub = Answers(then=[model("a", "running"), model("a", "running"), model("a", "published")])
    changes = []
    rows = starter.wait(hub, [model("a", "queued"), model("b", "failed")], changes.append)
    assert [row.state for row in rows] == ["published", "failed"]
    assert [row.state for row in changes] == ["queued", "failed", "running", "published"]


def test_an_archive_that_is_not_in_the_folder_is_named(tmp_path):
    rows = [model(packages=(package(),))]
    with pytest.raises(problems.NotFound, match=r"no net-1\.0-py3-none-any\.whl, which net needs"):
        starter.bring(Answers(), rows, tmp_path, progress=False)


def test_another_archive_in_the_folder_is_not_sent(tmp_path):
    (tmp_path / package().archive).write_bytes(b"other")
    with pytest.raises(problems.DigestMismatch, match=r"Fetch net 1\.0 again"):
        starter.bring(Answers(), [model(packages=(package(),))], tmp_path, progress=False)


def test_what_the_hub_stores_needs_no_file(tmp_path):
    rows = [model(packages=(package(is_stored=True),)), model("b", "published")]
    starter.bring(Answers(), rows, tmp_path, progress=False)


def test_the_command_lists_all_models_and_imports_none(served, capsys):
    hub = served(model("a", "published"), model("b", is_first=False))
    code, out, err = run(capsys, "--list")
    assert (code, err, hub.requested) == (0, "", [])
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["NAME", "STATE", "LICENCE", "SIZE", "SUMMARY"]
    assert [row[:3] for row in rows] == [["a", "published", "MIT"], ["b", "absent", "MIT"]]
    assert [row["name"] for row in json.loads(run(capsys, "--list", "--json")[1])] == ["a", "b"]


def test_the_command_uploads_archives_of_a_folder_before_it_asks(served, fake, capsys, tmp_path):
    (tmp_path / package().archive).write_bytes(b"wheel")
    hub = served(
        model(packages=(package(),)), then=[model(state="running"), model(state="published")]
    )
    hub.request_import = lambda name: (
        hub.requested.append((name, list(fake.blobs.values()))) or model(state="queued")
    )
    code, out, _ = run(capsys, "--from", str(tmp_path))
    assert code == 0
    assert hub.requested == [("net", [b"wheel"])]
    assert out.split() == ["queued", "net", "running", "net", "published", "net", "zoo/net@1"]


def test_without_a_network_the_command_says_so_in_one_line(served, capsys):
    detail = (
        "pip could not fetch net 1.0 (no network). Check the worker's network and pip's "
        "configuration, or bring the file: hub import starter --from FOLDER, with "
        "net-1.0-py3-none-any.whl in it."
    )
    hub = served(model())
    hub.request_import = lambda _: model(state="failed", detail=detail)
    code, out, err = run(capsys, "--quiet")
    assert (code, out) == (1, "")
    assert err == f"hub: net: {detail}\n"
