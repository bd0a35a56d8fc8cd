"""A hub of real processes, started as a user starts it, that tests may kill."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from tests import migrated

ROOT = Path(__file__).parents[2]
# Beside what pytest keeps between runs.
KEPT = ROOT / ".pytest_cache" / "homes"


def processes():
    """Every process as (pid, parent, its name and command line)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "comm").read_bytes().replace(b"\n", b" ")
                words += (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
            except (OSError, ValueError):
                continue
            found.append((int(entry.name), parent, words.decode(errors="replace")))
    return found


BUSY = 3


def wait_for(condition, what, seconds=30.0):
    """Poll until ``condition()`` is true and return it; fail by name when it never is.

    ``seconds`` are those of a quiet machine; a busy one takes its time.
    """
    until = time.monotonic() + BUSY * seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    pytest.fail(f"waited {BUSY * seconds} s in vain for {what}")


def own_environment():
    """What a hub of a test finds in its environment: nothing of the tests' own settings."""
    return {
        key: value
        for key, value in os.environ.items()
        if key != "DJANGO_SETTINGS_MODULE" and not key.startswith(("HUB_", "DATABASE_"))
    } | {"PYTHONPATH": str(ROOT)}


@cache
def prepared():
    """A home folder as a first start leaves it, and an admin's token; other hubs start from a copy.

    To make the tables, a locale and a token takes longer than to start the processes. So it is kept
    between runs while nothing of the product's source has changed, as the empty database is.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    place = KEPT / migrated.digest()
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            for other in KEPT.glob("*/"):
                shutil.rmtree(other, ignore_errors=True)
            unfinished = Path(tempfile.mkdtemp(dir=KEPT))
            (unfinished / "token").write_text(first_start(unfinished / "home"))
            unfinished.rename(place)
    return place / "home", (place / "token").read_text()


def first_start(home):
    """Make a home folder as `hub serve` does; returns an admin's token."""
    home.mkdir()
    made = {"DJANGO_SETTINGS_MODULE": "hub.server.settings", "HUB_HOME": str(home)}
    first = f"from hub.server import serve as s; s.make_locale(s.Path({str(home)!r}))"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{first}; s._set_up(samples=False)"],
        cwd=ROOT, env=own_environment() | made, check=True,
    )  # fmt: skip
    return admin_token(home, own_environment())


