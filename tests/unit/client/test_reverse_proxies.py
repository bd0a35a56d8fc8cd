"""Proxies before a hub, hubs that answer nonsense, and addresses at which there is none."""

from __future__ import annotations

import gc
import itertools
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hub.client.config import Config
from hub.client.hub import Hub
from hub.client.transport import Transport
from hub.protocol import problems
from tests.unit.client.conftest import make_model
from tests.unit.client.reverse_proxies import ReverseProxy

ROOT = Path(__file__).parents[3]
# The time to fail that is promised, on a machine that is busy with other tests.
PROMISED_SECONDS, BUSY_SECONDS = 5.0, 20.0
# Two files of more than 1 MiB, which are received in place, and the small model.
FILES = make_model(400_000, location="weights.bin") | {"large.bin": bytes(range(256)) * 6000}


@pytest.fixture
def behind(fake, tmp_path, pauses):
    """Make a hub that is reached through a proxy with some faults."""
    fake.add("zoo/ones", FILES)
    proxies = []

    def make(*faults):
        proxies.append(ReverseProxy(fake.url, *faults))
        made = Hub(proxies[-1].url, token="hf_secret", cache=tmp_path / f"cache-{len(proxies)}")
        made.transport.sleep = pauses.append
        return made, proxies[-1]

    yield make
    for proxy in proxies:
        proxy.close()


HARMLESS = ("gzip", "strip", "no-ranges", "chunked", "cut")


@pytest.mark.parametrize(
    "faults",
    [pair for count in (1, 2) for pair in itertools.combinations(HARMLESS, count)],
    ids="-".join,
)
def test_files_arrive_whole_through(behind, faults):
    hub, _ = behind(*faults)
    folder = hub.download("zoo/ones")
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert hub.info("zoo/ones")["ref"] == "zoo/ones"


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("brotli", "compressed as 'x-unknown'"),
        ("page", "answered with an HTML page"),
        ("page-everywhere", "answered with an HTML page"),
    ],
)
def test_what_cannot_be_undone_is_named_at_once(behind, pauses, fault, cause):
    hub, proxy = behind(fault)
    with pytest.raises(problems.Unreachable, match=cause):
        hub.load("zoo/ones@1")
    assert pauses == []
    assert len(proxy.requests) == len(set(proxy.requests))


ABSURD = [
    {"Location": "file:///etc/passwd"},
    {"Location": "http://[::1"},
    {"Location": "http://hub.example:99999/"},
    {"Location": "http://" + "x" * 300 + "/"},
    {"X-Long": "x" * 70_000},
    {f"X-{number}": "x" for number in range(200)},
    {"Content-Encoding": "gzip"},
    {"Content-Length": "1, 2"},
]


# urllib3 leaves an answer with such a length to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("headers", ABSURD, ids=lambda headers: next(iter(headers)))
def test_absurd_headers_are_refused_at_once(fake, transport, pauses, headers):
    status = 302 if "Location" in headers else 200
    fake.answers.append((status, headers, b"zzzz\r\n"))
    with pytest.raises(problems.Unreachable) as caught:
        transport.request("GET", "/api/v1/whoami")
    assert not caught.value.is_transient
    assert pauses == []
    del caught
    gc.collect()


@pytest.mark.parametrize("text", ["9" * 5000, "Fri, 31 Dec 99999999999 23:59:59 GMT"])
def test_an_absurd_time_to_wait_is_not_waited_for(fake, impatient, transport, text):
    fake.answers.extend([(503, {"Retry-After": text}, b"")] * 50)
    with pytest.raises(problems.Unavailable):
        transport.request("GET", "/api/v1/whoami")


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://hub.example/x", "http://[::1", "http://h:99999/"]
)
def test_addresses_of_files_that_no_hub_has_are_refused_at_once(fake, client, pauses, address):
    version = fake.add("zoo/ones", make_model())
    version["files"][0]["url"] = address
    with pytest.raises(problems.Unreachable, match=r"not an address that this client opens"):
        client.load("zoo/ones")
    assert pauses == []


def test_answers_nested_too_deeply_are_no_json(fake, transport):
    fake.answers.append((200, {"Content-Type": "application/json"}, b"[" * 200_000))
    with pytest.raises(problems.Unreachable, match="did not answer with JSON"):
        transport.get("/api/v1/whoami")


def failure(url, **environment):
    """How a process without settings fails: (seconds, the last line of its errors)."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("HUB_")}
    program = (
        "import time, hub; began = time.monotonic()\n"
        "try: hub.load('zoo/ones')\n"
        "except hub.errors.Unreachable as error: print(time.monotonic() - began); print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=own | {"PYTHONPATH": str(ROOT), "HUB_URL": url, **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    seconds, message = done.stdout.splitlines()
    return float(seconds), message


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_refused_connection_fails_soon_where_nothing_has_answered(tmp_path):
    seconds, message = failure(f"http://127.0.0.1:{free_port()}", HUB_CACHE=str(tmp_path))
    assert seconds < BUSY_SECONDS
    assert "No hub answers" in message


def test_a_proxy_that_is_not_there_fails_as_soon(tmp_path):
    proxy = f"http://127.0.0.1:{free_port()}"
    seconds, message = failure(
        "http://hub.invalid", HUB_CACHE=str(tmp_path), http_proxy=proxy, HTTP_PROXY=proxy
    )
    assert seconds < BUSY_SECONDS
    assert "through the proxy" in message


def test_the_pauses_before_a_first_answer_are_shorter_than_promised(monkeypatch):
    pauses = []
    transport = Transport(Config(f"http://127.0.0.1:{free_port()}"), sleep=pauses.append)
    with pytest.raises(problems.Unreachable):
        transport.request("GET", "/api/v1/whoami")
    assert sum(pauses) < PROMISED_SECONDS


def test_a_name_that_may_be_known_later_is_asked_for_as_long(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    pauses = []
    transport = Transport(Config("http://hub.invalid"), sleep=pauses.append)
    with pytest.raises(problems.Unreachable, match="Temporary failure"):
        transport.request("GET", "/api/v1/whoami")
    assert 0 < sum(pauses) < PROMISED_SECONDS


def test_what_answered_once_is_waited_for_as_long_as_ever(fake, pauses):
    config = Config(fake.url, retry_seconds=0.2, first_retry_seconds=0.05)
    transport = Transport(config, sleep=pauses.append)
    fake.answers.append((200, {}, b"{}"))
    fake.hang_ups = 1
    transport.request("GET", "/api/v1/whoami")
    fake.close()
    with pytest.raises(problems.Unreachable):
        transport.request("GET", "/api/v1/whoami")
    assert sum(pauses) > 0.05


def test_a_time_that_was_set_holds_for_the_first_answer_too(monkeypatch):
    monkeypatch.setenv("HUB_RETRY_SECONDS", "30")
    assert Config.from_environment().first_retry_seconds == 30
    monkeypatch.delenv("HUB_RETRY_SECONDS")
    assert Config.from_environment().first_retry_seconds < PROMISED_SECONDS
