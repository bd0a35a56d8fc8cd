from __future__ import annotations

import json

import pytest

from hub.client import checks
from hub.client import push as pushing
from hub.protocol import problems
from tests.unit.client.conftest import make_model

CARD = "---\nlicense: apache-2.0\n---\n# Ones\n"


@pytest.fixture(autouse=True)
def _sizes(monkeypatch):
    """The model and its weights are uploads of their own; only `data/` travels in one request."""
    monkeypatch.setattr(pushing, "SMALL_BYTES", 20)


@pytest.fixture
def folder(tmp_path):
    """A folder of a model with external data, a card, and things that must not be sent."""
    base = tmp_path / "ones"
    (base / "data").mkdir(parents=True)
    (base / ".git").mkdir()
    (base / ".git" / "config").write_text("secret")
    (base / ".hidden").write_text("secret")
    for path, content in make_model(rows=8, location="weights.bin").items():
        (base / path).write_bytes(content)
    (base / "data" / "input_0.pb").write_bytes(b"input")
    (base / "README.md").write_text(CARD)
    return base


def test_push_publishes_a_folder(fake, client, folder):
    version = client.push("ada/ones", folder, message="first", label="1.0")
    assert (version["ref"], version["state"]) == ("ada/ones@1", "published")
    stored = fake.versions["ada/ones"][0]
    assert sorted(file["path"] for file in stored["files"]) == [
        "data/input_0.pb",
        "model.onnx",
        "weights.bin",
    ]
    assert (stored["card"], stored["message"], stored["label"]) == (CARD, "first", "1.0")
    assert stored["publish_requested"] is True
    assert fake.models["ada/ones"]["visibility"] == "public"
    assert client.load("ada/ones").graph.name == "ones"


def test_a_folder_beside_other_paths_keeps_its_name(fake, client, folder):
    client.push("ada/ones", folder / "model.onnx", folder / "weights.bin", folder / "data")
    paths = sorted(file["path"] for file in fake.versions["ada/ones"][0]["files"])
    assert paths == ["data/input_0.pb", "model.onnx", "weights.bin"]


def test_second_push_sends_no_byte_twice(fake, client, folder):
    client.push("ada/ones", folder)
    sent = fake.received_bytes
    (folder / "data" / "input_1.pb").write_bytes(b"more!")
    assert client.push("ada/ones", folder)["number"] == 2
    assert fake.received_bytes == sent + 5


def test_push_of_single_files(fake, client, folder):
    client.push(
        "ada/ones",
        folder / "model.onnx",
        str(folder / "weights.bin"),
        card=CARD,
        visibility="private",
        publish=False,
        wait=False,
    )
    stored = fake.versions["ada/ones"][0]
    assert {file["path"] for file in stored["files"]} == {"model.onnx", "weights.bin"}
    assert (stored["state"], stored["publish_requested"]) == ("submitted", False)
    assert (stored["card"], fake.models["ada/ones"]["visibility"]) == (CARD, "private")


def test_card_from_a_file(fake, client, folder, tmp_path):
    (tmp_path / "card.md").write_text("# Another")
    client.push("ada/ones", folder, card=tmp_path / "card.md")
    assert fake.versions["ada/ones"][0]["card"] == "# Another"
    with pytest.raises(problems.CardInvalid, match="cannot be read"):
        client.push("ada/ones", folder, card=tmp_path / "none.md")


def test_checks_are_waited_for(fake, client, folder, pauses, capsys):
    fake.poll_rounds = 3
    assert client.push("ada/ones", folder, progress=True)["state"] == "published"
    assert len(pauses) >= 3
    assert "check onnx passed" in capsys.readouterr().err


@pytest.mark.parametrize("verdict", ["failed", "errored"])
def test_refusal_tells_the_findings(fake, client, folder, verdict):
    fake.verdict = verdict
    with pytest.raises(problems.ChecksFailed, match="ends in the middle of a field") as caught:
        client.push("ada/ones", folder)
    (finding,) = caught.value.extensions["findings"]
    assert (finding["code"], finding["where"]) == ("not-protobuf", "model.onnx: graph")


def test_checks_without_publishing(fake, client, folder):
    version = client.push("ada/ones", folder, publish=False)
    assert version["checks"][0]["outcome"] == "passed"


def test_checks_that_never_end(fake, client, folder, monkeypatch):
    monkeypatch.setattr(checks, "WAIT_SECONDS", -1)
    fake.poll_rounds = 99
    with pytest.raises(problems.ChecksPending, match="worker"):
        client.push("ada/ones", folder)


