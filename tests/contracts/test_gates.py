"""What every change has to keep beside the gates of `scripts/check`: clean words, valid scripts.

Room boundaries, migrations and the OpenAPI document are compared there alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.long_files import LONGEST_FIRST

ROOT = Path(__file__).resolve().parents[2]
# Put together here, so that this file does not hold what it looks for.
PLACES = [
    re.compile(rb"(?<![\w.~$}/-])/" + name + rb"/[\w.-]")
    for name in (b"work", b"root", rb"home/(?!(?:you|ada)\b)\w+", b"mnt", rb"Users/\w+")
]
HOSTS = [
    re.compile(re.escape(b".".join(parts)))
    for parts in (
        (b"pypi", b"org"),
        (b"pythonhosted", b"org"),
        (b"registry", b"npmjs", b"org"),
        (b"unpkg", b"com"),
        (b"crates", b"io"),
    )
]
BINARY = {".onnx", ".pb", ".woff2", ".png"}


def tracked() -> list[Path]:
    """Every file that git has or would take."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout, so there is no list of files")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry():
    found = []
    for path in tracked():
        if path.suffix in BINARY or path == ROOT / "tests/contracts/test_samples.py":
            continue
        content = path.read_bytes()
        found += [
            f"{path.relative_to(ROOT)}: {hit.group()!r}"
            for pattern in (*PLACES, *HOSTS)
            for hit in pattern.finditer(content)
        ]
    assert found == []


def test_the_longest_files_of_tests_exist():
    assert [path for path in LONGEST_FIRST if not (ROOT / path).is_file()] == []
    assert len(set(LONGEST_FIRST)) == len(LONGEST_FIRST)


def test_no_model_of_others_is_committed():
    models = {path.relative_to(ROOT).parts[:3] for path in tracked() if path.suffix == ".onnx"}
    assert models == {("hub", "server", "samples")}


def test_every_script_is_valid_shell():
    shebang = re.compile(rb"#!/(?:bin|usr/bin/env)[ /](?:ba)?sh\b")
    scripts = [path for path in tracked() if shebang.match(path.read_bytes()[:40])]
    assert {ROOT / "scripts/serve", ROOT / "docker/entrypoint.sh"} <= set(scripts)
    for script in [*scripts, ROOT / "scripts/environment"]:
        shell = "bash" if b"bash" in script.read_bytes()[:40] else "sh"
        subprocess.run([shell, "-n", str(script)], check=True)


@pytest.mark.parametrize(
    ("url", "extras"),
    [("", "server"), ("file:///srv/storage", "server"), ("s3://models/production", "server,s3")],
)
def test_serve_installs_the_extras_of_its_environment(url, extras, tmp_path):
    script = tmp_path / "serve"
    script.write_bytes((ROOT / "scripts/serve").read_bytes())
    (tmp_path / "environment").write_text('echo "$extras"; exit\n', encoding="utf-8")
    done = subprocess.run(
        ["sh", script], env={"PATH": os.defpath, "HUB_STORAGE_URL": url},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == extras


def test_workflows_run_scripts_that_exist():
    scripts = set()
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            commands = " ".join(step.get("run", "") for step in job["steps"])
            scripts |= set(re.findall(r"(?:scripts|\.ci)/\S+", commands))
    nightly = {"scripts/test-laws", "scripts/test-newest", "scripts/test-benchmarks"}
    assert {".ci/run", "scripts/test", *nightly} <= scripts
    assert [script for script in sorted(scripts) if not (ROOT / script).is_file()] == []
