"""A release: made from a clean clone, dated, complete, and refused where it would be wrong."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
import types
import zipfile
from pathlib import Path

import pytest
import yaml

from hub.protocol.runtime_builds import BROWSER
from hub.protocol.version import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout, so there is nothing to clone")
    folder = tmp_path_factory.mktemp("release") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    # What is not committed yet is tried as well.
    shutil.copy(ROOT / "scripts/release.py", folder / "scripts/release.py")
    # As after the first change that follows a release.
    changelog = folder / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    if not re.search("^## Unreleased", text, re.MULTILINE):
        notes = "## Unreleased\n\n### Upgrade notes\n\n- Nothing.\n\n## "
        changelog.write_text(text.replace("\n## ", f"\n{notes}", 1), "utf-8")
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    commit(folder)
    runtime = folder / "frontend/pages/browser-runtime" / BROWSER.version
    runtime.mkdir(parents=True)
    (runtime / "runtime.mjs").write_text("// stands for the files of the archive")
    return folder


def commit(clone):
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    words = ["git", *author, "commit", "--quiet", "--allow-empty", "-am", "All of it"]
    subprocess.run(words, cwd=clone, check=True)


def release(clone, version):
    command = [sys.executable, "scripts/release.py", version]
    return subprocess.run(command, cwd=clone, check=False, capture_output=True, text=True)


def answers(folder):
    """The names of the answers with fields in a checkout's OpenAPI document."""
    document = yaml.safe_load((folder / "docs/openapi.yaml").read_text("utf-8"))
    schemas = document["components"]["schemas"]
    return {name for name in schemas if name.endswith("Output") and "properties" in schemas[name]}


@pytest.mark.live
def test_a_release_is_refused_or_whole(clone):
    refused = release(clone, "next")
    assert refused.returncode == 1
    assert "not a version" in refused.stderr
    (clone / "README.md").write_text("changed")
    refused = release(clone, "9.8.7")
    assert refused.returncode == 1
    assert "README.md" in refused.stderr
    subprocess.run(["git", "checkout", "--quiet", "README.md"], cwd=clone, check=True)
    changelog = (clone / "CHANGELOG.md").read_text("utf-8")
    (clone / "CHANGELOG.md").write_text(changelog.replace("### Upgrade notes", "### Others", 1))
    commit(clone)
    refused = release(clone, "9.8.7")
    assert refused.returncode == 1
    assert "### Upgrade notes" in refused.stderr
    subprocess.run(["git", "reset", "--quiet", "--hard", "HEAD^"], cwd=clone, check=True)
    assert not (clone / "dist").exists()
    assert "9.8.7" not in (clone / "CHANGELOG.md").read_text("utf-8")

    done = release(clone, "9.8.7")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"^## 9\.8\.7 \(\d{4}-\d\d-\d\d\)$",
        (clone / "CHANGELOG.md").read_text("utf-8"),
        re.MULTILINE,
    )
    notes = (clone / "docs/operate.md").read_text("utf-8")
    assert re.search(r"^#### 9\.8\.7 \(\d{4}-\d\d-\d\d\)$", notes, re.MULTILINE)
    assert "scripts/bundle --images  # with images numbered 9.8.7" in done.stdout
    heads = tomllib.loads((clone / "tests/contracts/released_migrations.toml").read_text("utf-8"))
    assert heads["release"] == "9.8.7"
    released = tomllib.loads((clone / "scripts/released_fields.toml").read_text("utf-8"))
    assert answers(clone) <= released.keys()
    chart = yaml.safe_load((clone / "docker/chart/Chart.yaml").read_text("utf-8"))
    assert chart["version"] == chart["appVersion"] == "9.8.7"
    newest = max((ROOT / "registry/migrations").glob("[0-9]*.py")).stem
    assert heads["heads"]["registry"] == newest
    _check_dist(clone / "dist")
    assert release(clone, "9.8.8").returncode == 1


def _check_dist(dist):
    wheel = "onnx_hub-9.8.7-py3-none-any.whl"
    expected = {wheel, "onnx_hub-9.8.7.tar.gz", "onnx_hub-9.8.7.cdx.json"}
    assert {path.name for path in dist.iterdir()} == expected | {"SHA256SUMS"}
    with zipfile.ZipFile(dist / wheel) as archive:
        assert any("/browser-runtime/" in name for name in archive.namelist())
    sums = dict(
        reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text("utf-8").splitlines()
    )
    assert sums == {
        name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in expected
    }
    bill = json.loads((dist / "onnx_hub-9.8.7.cdx.json").read_text("utf-8"))
    packages = {each["name"] for each in bill["components"]}
    assert {"django", "onnx", "onnxruntime", "gunicorn"} <= packages
    assert len(packages) == len(
        re.findall(r"^[a-z]", (ROOT / "docker/worker-cpu.lock").read_text(), re.MULTILINE)
    )


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("python", "helm"), [("0.2.0", "0.2.0"), ("0.2.0rc1", "0.2.0-rc.1"), ("1.0.0a2", "1.0.0-a.2")]
)
def test_the_versions_of_a_chart_are_semver(script, python, helm):
    assert script.semantic(python) == helm


def test_a_release_without_the_browser_runtime_is_refused(script, monkeypatch):
    ended = types.SimpleNamespace(returncode=1, stderr="npm is not installed here")
    monkeypatch.setattr(script.subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(script.ReleaseError, match="npm is not installed here"):
        script.add_browser_runtime()


def test_the_chart_has_the_version_of_the_hub(script):
    chart = yaml.safe_load((ROOT / "docker/chart/Chart.yaml").read_text("utf-8"))
    assert chart["version"] == chart["appVersion"] == script.semantic(__version__)