def test_cut_push_is_resumed(fake, client, folder, impatient):
    fake.patch_cuts.extend([0] * 99)
    with pytest.raises(problems.Unreachable) as caught:
        client.push("ada/ones", folder)
    fake.patch_cuts.clear()
    assert "ada/ones@1" in caught.value.__notes__[0]
    assert "--resume" in caught.value.__notes__[0]
    (folder / "data" / "input_0.pb").rename(folder / "data" / "input_1.pb")
    fake.versions["ada/ones"][0]["card"] = "# Old"
    version = client.push("ada/ones", folder, resume=True)
    assert version["number"] == 1
    stored = fake.versions["ada/ones"][0]
    assert {file["path"] for file in stored["files"]} == {
        "data/input_1.pb",
        "model.onnx",
        "weights.bin",
    }
    assert stored["card"] == CARD
    assert len(fake.versions["ada/ones"]) == 1


def test_an_identical_push_makes_no_version(fake, client, folder, caplog):
    client.push("ada/ones", folder)
    sent = len(fake.requests)
    assert client.push("ada/ones", folder)["number"] == 1
    assert [method for method, _, _ in fake.requests[sent:]] == ["POST", "GET"]
    assert "ada/ones: identical to version 1, so nothing was sent" in caplog.text
    assert client.push("ada/ones", folder, label="1.1")["number"] == 2
    assert client.push("ada/ones", folder, force=True)["number"] == 3
    assert client.push("ada/ones", folder, card="# Other\n")["number"] == 4


@pytest.mark.parametrize(
    "refusal",
    [problems.NotAllowed, problems.CardInvalid, problems.QuotaExceeded, problems.NameRetired],
)
def test_a_refused_preflight_leaves_nothing(fake, client, folder, refusal):
    body = refusal("No.").to_json("http://h")
    headers = {"Content-Type": problems.MEDIA_TYPE}
    fake.answers.append((refusal.status, headers, json.dumps(body).encode()))
    with pytest.raises(refusal):
        client.push("ada/ones", folder)
    assert (fake.models, fake.versions, fake.uploads) == ({}, {}, {})
    assert len(fake.requests) == 1


def test_the_same_push_continues_its_draft(fake, client, folder, impatient):
    fake.patch_cuts.extend([0] * 99)
    with pytest.raises(problems.Unreachable):
        client.push("ada/ones", folder)
    fake.patch_cuts.clear()
    assert client.push("ada/ones", folder)["number"] == 1
    assert len(fake.versions["ada/ones"]) == 1
    assert not list((client.cache.folder / "pushes").glob("*/*"))