def admin_token(home, environment):
    made = subprocess.run(
        [sys.executable, "-m", "hub", "token", "create", "--user", "admin", "--scope", "admin",
         "--home", str(home)],
        cwd=ROOT, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return made.stdout.strip()


class Hub:
    """One `hub serve`, its address, an admin's token, and ways to hurt it."""

    def __init__(self, home, *, prefix=(), options=(), **environment):
        self.home = Path(home)
        self.environment = (
            own_environment()
            | {
                "HUB_LIMITS_LEASE_SECONDS": "3",
                "HUB_LIMITS_STAGE_SECONDS": "4",
                # What nobody asked for must not take the processors of what is tried.
                "HUB_BENCH": "off",
            }
            | environment
        )
        self.prefix = list(prefix)
        self.options = list(options)
        self.lines = []
        if not prefix:  # which may give it a disk that is empty
            shutil.copytree(prepared()[0], self.home, dirs_exist_ok=True)
        self.start()
        self.token = self.make_token()

    def start(self):
        command = [sys.executable, "-m", "hub", "serve", "--port", "0", "--home", str(self.home)]
        self.process = subprocess.Popen(
            [*self.prefix, *command, "--no-samples", *self.options],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        try:
            line = wait_for(
                lambda: next((line for line in self.lines if line.startswith("address: ")), None),
                f"the hub to start: {self.lines}",
                180,
            )
        except BaseException:
            self.process.kill()  # its children end with it
            raise
        self.address = line.removeprefix("address: ").strip()
        self.port = urlsplit(self.address).port

    def _read(self, stream):
        with stream:
            for line in stream:
                self.lines.append(line)

    def make_token(self):
        if self.prefix:
            # The home may be on a disk that is mounted for the hub alone.
            home = Path(f"/proc/{self.process.pid}/root{self.home}")
            return self.sign_in((home / "admin-password").read_text().strip())
        if "DATABASE_URL" in self.environment:  # whose tables were empty
            return admin_token(self.home, self.environment)
        return prepared()[1]

    def sign_in(self, password):
        """Make a token as a person does: sign in on the page, then ask with the session."""
        cookies = CookieJar()
        browser = build_opener(HTTPCookieProcessor(cookies))

        def ask(path, body=None, **headers):
            request = Request(  # noqa: S310 - the hub under test
                self.address + path, body, {"Origin": self.address, **headers}
            )
            with browser.open(request, timeout=30) as answer:
                return answer.read()

        ask("/login")
        secret = {cookie.name: cookie.value for cookie in cookies}["csrftoken"]
        form = {"username": "admin", "password": password, "csrfmiddlewaretoken": secret}
        ask("/login", urlencode(form).encode())
        new = "a password of my own"
        change = {"old_password": password, "new_password1": new, "new_password2": new}
        secret = {cookie.name: cookie.value for cookie in cookies}["csrftoken"]
        ask("/account/password", urlencode(change | {"csrfmiddlewaretoken": secret}).encode())
        secret = {cookie.name: cookie.value for cookie in cookies}["csrftoken"]
        wanted = json.dumps({"name": "test", "scopes": ["admin"]}).encode()
        headers = {"Content-Type": "application/json", "X-CSRFToken": secret}
        return json.loads(ask("/api/v1/tokens", wanted, **headers))["token"]

    def call(self, method, path, data=None, *, seconds=30.0, **headers):
        """One request; returns status, headers and JSON or text. Waits out a restart."""
        body = (
            data
            if isinstance(data, bytes)
            else json.dumps(data).encode()
            if data is not None
            else None
        )
        names = {key.replace("_", "-"): value for key, value in headers.items()}
        names.setdefault("Authorization", f"Bearer {self.token}")
        names.setdefault("Content-Type", "application/json")
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            # refused before all was sent; the answer says why
            with contextlib.suppress(BrokenPipeError):
                line.request(
                    method, path if path.startswith("/") else f"/api/v1/{path}", body, names
                )
            answer = line.getresponse()
            content = answer.read()
        finally:
            line.close()
        kind = answer.headers.get("Content-Type", "")
        return answer.status, answer.headers, json.loads(content) if "json" in kind else content

    def tree(self, root):
        """The pids below ``root``."""
        children = {}
        for pid, parent, _ in processes():
            children.setdefault(parent, []).append(pid)
        found, waiting = [], [root]
        while waiting:
            for pid in children.get(waiting.pop(), []):
                found.append(pid)
                waiting.append(pid)
        return found

    def child(self, words):
        """The oldest pid below this hub whose name or command line holds ``words``."""
        below = set(self.tree(self.process.pid))
        return min(
            (pid for pid, _, line in processes() if pid in below and words in line), default=None
        )

    def kill(self, words):
        """`kill -9` the child that is known by ``words``, and all web processes of it."""
        pid = wait_for(lambda: self.child(words), f"a process {words}")
        for each in [*self.tree(pid), pid] if words == "hub web" else [pid]:
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(30)

    def upload(self, content, **metadata):
        """Open an upload; returns its path."""
        import base64

        pairs = ",".join(
            f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in metadata.items()
        )
        status, headers, body = self.call(
            "POST",
            "uploads",
            Tus_Resumable="1.0.0",
            Upload_Length=str(len(content)),
            Upload_Metadata=pairs,
        )
        assert status == 201, body
        return urlsplit(headers["Location"]).path

    def patch(self, path, offset, content):
        return self.call(
            "PATCH", path, content, Tus_Resumable="1.0.0", Upload_Offset=str(offset),
            Content_Type="application/offset+octet-stream",
        )  # fmt: skip

    def store(self, content):
        """Upload in one step and return the digest."""
        status, headers, body = self.patch(self.upload(content), 0, content)
        assert status == 204, body
        return headers["Hub-Blob"]

    def draft(self, name, content):
        """A draft of zoo/``name`` with one model file; returns its path."""
        self.call("POST", "models", {"namespace": "zoo", "name": name})
        _, _, version = self.call("POST", f"models/zoo/{name}/versions", {})
        path = f"models/zoo/{name}/versions/{version['number']}"
        status, _, body = self.call(
            "PUT", f"{path}/files/model.onnx", {"blob": self.store(content)}
        )
        assert status == 201, body
        return path

    def run_inside(self, script):
        """Run Python with the hub's own settings, where no address of the API would do."""
        done = subprocess.run(
            self.inside(script), cwd=ROOT, env=self.inner_environment(), check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    @staticmethod
    def inside(script):
        """The command that `run_inside` runs, in its environment."""
        return [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{script}"]

    def inner_environment(self):
        """The hub's own settings, for another process."""
        told = {"DJANGO_SETTINGS_MODULE": "hub.server.settings", "HUB_HOME": str(self.home)}
        return self.environment | told

    def enqueue(self, path, **fields):
        """Queue a job on the model of a version; returns its id."""
        return self.enqueue_many(path, [fields])[0]

    def enqueue_many(self, path, wanted):
        """Queue several jobs on the model of a version; returns their ids."""
        _, _, version = self.call("GET", path)
        model, number = version["ref"].split("@")
        return self.run_inside(
            "import hub.server.celery\n"
            "from registry.models import Version\nfrom runners.queue import services\n"
            f"namespace, _, name = {model!r}.rpartition('/')\n"
            "version = Version.objects.get(\n"
            f"    model__namespace__slug=namespace, model__name=name, number={number})\n"
            f"for fields in {wanted!r}:\n"
            "    print(services.enqueue(version=version, entry='model.onnx', **fields).pk)"
        ).split()

    def job(self, uuid):
        return self.call("GET", f"jobs/{uuid}")[2]

    def state(self, path):
        return self.call("GET", path)[2]["state"]

    def wait_until(self, path, state, seconds=40.0):
        wait_for(
            lambda: self.alive() and self.state(path) == state, f"{path} to be {state}", seconds
        )

    def alive(self):
        try:
            return self.call("GET", "/healthz", seconds=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub that the tests of one module share; each leaves it working."""
    made = Hub(tmp_path_factory.mktemp("hub") / "home")
    yield made
    made.stop()
