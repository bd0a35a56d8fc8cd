"""Guests who sign in without end: pages are answered, and refusals say when to try again."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from urllib.parse import urlencode

import pytest

from tests.faults.conftest import Hub

GUESTS = 24
SECONDS = 5.0
PATHS = ("/models", "/healthz")
# A hub that is stopped by guesses answers after 15 s; one that is not, within 0.4 s, or a few times
# that on a machine that is busy with something else.
SOON_SECONDS = 3.0


class Guest:
    """One guest at the sign-in page, on a connection that is kept open."""

    def __init__(self, port, address):
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"X-Forwarded-For": address, "Accept": "text/html"}
        answer = self.ask("GET", "/login")
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        self.secret = cookie.partition("=")[2]
        self.headers |= {
            "Cookie": cookie,
            "Origin": f"http://127.0.0.1:{port}",
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def ask(self, method, path, body=None):
        self.line.request(method, path, body, self.headers)
        answer = self.line.getresponse()
        answer.read()
        return answer

    def guess(self, name):
        form = {"username": name, "password": "wrong", "csrfmiddlewaretoken": self.secret}
        return self.ask("POST", "/login", urlencode(form))


def p95(seconds):
    return sorted(seconds)[int(len(seconds) * 0.95)]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """A hub that believes X-Forwarded-For, so that each guest may have its own address."""
    rates = {"HUB_PROXIES": "1", "HUB_LIMITS_SIGN_IN_ADDRESS_RATE": "8/hour"}
    made = Hub(tmp_path_factory.mktemp("hub") / "home", **rates)
    yield made
    made.stop()


class Crowd:
    """Guests who guess passwords until they are stopped; ``answers`` counts the statuses."""

    def __init__(self, port, *, spread):
        self.port, self.spread = port, spread
        self.answers, self.lost = Counter(), []
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._guess, args=(number,)) for number in range(GUESTS)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _guess(self, number):
        turn = 0
        guest = Guest(self.port, f"192.0.2.{number if self.spread else 1}")
        try:
            while not self._over.is_set():
                # Names and addresses that do not come again reach no limit on failed tries: what
                # is left is the bound on hashing.
                if self.spread:
                    guest.headers["X-Forwarded-For"] = f"10.{number}.{turn // 250}.{turn % 250}"
                answer = guest.guess(f"name{number}x{turn}")
                self.answers[answer.status] += 1
                if answer.status in (429, 503):
                    assert int(answer.headers["Retry-After"]) >= 1
                turn += 1
        except Exception as error:  # noqa: BLE001 - of a thread, whose end the test would not see
            self.lost.append(repr(error))
        finally:
            guest.line.close()


def seconds_of(port, path):
    began = time.monotonic()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    line.request("GET", path)
    answer = line.getresponse()
    answer.read()
    line.close()
    assert answer.status == 200
    return time.monotonic() - began


def seconds_for(port, seconds):
    """The 95th percentile of the seconds that each page takes, asked in turn for some time."""
    times = {path: [] for path in PATHS}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path, taken in times.items():
            taken.append(seconds_of(port, path))
    return {path: round(p95(taken), 3) for path, taken in times.items()}


@pytest.mark.parametrize("spread", [True, False], ids=["many addresses", "one address"])
def test_pages_are_answered_while_guests_guess_passwords(proxied, record_property, spread):
    seconds_for(proxied.port, 1)
    with Crowd(proxied.port, spread=spread) as crowd:
        time.sleep(1)
        attacked = seconds_for(proxied.port, SECONDS)
    figures = f"p95 {attacked}, answers {dict(crowd.answers)}"
    record_property("figures", figures)
    assert not crowd.lost
    assert max(attacked.values()) <= SOON_SECONDS, figures
    assert crowd.answers[503 if spread else 429] > 0