@pytest.mark.parametrize("publish", [True, False])
def test_a_push_that_was_killed_after_it_submitted(fake, client, folder, monkeypatch, publish):
    submit = pushing.Push.submit

    def killed(self, **options):
        submit(self, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(pushing.Push, "submit", killed)
    with pytest.raises(KeyboardInterrupt):
        client.push("ada/ones", folder, publish=publish)
    monkeypatch.setattr(pushing.Push, "submit", submit)
    (folder / "more.txt").write_text("more")
    assert client.push("ada/ones", folder)["number"] == 2
    (folder / "more.txt").unlink()
    # Back to the first content: a version of its own, not the one of the killed push.
    assert client.push("ada/ones", folder)["number"] == 3


def test_a_damaged_memory_of_a_push_is_none(fake, client, folder, impatient):
    fake.patch_cuts.extend([0] * 99)
    with pytest.raises(problems.Unreachable):
        client.push("ada/ones", folder)
    fake.patch_cuts.clear()
    (memory,) = (client.cache.folder / "pushes").glob("*/*")
    memory.write_text('{"key": "no key"}')
    assert client.push("ada/ones", folder)["number"] == 2


def test_an_answer_that_is_no_preflight(fake, client, folder):
    fake.answers.append((200, {"Content-Type": "application/json"}, b'{"missing": []}'))
    with pytest.raises(problems.Unreachable, match="HUB_URL"):
        client.push("ada/ones", folder)


def test_resume_takes_only_a_draft_of_ones_own(fake, client, folder):
    fake.add_version("ada/ones", [], state="draft", created_by="bob")
    assert client.push("ada/ones", folder, resume=True)["number"] == 2


def test_missing_model_is_not_made_against_the_will(fake, client, folder):
    with pytest.raises(problems.NotFound):
        client.push("ada/ones", folder, create=False)
    assert fake.models == {}


@pytest.mark.parametrize("ref", ["ada/ones@3", "ada/ones:int8", "ones@stable"])
def test_push_to_a_version_is_refused(fake, client, folder, ref):
    with pytest.raises(problems.InvalidReference, match="assigns the number"):
        client.push(ref, folder)
    assert fake.requests == []


def test_bad_input_is_refused_before_anything_is_sent(fake, client, folder, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.onnx").write_bytes(b"x")
    with pytest.raises(problems.InvalidRequest, match="neither a file nor a folder"):
        client.push("ada/ones", folder / "nothing.onnx")
    with pytest.raises(problems.InvalidRequest, match="occurs twice"):
        client.push("ada/ones", folder / "model.onnx", tmp_path / "other" / "model.onnx")
    with pytest.raises(problems.ModelMissing, match=r"ends in \.onnx"):
        client.push("ada/ones", folder / "weights.bin")
    (folder / "back\\slash.onnx").write_bytes(b"x")
    with pytest.raises(problems.PathInvalid):
        client.push("ada/ones", folder)
    assert fake.requests == []


EFFECTS = [
    ("POST", "/models"),
    ("POST", "/versions"),
    ("POST", "/uploads"),
    ("POST", "/files"),
    ("PUT", "/card"),
    ("POST", "/submit"),
]


@pytest.mark.parametrize("lost", EFFECTS, ids=lambda pair: pair[1])
def test_an_answer_lost_after_its_effect_doubles_nothing(fake, client, folder, lost):
    fake.lost.append(lost)
    version = client.push("ada/ones", folder)
    assert (version["ref"], version["state"]) == ("ada/ones@1", "published")
    assert [one["number"] for one in fake.versions["ada/ones"]] == [1]
    assert fake.versions["ada/ones"][0]["card"] == CARD
    assert len(fake.uploads) == 2
    assert not fake.lost


def test_many_small_files_take_few_requests(fake, client, folder, monkeypatch, capsys):
    monkeypatch.setattr(pushing, "SMALL_BYTES", 1000)
    monkeypatch.setattr(pushing, "BATCH_BYTES", 300)
    for at in range(150):
        (folder / "data" / f"{at}.txt").write_text(f"{at:010}")
        (folder / "data" / f"{at}-again.txt").write_text(f"{at:010}")
    client.push("ada/ones", folder, progress=True)
    files = fake.versions["ada/ones"][0]["files"]
    assert len(files) == 303
    for file in files:
        content = (folder / file["path"]).read_bytes()
        assert fake.blobs[file["sha256"].removeprefix("sha256:")] == content
    assert fake.uploads == {}
    assert fake.count("POST", "/files") < 20
    assert fake.received_bytes == sum(map(len, fake.blobs.values()))
    assert "153 files sent (1.7 kB), 150 already on the hub, 0 unchanged" in capsys.readouterr().err


def test_a_file_removed_by_an_attempt_whose_answer_was_lost(fake, client, folder, impatient):
    fake.patch_cuts.extend([0] * 99)
    with pytest.raises(problems.Unreachable):
        client.push("ada/ones", folder)
    fake.patch_cuts.clear()
    fake.blobs["a" * 64] = b"old"
    fake.versions["ada/ones"][0]["files"] = [fake.file("old.bin", "a" * 64)]
    fake.lost.append(("DELETE", "/files/old.bin"))
    client.push("ada/ones", folder, resume=True)
    assert "old.bin" not in {file["path"] for file in fake.versions["ada/ones"][0]["files"]}


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_push_outlives_an_outage_at_every_request(fake, client, folder, status):
    count = len(_requests_of_a_push(fake, client, folder))
    for at in range(count):
        fake.models.clear(), fake.versions.clear(), fake.uploads.clear(), fake.linkable.clear()
        fake.answers.clear()
        fake.fail_at = (at, [(status, {}, b"")] * 2)
        fake.requests.clear()
        assert client.push("ada/ones", folder)["ref"] == "ada/ones@1"
        assert len(fake.versions["ada/ones"]) == 1
        assert fake.fail_at is None


def _requests_of_a_push(fake, client, folder):
    client.push("ada/ones", folder)
    return list(fake.requests)


def test_a_name_that_somebody_else_hides_is_told(fake, client, folder):
    body = problems.NameTaken("ada/ones exists.").to_json("http://h")
    fake.fail_at = (1, [(409, {"Content-Type": problems.MEDIA_TYPE}, json.dumps(body).encode())])
    with pytest.raises(problems.NameTaken):
        client.push("ada/ones", folder)
    assert fake.versions == {}


@pytest.mark.parametrize("other", ["con.txt", "MODEL.onnx", "notes.", "a:b"])
def test_names_that_some_system_cannot_hold_are_refused_before_anything_is_sent(
    fake, client, tmp_path, other
):
    for name in ("model.onnx", other):
        (tmp_path / name).write_bytes(make_model()["model.onnx"])
    with pytest.raises(problems.PathInvalid, match="Rename"):
        client.push("zoo/ones", tmp_path / "model.onnx", tmp_path / other)
    assert fake.requests == []
