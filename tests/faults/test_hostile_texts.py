"""No text of a stranger stops the hub: each costs the web process little, and others are served."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import MappingProxyType
from urllib.parse import parse_qsl

import pytest

from tests.faults import hostile
from tests.faults.conftest import Hub, processes

# On a processor that does `loop` in this time; others get in proportion.
PROCESSOR_SECONDS, LOOP_SECONDS = 0.3, 0.016


def processor_seconds(call):
    """What this processor takes for a call now: the median of seven."""
    times = []
    for _ in range(7):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return median(times)


def loop():
    total = 0
    for number in range(400_000):
        total += number % 7


def limit(ask):
    """Processor seconds that a request may cost on this processor, as busy as it is.

    On a processor that is slower, in proportion. A form's fields are decoded by the standard
    library, in linear time; what that takes is not the hub's, and counted apart.
    """
    seconds = PROCESSOR_SECONDS * max(1.0, processor_seconds(loop) / LOOP_SECONDS)
    if ask.kind == "application/x-www-form-urlencoded":
        seconds += 2 * processor_seconds(lambda: parse_qsl(ask.body))
    return seconds


# Each for tests of its own, as some requests are taken.
MODEL, COMMITTED, EDITED, SHOWN = "zoo/net", "zoo/committed", "zoo/edited", "zoo/shown"
TICKS = os.sysconf("SC_CLK_TCK")


class Watched(Hub):
    """A hub that says how much processor time its web process has had."""

    def __init__(self, home):
        super().__init__(
            home,
            options=["--no-worker"],
            # What takes longer is shown as text.
            HUB_TEXT_SECONDS="1",
            HUB_LIMITS_USER_RATE="1000000/min",
            HUB_LIMITS_ANON_RATE="1000000/min",
        )
        below = set(self.tree(self.process.pid))
        pids = [pid for pid, _, line in processes() if pid in below and "hub web" in line]
        self.web = max(pids)

    def seconds(self):
        fields = Path(f"/proc/{self.web}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def session(self, key):
        """Headers by which the browser of this session is known."""
        secret = "a" * 32
        return {
            "Cookie": f"sessionid={key}; csrftoken={secret}",
            "X-CSRFToken": secret,
            "Origin": self.address,
        }

    def cost(self, ask, more):
        """Processor seconds of the web process for one request, and its status."""
        names = {"Content-Type": ask.kind, **ask.headers, **more}
        names = {name.replace("-", "_"): value for name, value in names.items()}
        before = self.seconds()
        status, _, _ = self.call(ask.method, ask.address, ask.body, seconds=60, **names)
        return self.seconds() - before, status

    @contextmanager
    def awake(self):
        """Ask for /healthz all the time; each must be answered."""
        stop, waits = threading.Event(), []

        def watch():
            while not stop.wait(0.1):
                began = time.monotonic()
                line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                try:
                    line.request("GET", "/healthz")
                    waits.append((time.monotonic() - began, line.getresponse().status))
                finally:
                    line.close()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield waits
        finally:
            stop.set()
            watcher.join()
        assert waits
        assert {status for _, status in waits} == {200}

    def expect_cheap(self, asks, more=MappingProxyType({})):
        """Send every request; fail naming each that cost too much or was an error of ours."""
        wrong = []
        with self.awake():
            for ask in asks:
                cost, status = self.cost(ask, more)
                most = PROCESSOR_SECONDS
                if cost > most:  # on a busy or slow machine the same work takes longer
                    most = limit(ask)
                    cost = min(cost, self.cost(ask, more)[0], self.cost(ask, more)[0])
                is_wrong = status in (500, 502) or ask.expected not in (None, status)
                if cost > most or is_wrong:
                    wrong.append(f"{ask.what}: {status} after {cost:.2f} s of processor time")
        assert wrong == []


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    hub = Watched(tmp_path_factory.mktemp("watched") / "home")
    key = hub.run_inside(
        "from django.conf import settings\n"
        "from django.contrib import auth\n"
        "from django.db import transaction\n"
        "from hub.server.sessions import SessionStore\n"
        "from registry.models import Namespace, User\n"
        "from tests import factories, learning\n"
        "admin = User.objects.get(username='admin')\n"
        f"for name in {[MODEL, COMMITTED, EDITED, SHOWN]}:\n"
        "    with transaction.atomic():\n"
        "        of = factories.model(admin, name.removeprefix('zoo/'), slug='zoo')\n"
        "        learning.training(admin, factories.version(admin, of))\n"
        "        factories.draft(admin, of)\n"
        "factories.somebody('eve')\n"
        "admin.must_change_password = False\n"
        "admin.save()\n"
        "session = SessionStore()\n"
        "session[auth.SESSION_KEY] = str(admin.pk)\n"
        "session[auth.BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]\n"
        "session[auth.HASH_SESSION_KEY] = admin.get_session_auth_hash()\n"
        "session.save()\n"
        "print(session.session_key)"
    )
    hub.browser = hub.session(key)
    assert hub.call("GET", "/account", Authorization="", **hub.browser)[0] == 200
    hub.call("POST", "datasets", {"namespace": "zoo", "slug": "set", "title": "x"})
    hub.call("POST", f"models/{MODEL}/fleets", {"name": "fleet"})
    yield hub
    hub.stop()


def places():
    return {
        "namespace": "zoo",
        "name": "net",
        "number": hostile.PUBLISHED,
        "slug": "set",
        "path": "README.md",
        "fleet": "fleet",
        "username": "eve",  # not the admin, whose new password would end the session
    }


def test_every_operation_of_the_api_takes_hostile_text_cheaply(watched):
    watched.expect_cheap(hostile.Description(places()).asks())


def test_the_hub_protocol_takes_hostile_text_cheaply(watched):
    watched.expect_cheap(hostile.hub_protocol(COMMITTED))


def test_headers_and_queries_are_cheap(watched):
    shelf = [f"/models/{MODEL}/v/1/files/README.md", f"/{MODEL}/resolve/main/README.md", "/ns"]
    watched.expect_cheap(hostile.headers(shelf))
    watched.expect_cheap(hostile.sparql())


def test_forms_take_hostile_fields_cheaply(watched):
    watched.expect_cheap(hostile.forms(EDITED), watched.browser)


def test_pages_of_hostile_cards_are_cheap(watched):
    watched.expect_cheap(hostile.shown_cards(SHOWN), watched.browser)


def test_many_costly_texts_at_once_leave_threads_for_others(watched):
    card = hostile.text("many values", 0).encode()
    answers, pages = [], []

    def check():
        answers.append(
            watched.call("POST", "cards/check", card, Content_Type="text/markdown", seconds=120)
        )

    asking = [threading.Thread(target=check) for _ in range(40)]
    with watched.awake() as waits:
        for thread in asking:
            thread.start()
        while any(thread.is_alive() for thread in asking):
            pages.append(watched.call("GET", "/models", seconds=120)[0])
            time.sleep(0.1)
        for thread in asking:
            thread.join()
    statuses = Counter(status for status, _, _ in answers)
    assert set(statuses) <= {200, 422, 503}
    assert statuses[200] >= 1
    assert statuses[503] >= 10
    assert {headers["Retry-After"] for status, headers, _ in answers if status == 503} == {"2"}
    assert set(pages) == {200}
    # Reading one of them takes longer than this; whoever waited behind all would wait minutes.
    assert max(seconds for seconds, _ in waits) < 5


def test_pages_take_hostile_parameters_cheaply(watched):
    watched.expect_cheap(hostile.pages(MODEL))
