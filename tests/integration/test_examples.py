"""The example clients in other languages, against a hub of real processes."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import samples
from tests.contracts.test_gates import ROOT
from tests.faults.conftest import Hub, wait_for

EXAMPLES = ROOT / "examples" / "clients"
# Packages of Rust as Debian has them (librust-ureq-dev, librust-serde-json-dev, librust-sha2-dev).
CRATES = Path("/usr/share/cargo/registry")
GSON = Path("/usr/share/java/gson.jar")  # as Debian has it (libgoogle-gson-java)
# Of Mono, as Debian has them (mono-mcs, libmono-system-net-http4.0-cil,
# libmono-system-runtime-serialization4.0-cil, libmono-system-xml-linq4.0-cil).
MONO = "-r:System.Net.Http,System.Runtime.Serialization,System.Xml,System.Xml.Linq"
CONTENTS = {"model.onnx": samples.mlp(), "deep/notes.txt": b"notes\n", "empty.txt": b""}
MODEL = CONTENTS["model.onnx"]
DIGEST = hashlib.sha256(MODEL).hexdigest()


class Relay(ThreadingHTTPServer):
    """Carries requests to a hub and notes those of the model's file.

    Of its next answer it sends the first ``cut`` bytes alone; without ``has_ranges`` it asks for
    whole files. Where it ``fails`` it answers with a page of its own, as proxies do.
    """

    def __init__(self, hub):
        super().__init__(("127.0.0.1", 0), _Carrier)
        self.hub = hub
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.cut = None
        self.has_ranges = True
        self.fails = False
        self.requests = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self):
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Carrier(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.server.fails:
            self.send_error(502)
            return
        headers = dict(self.headers)
        if not self.server.has_ranges:
            headers = {name: headers[name] for name in headers.keys() - {"Range", "If-Range"}}
        onward = http.client.HTTPConnection("127.0.0.1", self.server.hub.port, timeout=60)
        onward.request("GET", self.path, headers=headers)
        answer = onward.getresponse()
        content = answer.read()
        onward.close()
        if DIGEST in self.path:
            self.server.requests.append((self.headers["Range"], self.headers["If-Range"]))
            if self.server.cut is not None:
                content, self.server.cut = content[: self.server.cut], None
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"connection", "date", "server", "transfer-encoding"}:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        if len(content) < int(answer.headers["Content-Length"] or 0):
            time.sleep(0.5)  # some clients drop what they have not read yet when a line breaks

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with one public model."""
    started = Hub(tmp_path_factory.mktemp("examples") / "home", HUB_LIMITS_STAGE_SECONDS="60")
    path = started.draft("net", MODEL)
    for name in CONTENTS.keys() - {"model.onnx"}:
        blob = started.store(CONTENTS[name])
        started.call("PUT", f"{path}/files/{name}", {"blob": blob})
    started.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: started.state(path) == "published", "net to be published", 180)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def relay(hub):
    server = Relay(hub)
    yield server
    server.close()


def need(is_there, names):
    if not is_there:
        pytest.skip(f"{names} is missing here")


def javascript(folder):
    need(shutil.which("node"), "node")
    return ["node", EXAMPLES / "download.mjs"]


