"""The first start of a hub: progress, then a greeting, after which the README's lines work."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from hub.client.hub import Hub as Client
from tests.faults.conftest import ROOT, own_environment, wait_for

CHECKING = re.compile(r"Checking zoo/[\w-]+ \([1-5] of 5\)\.")


class Start:
    """`hub serve` with its samples, and the lines that it printed."""

    def __init__(self, home):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hub", "serve", "--port", "0", "--home", str(home)],
            cwd=ROOT, env=own_environment() | {"HUB_BENCH": "off", "HUB_PUBLIC_URL": ""},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout as stream:
            self.lines.extend(stream)

    def line(self, pattern, seconds=120):
        """Wait for a line that matches; returns it and those before it."""

        def found():
            assert self.process.poll() is None or not self.reader.is_alive()
            return next((at for at, one in enumerate(self.lines) if re.match(pattern, one)), None)

        at = wait_for(lambda: found() is not None and [found()], pattern, seconds)[0]
        return self.lines[at].strip(), self.lines[:at]

    def stop(self, how):
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.reader.join(10)
        return code


@pytest.fixture
def serve(tmp_path):
    """Start a hub on one home folder; whatever still runs ends with the test."""
    started = []

    def begin():
        started.append(Start(tmp_path / "home"))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_the_greeting_comes_when_the_samples_can_be_loaded(serve, tmp_path):
    first = serve()
    line, before = first.line("address: ")
    client = Client(line.removeprefix("address: "), cache=tmp_path / "cache", retry_seconds=0)
    assert client.load("resnet50", progress=False).graph.node
    steps = [one.strip() for one in before]
    assert steps.index("Preparing the database.") < steps.index("Starting the web process.")
    assert any(CHECKING.fullmatch(one) for one in steps)
    first.line("Press Ctrl-C to stop the hub")
    passwords = [one for one in first.lines if one.startswith("admin password: ")]
    assert len(passwords) == 1
    assert passwords[0] in before
    assert first.stop(signal.SIGINT) == 0
    second = serve()
    line, before = second.line("address: ")
    assert not any(CHECKING.match(one) or "password" in one for one in before)
    client = Client(line.removeprefix("address: "), cache=tmp_path / "other", retry_seconds=0)
    assert client.load("resnet50", progress=False).graph.node
    assert second.stop(signal.SIGTERM) == 0


def test_ctrl_c_while_samples_are_checked(serve):
    first = serve()
    _, before = first.line("Checking ")
    assert any(one.startswith("admin password: ") for one in before)
    began = time.monotonic()
    assert first.stop(signal.SIGINT) == 0
    assert time.monotonic() - began < 30
    assert not any(one.startswith("address: ") for one in first.lines)
    second = serve()  # takes up where the first was
    second.line("address: ")
    assert second.stop(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("HUB_PUBLIC_URL", "hub.example.org", "HUB_PUBLIC_URL is 'hub.example.org', which is no "),
        ("HUB_BENCH", "often", "HUB_BENCH is 'often', none of off, light, full."),
    ],
)
def test_a_setting_that_cannot_work_is_one_line(tmp_path, name, value, cause):
    command = [sys.executable, "-m", "hub", "serve", "--port", "0", "--home", str(tmp_path)]
    ended = subprocess.run(
        command, cwd=ROOT, env=own_environment() | {name: value}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"hub: {cause}")
    assert ended.stderr.count("\n") == 1
