"""The example clients in other languages, against a hub of real processes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import samples
from tests.contracts.test_gates import ROOT
from tests.faults.conftest import Hub, wait_for

EXAMPLES = ROOT / "examples" / "clients"
PROGRAMS = {
    "download.mjs": ["node"],
    "download.go": ["go", "run"],
    "download.cs": ["dotnet", "run"],
}
# Packages of Rust as Debian has them (librust-ureq-dev, librust-serde-json-dev, librust-sha2-dev).
CRATES = Path("/usr/share/cargo/registry")
GSON = Path("/usr/share/java/gson.jar")  # as Debian has it (libgoogle-gson-java)
CONTENTS = {"model.onnx": samples.mlp(), "deep/notes.txt": b"notes\n"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with one public model."""
    started = Hub(tmp_path_factory.mktemp("examples") / "home", HUB_LIMITS_STAGE_SECONDS="60")
    path = started.draft("net", CONTENTS["model.onnx"])
    blob = started.store(CONTENTS["deep/notes.txt"])
    started.call("PUT", f"{path}/files/deep/notes.txt", {"blob": blob})
    started.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: started.state(path) == "published", "net to be published", 180)
    yield started
    started.stop()


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_example_finds_downloads_and_verifies(hub, program, tmp_path):
    command = PROGRAMS[program]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed here")
    check(hub, [*command, EXAMPLES / program], tmp_path)


def test_the_example_in_java_reads_a_question_and_resumes(hub, tmp_path):
    if shutil.which("java") is None or not GSON.exists():
        pytest.skip("java, or Debian's libgoogle-gson-java, is missing here")
    command = ["java", "-cp", str(GSON), EXAMPLES / "Download.java"]
    check(hub, command, tmp_path)

    def run():
        words = [*command, hub.address, "net under 20 MB", tmp_path / "more"]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)

    model = CONTENTS["model.onnx"]
    part = tmp_path / "more" / "model.onnx.part"
    part.parent.mkdir()
    part.write_bytes(bytes(100))  # not the first bytes of the model: the rest is added to them
    done = run()
    assert done.returncode == 1
    assert "does not have the digest of its version" in done.stderr
    assert not part.exists()
    part.write_bytes(model[:100])
    done = run()
    assert done.returncode == 0, done.stderr
    assert re.search(r"^max_bytes 20000000.*: \d+.* \(counted\)$", done.stdout, re.MULTILINE)
    assert (tmp_path / "more" / "model.onnx").read_bytes() == model
    assert not part.exists()


def test_the_example_in_rust_does_too(hub, tmp_path):
    if shutil.which("cargo") is None or not list(CRATES.glob("ureq-*")):
        pytest.skip("cargo, or Debian's packages of ureq, serde_json and sha2, are missing here")
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / "download-rust", project)
    source = 'source.crates-io.replace-with="debian"', f'source.debian.directory="{CRATES}"'
    options = ["--config", source[0], "--config", source[1]]
    subprocess.run(["cargo", "build", "--quiet", "--offline", *options], cwd=project, check=True)
    check(hub, [project / "target" / "debug" / "download"], tmp_path)


def check(hub, command, tmp_path):
    """An example finds the model, writes its files and verifies them; a search may find none."""

    def run(words):
        return subprocess.run(
            [*command, hub.address, words, tmp_path / "files"],
            env=os.environ | {"GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    if "download.cs" not in str(command[-1]):
        reasons = run("net under 20 MB").stdout
        assert re.search(
            r"^max_bytes 2(0000000|e\+07).*: \d+.* \(counted\)$", reasons, re.MULTILINE
        )
    done = run("net")
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first.startswith("zoo/net@1")
    for path, content in CONTENTS.items():
        assert f"{hashlib.sha256(content).hexdigest()}  {path}" in lines
        assert (tmp_path / "files" / path).read_bytes() == content
    missing = run("nothing of this kind")
    assert missing.returncode != 0
    assert "No model matches" in missing.stderr
