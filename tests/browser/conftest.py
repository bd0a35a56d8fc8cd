"""A real hub in a process of its own, and a headless Chromium that looks at it.

HUB_CHROMIUM names another browser; HUB_SCREENSHOTS a folder for a picture of every page. Test
processes side by side look at one hub, each with a Chromium of its own.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect, sync_playwright
from xdist.scheduler import LoadScopeScheduling

from tests import chromium as installed
from tests import samples

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
AXE = (HERE / "vendor" / "axe.min.js").read_text()
# A machine that is busy is no fault of a page's.
expect.set_options(timeout=20_000)
AXE_RULES = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
# All that another colour scheme can change.
AXE_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SHOTS = os.environ.get("HUB_SCREENSHOTS", "")
HUB = (sys.executable, "-m", "hub")
START_SECONDS = 180
CARD = """---
license: mit
pipeline_tag: image-classification
tags: [a-keyword, another]
---
# Title

A card with *everything*: `code`, [a link](labels.txt), ![outside](https://example.com/a.png).

| input | type |
|-------|------|
| x | float32 |

```python
import hub
model = hub.load("net")
```
"""
PASSWORD = "a password of my own"
LONG = "n" + "-very-long-name-without-a-place-to-break"[1:].replace("-", "x") * 2


# What publishes models stays in one test process: others of these count what is in a list.
PUBLISHING = (
    "test_behaviour.py", "test_graph.py", "test_live.py", "test_publish_walk.py", "test_try.py",
    "test_try_signals.py",
    "test_upload.py",
)  # fmt: skip


class Shares(LoadScopeScheduling):
    """Gives each test process one test after another, and one of them all that publish."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0].rpartition("/")[2]
        return "publishing" if file in PUBLISHING else nodeid


def pytest_xdist_make_scheduler(config, log):
    return Shares(config, log)


@dataclass
class Hub:
    """A running `hub serve`."""

    url: str
    password: str
    pid: int
    home: Path
    token: str = ""
    cookies: list = field(default_factory=list)
    made: dict = field(default_factory=dict)

    def api(self, method, path, data=None, *, raw=None, **headers):
        """Ask the API with an administrator's token; gives the answer's JSON or headers."""
        body = raw if raw is not None else (json.dumps(data).encode() if data is not None else None)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        names.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(  # noqa: S310 - our own address
            path if path.startswith("http") else f"{self.url}/api/v1/{path}",
            data=body,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", **names},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            content = answer.read()
            kind = answer.headers.get("Content-Type", "")
            return json.loads(content) if "json" in kind else dict(answer.headers)

    def put_file(self, version, path, content):
        """Upload bytes and give them a path in a draft."""
        name = b64encode(path.encode()).decode()
        tus = {"Tus_Resumable": "1.0.0"}
        made = self.api(
            "POST",
            "uploads",
            Upload_Length=str(len(content)),
            Upload_Metadata=f"filename {name}",
            **tus,
        )
        sent = self.api(
            "PATCH",
            made["Location"],
            raw=content,
            Upload_Offset="0",
            Content_Type="application/offset+octet-stream",
            **tus,
        )
        self.api("PUT", f"{version}/files/{path}", {"blob": sent["Hub-Blob"]})

    def draft(self, name, *, new=True, contents=None, card="", message="", **described):
        """A draft of zoo/<name>; returns its path in the API."""
        if new:
            self.api("POST", "models", {"namespace": "zoo", "name": name, **described})
        made = self.api("POST", f"models/zoo/{name}/versions", {"message": message})
        version = f"models/zoo/{name}/versions/{made['number']}"
        for path, content in (contents or {"model.onnx": samples.mlp()}).items():
            self.put_file(version, path, content)
        if card:
            self.api(
                "PUT",
                f"{version}/card",
                raw=card.encode(),
                Content_Type="text/markdown",
                If_Match="*",
            )
        return version

    def publish(self, version, state="published"):
        """Submit a draft and wait until it has reached ``state``."""
        self.api("POST", f"{version}/submit", {"publish": True})
        self.wait_for(version, state)

    def wait_for(self, version, state):
        until = time.monotonic() + START_SECONDS
        while (now := self.api("GET", version)["state"]) != state:
            assert time.monotonic() < until, f"{version} is {now}, not {state}"
            time.sleep(0.2)

    def wait_for_proofs(self, version):
        """Wait for each check of a version: the original on two runtimes, its upgrade on one."""
        until = time.monotonic() + 600
        while len(self.api("GET", f"{version}/conformance")["items"]) < (2 + 1) * 4:
            assert time.monotonic() < until, f"the proofs of {version} are not there"
            time.sleep(0.2)

    def workers(self):
        """The process ids of its workers."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        found = [
            int(pid)
            for pid in children.split()
            if Path(f"/proc/{pid}/comm").read_bytes().startswith((b"hub worker", b"hub urgent"))
        ]
        assert found, "no worker runs"
        return found


@pytest.fixture(scope="session")
def hub(tmp_path_factory):
    """A hub with its samples, and with models in every state.

    Of test processes side by side the first that wants it starts it, and ends it when no other
    looks at it any more.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    told = shared / "hub.json"
    with (shared / "hub.door").open("w") as door, (shared / "hub.users").open("w") as users:
        fcntl.flock(door, fcntl.LOCK_EX)
        if told.exists():
            fcntl.flock(users, fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
            known = json.loads(told.read_text())
            yield Hub(**known | {"home": Path(known["home"])})
            return
        with _serving(tmp_path_factory.mktemp("hub")) as found:
            told.write_text(json.dumps(asdict(found) | {"home": str(found.home)}))
            fcntl.flock(users, fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
            yield found
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_EX)
            told.unlink()


@contextmanager
def _serving(home):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HUB_")}
    clean.pop("DJANGO_SETTINGS_MODULE", None)
    # What is shown of benchmarks is seeded; real ones would want this machine for themselves.
    clean["HUB_BENCH"] = "off"
    # Pages that offer mail; none is sent there.
    clean |= {"HUB_SIGN_UP": "open", "HUB_MAIL_URL": "smtp+plain://127.0.0.1:9"}
    clean |= {"HUB_OIDC_ISSUER": "http://127.0.0.1:9", "HUB_OIDC_CLIENT_ID": "hub"}
    clean["HUB_LIMITS_GUEST_RUNS_RATE"] = "3/hour"
    log = (home / "serve.log").open("w+")
    process = subprocess.Popen(
        [*HUB, "serve", "--port", "0", "--home", str(home)],
        cwd=ROOT,
        env=clean,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        found = Hub(*_greeting(process, home / "serve.log"), process.pid, home)
        found.token = subprocess.run(
            (*HUB, "token", "create", "--user", "admin", "--scope", "admin", "--home", str(home)),
            cwd=ROOT,
            env=clean,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        _sign_in(found)
        _fill(found)
        yield found
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        log.close()


def _greeting(process, log):
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        text = log.read_text()
        address = re.search(r"address: (\S+)", text)
        password = re.search(r"password: in (\S+)", text)
        if address and password:
            return address[1], Path(password[1]).read_text().strip()
        time.sleep(0.1)
    raise AssertionError(f"the hub did not start:\n{log.read_text()}")


def _sign_in(hub):
    """Sign the administrator in, change the first password, and keep the cookie for all.

    Test processes side by side share the session: a change of password by each would end those of
    the others.
    """
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

    def submit(path, **fields):
        page = opener.open(hub.url + path, timeout=30).read().decode()
        secret = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
        fields["csrfmiddlewaretoken"] = secret
        return opener.open(hub.url + path, urlencode(fields).encode(), timeout=30).url

    at = submit("/login", username="admin", password=hub.password)
    assert at == f"{hub.url}/account/password", at
    new = dict.fromkeys(("new_password1", "new_password2"), PASSWORD)
    at = submit("/account/password", old_password=hub.password, **new)
    assert at == f"{hub.url}/account", at
    value = next(cookie.value for cookie in jar if cookie.name == "sessionid")
    hub.cookies = [{"name": "sessionid", "value": value, "url": hub.url}]


def _fill(hub):
    until = time.monotonic() + START_SECONDS
    while hub.api("GET", "models/zoo/resnet50")["latest"] is None:
        assert time.monotonic() < until, "the samples were not published"
        time.sleep(0.2)
    _leave_unproven(hub, "zoo/resnet50")
    hub.publish(hub.draft("proven", card=CARD))
    for _ in range(2):
        version = hub.draft("net", new=_ == 0, card=CARD, message=f"Change {_}")
        hub.publish(version)
    hub.api("POST", "models/zoo/net/versions/1/yank", {"reason": "Labels 3 and 8 were swapped."})
    hub.api("PUT", "models/zoo/net/refs/stable", {"kind": "alias", "version": 2})
    hub.publish(hub.draft("gone", card=CARD))
    hub.api("POST", "models/zoo/gone/versions/1/withdraw", {"reason": "Its data was not free."})
    hub.publish(hub.draft("gone", new=False))
    hub.api(
        "POST",
        "models/zoo/gone/deprecate",
        {"message": "No longer maintained.", "successor": "zoo/proven@1"},
    )
    hub.publish(hub.draft(LONG, summary="long" * 70, license="LicenseRef-" + "x" * 50))
    hub.draft("drafted", card=CARD, visibility="private")
    hub.publish(hub.draft("broken", contents={"model.onnx": samples.mlp()[:-40]}), "draft")
    hub.api("POST", "models", {"namespace": "zoo", "name": "nothing"})
    hub.api("POST", "collections", {"namespace": "zoo", "slug": "small", "title": "Small models"})
    for name in ("net", "proven", LONG, "nothing"):
        hub.api(
            "POST", "collections/zoo/small/models", {"model": f"zoo/{name}", "note": "Small. " * 70}
        )
    opened = {"title": "It diverges. " * 14, "body": f"{'x' * 400}\n\n{'word ' * 200}"}
    about = {"version": 1, "node": f"/{'layer' * 40}/Conv"}
    hub.api("POST", "models/zoo/net/discussions", opened | about)
    hub.api("POST", "models/zoo/net/discussions", {"title": "x" * 200, "body": "# A\n\n# B\n\n- C"})
    hub.api("POST", "models/zoo/net/discussions/1/comments", {"body": "| a |\n|---|\n| `b` |"})
    hub.api("POST", "models/zoo/net/discussions/1/comments/2/hide", {"reason": "Spam. " * 40})
    _prove(hub)


def _leave_unproven(hub, model):
    """Cancel the proofs of a model that is only looked at: with the reference they take minutes."""
    until = time.monotonic() + START_SECONDS
    found = []
    while not found:
        assert time.monotonic() < until, f"no proofs of {model} were asked for"
        time.sleep(0.2)
        jobs = hub.api("GET", "jobs?limit=100")["items"]
        found = [
            job
            for job in jobs
            if job["model"] == model and job["kind"] in ("upgrade", "conformance")
        ]
    for job in found:
        if job["state"] in ("queued", "running"):
            hub.api("POST", f"jobs/{job['uuid']}/cancel")


PROVEN = "models/zoo/proven/versions/1"


def _prove(hub):
    """Proofs such as workers write: figures, evidence, variants, a scoreboard."""
    hub.publish(hub.draft("stuck", card=CARD))
    # Its real proofs have to be there first: whichever come last are shown.
    hub.wait_for_proofs(PROVEN)
    seeded = subprocess.run(
        (sys.executable, "-m", "tests.browser.seed", str(hub.home)),
        cwd=ROOT,
        env=os.environ | {"HUB_PUBLIC_URL": hub.url, "HUB_BENCH": "off"},
        check=True,
        capture_output=True,
        text=True,
    )
    hub.made = json.loads(seeded.stdout)
    _train(hub)
    _roll_out(hub)


def _roll_out(hub):
    """A fleet whose rollout was halted, and one that nobody told anything."""
    fleets = "models/zoo/net/fleets"
    hub.api("POST", fleets, {"name": "empty"})
    hub.api("POST", "namespaces/zoo/service-accounts", {"name": "ci"})
    published = {"issuer": "https://gitlab.com", "repository": "a/b", "workflow": "ci.yml"}
    hub.api("POST", "namespaces/zoo/publishers", published | {"model": "zoo/net"})
    hub.api("POST", fleets, {"name": "shops", "halt_percent": 20})
    hub.api("PUT", f"{fleets}/shops/desired", {"version": 2, "percent": 10})
    running = hub.api("GET", "models/zoo/net/versions/2")["manifest_sha256"]
    for place in range(6):
        told = {"running": running, "result": "ok"}
        if place > 3:
            told |= {"result": "failed", "detail": "Not enough memory for the model. " * 5}
        hub.api("PUT", f"{fleets}/shops/devices/till-{place}", told)


def _train(hub):
    """A training with one round that is made, and one that a device has contributed to."""
    from hub.client.hub import Hub as Client

    os.environ["XDG_CONFIG_HOME"] = str(hub.home / "config")
    trainings = "models/zoo/net/trainings"
    schedule = {"quorum": 2, "target": 2, "poll_seconds": 1}
    told = {"version": 2, "title": "Digits at home", "schedule": schedule}
    number = hub.api("POST", trainings, told)["number"]
    until = time.monotonic() + 120
    while hub.api("GET", f"{trainings}/{number}")["state"] != "open":
        assert time.monotonic() < until, "the training did not open"
        time.sleep(0.2)
    code = hub.api("POST", f"{trainings}/{number}/invites", {"uses": 2})["code"]
    client = Client(hub.url, token="")
    devices = [
        client.training(f"zoo/net/trainings/{number}", device=name) for name in ("one", "two")
    ]
    for device in devices:
        device.join(code)
    for device in (*devices, devices[0]):
        while (task := device.pull(wait_seconds=20)) is None:
            assert time.monotonic() < until, "the round was not made"
        device.push({name: value + 0.01 for name, value in task.tensors.items()}, examples=100)


@pytest.fixture(scope="session")
def chromium():
    """One browser for every test; each has contexts of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=installed.path(), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@dataclass
class Watch:
    """What a page did that it must not do, and what it weighed."""

    origin: str
    complaints: list = field(default_factory=list)
    bytes: dict = field(default_factory=dict)
    expected: tuple = ()

    def follow(self, page):
        page.on("console", self._console)
        page.on("pageerror", self._error)
        page.on("request", self._request)
        page.on("response", self._weigh)

    def _error(self, error):
        # Chromium's own words on a fade between pages that it gave up, which it does on a busy
        # machine: no script of ours starts one. Every other error counts.
        if not re.match("(ViewTransition|Transition was) ", error.message):
            self.complaints.append(f"error: {error}")

    def _console(self, message):
        # Chromium says what it cleared at sign-out, as it was asked to.
        expected = ("^Clear-Site-Data header on .*: Cleared data types", *self.expected)
        if not any(re.search(pattern, message.text) for pattern in expected):
            self.complaints.append(f"console: {message.text}")

    def _request(self, request):
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.complaints.append(f"foreign request: {request.url}")

    def _weigh(self, response):
        if response.request.resource_type == "document" or "/static/" in response.url:
            self.bytes[response.url] = response

    def weights(self):
        """Bytes over the wire, by kind, as if every text were compressed with gzip."""
        sums = {}
        for url, response in list(self.bytes.items()):  # others may still arrive
            kind = response.request.resource_type
            body = response.body()
            size = len(body) if url.endswith(".woff2") else len(gzip.compress(body, 9))
            sums[kind] = sums.get(kind, 0) + size
        return sums


class Window:
    """A page in a fresh context, watched; without motion unless ``reduced_motion`` says other."""

    def __init__(self, browser, hub, **options):
        options.setdefault("viewport", {"width": 1440, "height": 900})
        options.setdefault("reduced_motion", "reduce")
        self.context = browser.new_context(base_url=hub.url, **options)
        self.context.set_default_timeout(15_000)
        self.hub = hub
        self.watch = Watch(hub.url)
        self.is_signed = False
        self.page = self.context.new_page()
        self.watch.follow(self.page)

    def sign_in(self):
        """Use the administrator's session; from here on every page has to be a signed-in one."""
        self.context.add_cookies(self.hub.cookies)
        self.is_signed = True
        return self

    def change_password(self, old, new=PASSWORD):
        """Fill the form that changes the password, and wait for the page after it."""
        for name, value in (("old_password", old), ("new_password1", new), ("new_password2", new)):
            self.page.fill(f"[name={name}]", value)
        self.page.click("main button")
        self.page.wait_for_url("**/account")
        return new

    def open(self, path):
        response = self.page.goto(path)
        self.page.wait_for_load_state("load")
        if self.is_signed:  # a sign-in page instead of the page would pass most tests
            assert self.page.locator("form[action='/logout']").count(), f"{path}: signed out"
        return response

    def shoot(self, name):
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)

    def note(self, name, line):
        """Keep a measured line beside the pictures."""
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            with (Path(SHOTS) / name).open("a") as file:
                file.write(f"{line}\n")

    def axe(self, rules=AXE_RULES):
        """What axe finds, best practices included."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        told = {"resultTypes": ["violations"], "runOnly": rules, "preload": False}
        found = self.page.evaluate("told => axe.run(document, told)", told)
        return [
            (rule["id"], node["html"][:200], node["failureSummary"][:300])
            for rule in found["violations"]
            for node in rule["nodes"]
        ]


@pytest.fixture
def window(chromium, hub):
    """Make windows: `window(width=390)`; all are closed, and none may have complained."""
    made = []

    def make(*, width=1440, signed=False, **options):
        height = 900 if width > 600 else 844
        one = Window(chromium, hub, viewport={"width": width, "height": height}, **options)
        made.append(one)
        return one.sign_in() if signed else one

    yield make
    complaints = [complaint for one in made for complaint in one.watch.complaints]
    for one in made:
        one.context.close()
    assert complaints == []


@pytest.fixture(scope="session", autouse=True)
def _sockets():
    """These tests talk to a process of their own on this machine."""
    try:
        import pytest_socket
    except ImportError:
        return
    pytest_socket.enable_socket()
