"""A client behind proxies: real ones on loopback, with the names that a fleet's settings have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hub.client import proxies
from hub.client.config import Config
from hub.client.transport import Transport
from hub.protocol import problems
from tests.unit.client.forward_proxies import ForwardProxy, HttpHandler, SocksHandler

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def proxy(fake):
    """Start proxies that lead to the fake hub."""
    started = []

    def start(handler=HttpHandler, **options):
        started.append(ForwardProxy(handler, fake.url, **options))
        return started[-1]

    yield start
    for each in started:
        each.close()


def whoami(url="http://hub.test"):
    transport = Transport(Config(url, "hf_secret", retry_seconds=0.1), sleep=lambda _: None)
    return transport.get("/api/v1/whoami")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_http_goes_through_the_proxy(fake, proxy, monkeypatch, name):
    used = proxy()
    monkeypatch.setenv(name, f"127.0.0.1:{used.port}")
    assert whoami()["username"] == "ada"
    assert used.targets == ["http://hub.test/api/v1/whoami"]


def test_the_proxy_gets_its_credentials_and_the_hub_its_token(fake, proxy, monkeypatch):
    used = proxy(credentials="fleet:p@ss w:rd")
    monkeypatch.setenv("HTTP_PROXY", f"http://fleet:p%40ss%20w%3Ard@127.0.0.1:{used.port}")
    assert whoami()["username"] == "ada"
    (headers,) = fake.headers("whoami")
    assert headers["authorization"] == "Bearer hf_secret"
    assert "proxy-authorization" not in headers


@pytest.mark.parametrize(
    ("credentials", "words"),
    [("fleet:wrong@", "rejected the user and password"), ("", "requires a user and password")],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_credentials_that_a_proxy_refuses(fake, proxy, monkeypatch, scheme, credentials, words):
    used = proxy(credentials="fleet:right")
    monkeypatch.setenv(f"{scheme}_proxy", f"http://{credentials}127.0.0.1:{used.port}")
    with pytest.raises(problems.Unreachable, match=words) as caught:
        whoami(f"{scheme}://hub.test")
    assert f"http://127.0.0.1:{used.port} " in str(caught.value)
    assert "fleet" not in str(caught.value)
    assert len(used.targets) == 1  # not repeated: it cannot succeed later
    assert fake.requests == []


def test_a_tunnel_that_the_proxy_forbids(proxy, monkeypatch):
    used = proxy(refusal="403 Forbidden")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{used.port}")
    with pytest.raises(problems.Unreachable, match=r"through the proxy http://127.*403 Forbidden"):
        whoami("https://hub.test")
    assert len(used.targets) == 1


@pytest.mark.parametrize("credentials", [None, "fleet:p@ss"])
def test_socks(fake, proxy, monkeypatch, credentials):
    used = proxy(SocksHandler, credentials=credentials)
    user = "fleet:p%40ss@" if credentials else ""
    monkeypatch.setenv("ALL_PROXY", f"socks5h://{user}127.0.0.1:{used.port}")
    assert whoami()["username"] == "ada"
    assert used.targets == ["hub.test:80"]


def test_socks_with_names_resolved_here(fake, proxy, monkeypatch):
    used = proxy(SocksHandler)
    monkeypatch.setenv("HTTP_PROXY", f"socks5://127.0.0.1:{used.port}")
    assert whoami("http://192.0.2.7:8000")["username"] == "ada"
    assert used.targets == ["192.0.2.7:8000"]


@pytest.mark.parametrize("user", ["fleet:wrong@", ""])
def test_socks_credentials_that_are_refused(fake, proxy, monkeypatch, user):
    used = proxy(SocksHandler, credentials="fleet:right")
    monkeypatch.setenv("ALL_PROXY", f"socks5h://{user}127.0.0.1:{used.port}")
    with pytest.raises(problems.Unreachable, match="user and password") as caught:
        whoami()
    assert "wrong" not in str(caught.value)
    assert not caught.value.is_transient


def test_socks_without_its_library(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5h://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "urllib3.contrib.socks", None)
    with pytest.raises(problems.LibraryMissing, match=r"pip install 'onnx-hub\[socks\]'"):
        whoami()


@pytest.mark.parametrize("kind", ["http", "socks5h"])
def test_a_proxy_that_does_not_answer_is_named(monkeypatch, kind):
    monkeypatch.setenv("ALL_PROXY", f"{kind}://u:secret@127.0.0.1:1")
    monkeypatch.setenv("HUB_RETRY_SECONDS", "0")
    transport = Transport(Config("http://hub.test", retry_seconds=0))
    with pytest.raises(problems.Unreachable, match=f"through the proxy {kind}://127.0.0.1:1 ") as e:
        transport.get("/api/v1/whoami")
    assert "secret" not in str(e.value)


@pytest.mark.parametrize("value", ["ftp://proxy:1", "http://", "http://u:secret@proxy:port"])
def test_what_is_no_proxy(monkeypatch, value):
    monkeypatch.setenv("HTTP_PROXY", value)
    with pytest.raises(problems.InvalidRequest, match="HTTP_PROXY") as caught:
        whoami()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "exceptions", "is_direct"),
    [
        ("http://hub.test", "", False),
        ("http://hub.test", "*", True),
        ("http://hub.test", "other.test, hub.test", True),
        ("http://hub.test", "other.test hub.test", True),
        ("http://a.hub.test", "hub.test", True),
        ("http://a.hub.test", ".hub.test", True),
        ("http://a.hub.test", "*.hub.test", True),
        ("http://myhub.test", "hub.test", False),
        ("http://HUB.test", "hub.TEST", True),
        ("http://hub.test:8000", "hub.test:8000", True),
        ("http://hub.test:8000", "hub.test:80", False),
        ("https://hub.test", "hub.test:443", True),
        ("http://10.1.2.3", "10.0.0.0/8", True),
        ("http://11.1.2.3", "10.0.0.0/8", False),
        ("http://10.1.2.3", "10.1.2.3", True),
        ("http://[fd00::1]:8000", "fd00::/8", True),
        ("http://[fd00::1]:8000", "[fd00::1]:8000", True),
        ("http://[fd00::1]:8000", "[fd00::1]:81", False),
        ("http://[fd00::1]", "10.0.0.0/8", False),
        ("http://hub.test", "10.0.0.0/8,.", False),
        ("http://127.0.0.1:8000", "", True),
        ("http://localhost:8000", "", True),
    ],
)
def test_exceptions(monkeypatch, url, exceptions, is_direct):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    assert (proxies.proxy_of(url) is None) is is_direct


def test_the_variable_of_the_scheme_goes_before_that_of_all(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://all.test:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://u:secret@secure.test")
    assert proxies.proxy_of("http://hub.test").address == "http://all.test:1"
    used = proxies.proxy_of("https://hub.test")
    assert used.address == "http://secure.test:3128"
    assert "secret" not in repr(used)


def test_the_command_says_it_in_one_line(proxy):
    used = proxy(credentials="fleet:right")
    done = subprocess.run(
        [Path(sys.executable).with_name("hub"), "info", "zoo/net"],
        env={"HTTP_PROXY": f"http://127.0.0.1:{used.port}", "HUB_URL": "http://hub.test"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 5
    assert done.stderr.startswith("hub: The proxy http://127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1
