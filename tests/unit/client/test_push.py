from __future__ import annotations

import pytest

from hub.client import push as pushing
from hub.client import upload
from hub.protocol import problems
from tests.unit.client.conftest import make_model

CARD = "---\nlicense: apache-2.0\n---\n# Ones\n"


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
    monkeypatch.setattr(pushing, "WAIT_SECONDS", -1)
    fake.poll_rounds = 99
    with pytest.raises(problems.ChecksPending, match="worker"):
        client.push("ada/ones", folder)


def test_cut_push_is_resumed(fake, client, folder, monkeypatch):
    monkeypatch.setattr(upload, "FAILURES_WITHOUT_PROGRESS", 2)
    fake.patch_cuts.extend([0, 0])
    with pytest.raises(problems.Unreachable) as caught:
        client.push("ada/ones", folder)
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


def test_resume_takes_only_a_draft_of_ones_own(fake, client, folder):
    fake.add_version("ada/ones", [], state="draft", created_by="bob")
    assert client.push("ada/ones", folder, resume=True)["number"] == 2


def test_missing_model_is_not_made_against_the_will(fake, client, folder):
    with pytest.raises(problems.NotFound):
        client.push("ada/ones", folder, create=False)
    assert fake.models == {}


@pytest.mark.parametrize("ref", ["ada/ones@3", "ada/ones:int8", "ones@stable"])
def test_push_to_a_version_is_refused(fake, client, folder, ref):
    with pytest.raises(problems.InvalidReference, match="gives the number"):
        client.push(ref, folder)
    assert fake.requests == []


def test_bad_input_is_refused_before_anything_is_sent(fake, client, folder, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.onnx").write_bytes(b"x")
    with pytest.raises(problems.InvalidRequest, match="neither a file nor a folder"):
        client.push("ada/ones", folder / "nothing.onnx")
    with pytest.raises(problems.InvalidRequest, match="given twice"):
        client.push("ada/ones", folder, tmp_path / "other")
    with pytest.raises(problems.ModelMissing, match=r"ends in \.onnx"):
        client.push("ada/ones", folder / "weights.bin")
    (folder / "back\\slash.onnx").write_bytes(b"x")
    with pytest.raises(problems.PathInvalid):
        client.push("ada/ones", folder)
    assert fake.requests == []
