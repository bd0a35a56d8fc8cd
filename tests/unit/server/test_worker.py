"""`hub worker` says in one line why it does not start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hub.server import worker


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home for all of them: the first process makes its database."""
    return tmp_path_factory.mktemp("home")


def test_its_help_names_the_pools_that_it_takes(capsys):
    with pytest.raises(SystemExit):
        worker.main(["--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "(default: cpu and light, so no benchmarks)" in words


def test_workers_of_one_machine_have_names_of_their_own(home):
    code = (
        "import os, sys\n"
        "def execv(_, command): sys.exit(command[command.index('--hostname') + 1])\n"
        "os.execv = execv\n"
        "from hub.server import worker\n"
        "worker.main(['--pool', 'cpu.urgent'])\n"
    )
    done = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=os.environ | {"HUB_HOME": str(home), "REDIS_URL": "redis://127.0.0.1:1/0"},
            capture_output=True, text=True, check=False, timeout=60,
        ).stderr.split()[-1]
        for _ in range(2)
    ]  # fmt: skip
    assert all(name.endswith("@%h") for name in done)
    assert done[0] != done[1]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--pool", "GPU"], 2, "unknown pool GPU"),
        (["--runtime", "nix"], 1, "Unknown runtime nix. Available: onnxruntime"),
        (["--runtime", "onnxruntime", "--prepare"], 0, ""),
    ],
)
def test_it_starts_or_says_why_not(options, code, words, home):
    kept = {key: value for key, value in os.environ.items() if key != "REDIS_URL"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "hub", "worker", "--home", str(home), *options],
        env=kept, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
