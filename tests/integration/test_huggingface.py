"""The clients that people have, reading from this hub: each as it comes, none of them ours.

`HUB_TEST_CLIENTS` names a folder in which each client has, or gets, an environment of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import samples
from tests.faults.conftest import Hub, wait_for

HERE = Path(__file__).parent
PYTHON_CLIENTS = {"0.36": "huggingface_hub==0.36.*", "newest": "huggingface_hub"}
WEIGHTS = bytes(range(256)) * 8_000


def folder():
    found = os.environ.get("HUB_TEST_CLIENTS")
    if not found:
        pytest.skip("HUB_TEST_CLIENTS names no folder for the clients' environments")
    return Path(found)


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with a public and a private model, and an alias."""
    made = Hub(
        tmp_path_factory.mktemp("huggingface") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )
    for name, visibility in (("net", "public"), ("hidden", "private")):
        path = made.draft(name, samples.mlp())
        for place, content in (("config.json", b"{}"), ("weights.bin", WEIGHTS)):
            made.call("PUT", f"{path}/files/{place}", {"blob": made.store(content)})
        card = b"---\nlicense: mit\npipeline_tag: image-classification\n---\n# Net\n"
        made.call("PUT", f"{path}/card", card, Content_Type="text/markdown")
        made.call("POST", f"{path}/submit", {"publish": True})
        wait_for(lambda at=path: made.state(at) == "published", f"{name} to be published", 180)
        if visibility == "private":
            changed = {"visibility": visibility}
            # Whatever is there: lists still follow what was just published.
            status, _, body = made.call("PATCH", f"models/zoo/{name}", changed, If_Match="*")
            assert status == 200, body
    made.call("PUT", "models/zoo/net/refs/champion", {"kind": "alias", "version": 1})
    yield made
    made.stop()


@pytest.fixture(scope="module", params=PYTHON_CLIENTS)
def python(request):
    """The interpreter of an environment with one release of huggingface_hub."""
    place = folder() / f"huggingface-{request.param}"
    found = place / "bin" / "python"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        install = [found, "-m", "pip", "install", "--quiet", PYTHON_CLIENTS[request.param]]
        subprocess.run(install, check=True)
    return found


def environment(hub, home, *, token=True):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    given = {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    return kept | given | ({"HF_TOKEN": hub.token} if token else {})


def run(command, given, **more):
    done = subprocess.run(
        [str(word) for word in command], env=given, check=False, capture_output=True, text=True,
        timeout=300, **more,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_huggingface_hub_reads(hub, python, tmp_path):
    said = json.loads(
        run([python, HERE / "clients" / "read.py"], environment(hub, tmp_path, token=False))
        .strip()
        .splitlines()[-1]
    )
    assert said.pop("sizes") == {"model.onnx": len(samples.mlp()), "weights.bin": len(WEIGHTS)}
    assert said.pop("version")
    assert dict.fromkeys(said, True) == said


def test_huggingface_hub_reads_what_is_private(hub, python, tmp_path):
    script = HERE / "clients" / "private.py"
    said = json.loads(run([python, script], environment(hub, tmp_path)).strip().splitlines()[-1])
    assert dict.fromkeys(said, True) == said


def test_huggingface_hub_warns_of_what_is_deprecated(hub, python, tmp_path):
    body = {"message": "Wrong labels.", "successor": "zoo/net@1"}
    status, _, answer = hub.call("POST", "models/zoo/hidden/deprecate", body)
    assert status == 200, answer
    script = HERE / "clients" / "deprecated.py"
    given = environment(hub, tmp_path)
    said = json.loads(run([python, script], given).strip().splitlines()[-1])
    sentence = "zoo/hidden is deprecated: Wrong labels. Use zoo/net@1 instead."
    # 0.36 reads no such header; the card says it to all.
    warned = [] if said.pop("version").startswith("0.") else [sentence]
    assert said == {"warnings": warned, "new_version": "zoo/net", "deprecated": sentence}


def test_the_hf_command_downloads(hub, python, tmp_path):
    command = python.parent / "hf"
    given = environment(hub, tmp_path / "home", token=False)
    target = tmp_path / "here"
    run([command, "download", "zoo/net", "--revision", "v1", "--local-dir", target], given)
    assert (target / "weights.bin").read_bytes() == WEIGHTS
    assert (target / "model.onnx").read_bytes() == samples.mlp()


def test_huggingface_js_reads(hub):
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed here")
    place = folder() / "node"
    if not (place / "node_modules" / "@huggingface" / "hub").exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "@huggingface/hub"], cwd=place, check=True)
    script = place / "read.mjs"
    shutil.copy(HERE / "clients" / "read.mjs", script)
    said = json.loads(run(["node", script, hub.address, hub.token], dict(os.environ), cwd=place))
    assert dict.fromkeys(said, True) == said