def go(folder):
    need(shutil.which("go"), "go")
    program = folder / "download"
    environment = os.environ | {"GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
    command = ["go", "build", "-o", program, EXAMPLES / "download.go"]
    subprocess.run(command, env=environment, check=True)
    return [program]


def java(folder):
    need(shutil.which("java") and GSON.exists(), "java, or Debian's libgoogle-gson-java,")
    return ["java", "-cp", str(GSON), EXAMPLES / "Download.java"]


def csharp(folder):
    if shutil.which("dotnet"):
        return ["dotnet", "run", EXAMPLES / "download.cs"]
    need(shutil.which("mcs") and shutil.which("mono"), "dotnet, or Mono with mcs,")
    program = folder / "download.exe"
    subprocess.run(["mcs", MONO, EXAMPLES / "download.cs", f"-out:{program}"], check=True)
    return ["mono", program]


def rust(folder):
    is_there = shutil.which("cargo") and list(CRATES.glob("ureq-*"))
    need(is_there, "cargo, or one of Debian's packages of ureq, serde_json and sha2,")
    project = folder / "project"
    shutil.copytree(EXAMPLES / "download-rust", project)
    source = 'source.crates-io.replace-with="debian"', f'source.debian.directory="{CRATES}"'
    options = ["--config", source[0], "--config", source[1]]
    subprocess.run(["cargo", "build", "--quiet", "--offline", *options], cwd=project, check=True)
    return [project / "target" / "debug" / "download"]


@pytest.fixture(scope="module", params=[javascript, go, java, csharp, rust])
def command(request, tmp_path_factory):
    """A program that is ready to run."""
    return request.param(tmp_path_factory.mktemp(request.param.__name__))


def run(command, address, words, folder, token=""):
    return subprocess.run(
        [*command, address, words, folder],
        env=os.environ | {"HF_TOKEN": token},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_an_example_finds_downloads_and_verifies(hub, command, tmp_path):
    reasons = run(command, hub.address, "net under 20 MB", tmp_path / "reasons").stdout
    assert re.search(r"^max_bytes 2(0000000|e\+07).*: \d+.* \(counted\)$", reasons, re.MULTILINE)
    for words in ("net", "zoo/net"):
        folder = tmp_path / words.replace("/", "-")
        done = run(command, hub.address, words, folder)
        assert done.returncode == 0, done.stderr
        first, *lines = done.stdout.splitlines()
        assert first.startswith("zoo/net@1")
        for path, content in CONTENTS.items():
            assert f"{hashlib.sha256(content).hexdigest()}  {path}" in lines
            assert (folder / path).read_bytes() == content
        assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_broken_download_is_continued(relay, command, tmp_path, has_ranges):
    relay.has_ranges, relay.requests = has_ranges, []
    part = tmp_path / "model.onnx.part"
    relay.cut = 100
    broken = run(command, relay.address, "zoo/net", tmp_path)
    assert broken.returncode == 1, broken.stderr
    assert f"broke after 100 of {len(MODEL)} bytes" in broken.stderr
    assert "Run the same command again to continue it." in broken.stderr
    assert part.read_bytes() == MODEL[:100]
    assert not part.with_suffix("").exists()
    done = run(command, relay.address, "zoo/net", tmp_path)
    assert done.returncode == 0, done.stderr
    assert relay.requests == [(None, None), ("bytes=100-", f'"{DIGEST}"')]
    assert part.with_suffix("").read_bytes() == MODEL
    assert not part.exists()


@pytest.mark.parametrize("size", [100, len(MODEL), len(MODEL) + 1])
def test_a_partial_file_of_other_bytes_is_deleted(hub, command, tmp_path, size):
    part = tmp_path / "model.onnx.part"
    part.write_bytes(bytes(size))  # not the first bytes of the model
    done = run(command, hub.address, "zoo/net", tmp_path)
    assert done.returncode == 1
    assert "does not have the digest of its version. Download it again." in done.stderr
    assert not part.exists()
    assert not part.with_suffix("").exists()
    assert run(command, hub.address, "zoo/net", tmp_path).returncode == 0


def test_a_complete_partial_file_needs_no_request(relay, command, tmp_path):
    relay.has_ranges, relay.requests = True, []
    (tmp_path / "model.onnx.part").write_bytes(MODEL)
    done = run(command, relay.address, "zoo/net", tmp_path)
    assert done.returncode == 0, done.stderr
    assert relay.requests == []
    assert (tmp_path / "model.onnx").read_bytes() == MODEL


@pytest.mark.parametrize(
    ("words", "token", "message"),
    [
        ("nothing of this kind", "", 'No model matches "nothing of this kind".'),
        ("zoo/absent", "", "Not found: Model zoo/absent not found. Check the name; for a private"),
        ("zoo/net", "hf_wrong", "Sign in or send a valid token: "),
    ],
)
def test_a_refusal_is_printed(hub, command, tmp_path, words, token, message):
    refused = run(command, hub.address, words, tmp_path, token)
    assert refused.returncode == 1
    assert refused.stderr.startswith(message)
    assert len(refused.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_answer_that_is_no_problem_document(relay, command, tmp_path):
    relay.fails = True
    refused = run(command, relay.address, "zoo/net", tmp_path)
    relay.fails = False
    assert (refused.returncode, refused.stderr) == (1, "The hub answered 502.\n")
