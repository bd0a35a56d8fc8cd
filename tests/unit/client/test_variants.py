from __future__ import annotations

import json

import pytest

from hub.cli import command
from hub.protocol import digests, problems
from tests.unit.client.conftest import make_model

QUEUED = {"state": "queued", "waiting_for": "1 job ahead in cpu"}
RUNNING = {"state": "running", "phase": "parity", "progress": 60}
DONE = {"state": "succeeded", "report": {"outputs": [{"name": "model.int8.onnx"}]}}
DEFAULT = {"name": "default", "entry": "model.onnx", "opset": 17, "precision": "fp32", "job": None}
INT8 = {
    "name": "int8",
    "entry": "model.int8.onnx",
    "opset": 17,
    "precision": "int8",
    "job": "j1",
    "derivation": {
        "sizes": {"before": 1000, "after": 250},
        "parity": {"max_abs": 0.015, "cosine": 0.9999, "top1": None},
    },
}


@pytest.fixture
def ones(fake):
    fake.add("zoo/ones", make_model())
    fake.variants = [DEFAULT, INT8]
    fake.job_steps = [QUEUED, RUNNING, DONE]
    return fake


def test_of_two_upgrades_the_one_that_every_runtime_loads_is_returned(client, ones):
    newest = INT8 | {"name": "opset28", "opset": 28, "portable": False}
    portable = INT8 | {"name": "opset26", "opset": 26, "portable": True}
    for offer in ([newest, portable], [portable, newest]):
        ones.variants = [DEFAULT, *offer]
        ones.job_steps = [DONE]
        assert client.make_variant("ones", "upgrade") == portable
    ones.variants, ones.job_steps = [DEFAULT, newest], [DONE]
    assert client.make_variant("ones", "upgrade") == newest


def test_a_variant_is_asked_for_followed_and_returned(client, ones, pauses, capsys):
    made = client.make_variant("ones", "int8", progress=True)
    assert made == INT8
    assert ones.wishes == [{"kind": "int8", "variant": "main"}]
    said = capsys.readouterr().err
    assert "1 job ahead in cpu" in said
    assert "parity (60 %)" in said
    assert pauses


def test_without_wait_the_job_is_returned(client, ones):
    assert client.make_variant("ones", "fp16", wait=False)["state"] == "queued"


def test_an_opset_and_a_sample_go_along(client, ones, tmp_path):
    sample = tmp_path / "sample.npz"
    sample.write_bytes(b"PK some arrays")
    client.make_variant("ones", "int8-qdq", sample=sample)
    digest = digests.format(digests.hash_bytes(b"PK some arrays"))
    assert ones.wishes[-1]["calibration"] == digest
    client.make_variant("ones", "upgrade", opset=13)
    assert ones.wishes[-1]["opset"] == 13
    with pytest.raises(problems.InvalidRequest, match="does not exist"):
        client.make_variant("ones", "int8-qdq", sample=tmp_path / "nothing.npz")


def test_a_failed_job_says_what_its_findings_say(client, ones):
    finding = {"severity": "error", "code": "nothing-to-convert", "message": "No weights."}
    ones.job_steps = [{"state": "failed", "report": {"findings": [finding]}}]
    with pytest.raises(problems.JobFailed, match="No weights") as caught:
        client.make_variant("ones", "int8")
    assert caught.value.extensions["findings"] == [finding]
    ones.job_steps = [{"state": "cancelled", "report": None, "error_detail": ""}]
    with pytest.raises(problems.JobFailed, match="cancelled"):
        client.make_variant("ones", "int8")


def test_where_nothing_was_to_be_done_the_source_is_returned(client, ones):
    ones.job_steps = [{"state": "succeeded", "report": {"outputs": []}}]
    assert client.make_variant("ones", "upgrade") == DEFAULT


def test_a_variant_that_never_shows_is_told(client, ones, monkeypatch):
    ones.variants = [DEFAULT]
    monkeypatch.setattr("hub.client.checks.LONGEST_POLL_SECONDS", 0.0)
    with pytest.raises(problems.VariantMissing, match="shows no variant"):
        client.make_variant("ones", "int8")


@pytest.mark.usefixtures("default")
def test_the_command_prints_how_far_an_upgrade_was_shown_to_be_equal(ones, capsys):
    proof = {
        "strength": "partial",
        "sentence": "equal where compared, on 2 inputs",
        "chosen": False,
    }
    ones.variants = [DEFAULT, INT8 | {"name": "opset26", "opset": 26, "proof": proof}]
    assert command.main(["variant", "ones", "upgrade", "--quiet"]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[0]
        .endswith("(partial: equal where compared, on 2 inputs; not the default for its opset)")
    )


@pytest.mark.usefixtures("default")
def test_the_command_prints_the_variant_and_its_price(ones, capsys):
    assert command.main(["variant", "ones", "int8", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "int8  model.int8.onnx  opset 17, int8"
    assert lines[1].startswith("size    1.0 kB -> 250 B (0.25)")
    assert lines[2] == "parity  max_abs 0.015, cosine 0.9999 (worst of all outputs)"
    ones.job_steps = [QUEUED]
    assert command.main(["variant", "ones", "fp16", "--no-wait"]) == 0
    assert capsys.readouterr().out == "convert queued\nhttp://hub/jobs/j1\n"
    ones.job_steps = [QUEUED, DONE]
    assert command.main(["variant", "ones", "int8", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "int8"
