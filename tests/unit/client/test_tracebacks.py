"""What a script prints that does not catch an error: one traceback, whose last line says it all."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEAD = {"HUB_URL": "http://127.0.0.1:9", "HUB_RETRY_SECONDS": "0"}


@pytest.mark.parametrize(
    ("statement", "environment", "words"),
    [
        ("hub.load('zoo/net')", DEAD, "hub.protocol.problems.Unreachable: No hub answers at"),
        ("hub.load('zoo/net')", {"HUB_OFFLINE": "1"}, "problems.NotCached: zoo/net is not in the"),
        ("hub.load('zoo/net')", {"HUB_RETRY_SECONDS": "x"}, "problems.InvalidRequest: HUB_RETRY"),
        ("hub.load('zoo/net')", DEAD | {"http_proxy": "ftp://p"}, "problems.InvalidRequest: The p"),
        ("hub.push('zoo/net', 'missing')", DEAD, "problems.InvalidRequest: missing is neither"),
        ("hub.push('zoo/net', 'm.onnx', card='c.md')", DEAD, "problems.CardInvalid: The card c.md"),
        ("hub.push('zoo/net', 'm.onnx')", DEAD, "problems.Unreachable: No hub answers at"),
    ],
)
def test_one_traceback(tmp_path, statement, environment, words):
    (tmp_path / "m.onnx").write_bytes(b"x")
    home = {"HOME": str(tmp_path), "HUB_CACHE": str(tmp_path / "cache")}
    if "http_proxy" in environment:
        environment = environment | {"HUB_URL": "http://hub.test"}
    done = subprocess.run(
        [sys.executable, "-c", f"import hub; {statement}"],
        env=home | environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]
    assert done.stderr.count("Traceback") == 1, done.stderr
    assert "During handling" not in done.stderr
    assert "direct cause" not in done.stderr
