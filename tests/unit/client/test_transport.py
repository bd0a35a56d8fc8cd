from __future__ import annotations

import json
import os
import socket

import pytest

from hub.client import transport as transports
from hub.client.config import Config
from hub.client.transport import Transport
from hub.protocol import problems


def problem(kind, detail="no", **more):
    body = json.dumps(kind(detail, **more).to_json("http://public.example")).encode()
    return kind.status, {"Content-Type": problems.MEDIA_TYPE}, body


def test_problem_comes_out_as_itself(fake, transport):
    fake.answers.append(
        problem(problems.NameTaken, "zoo/a is taken.", errors=[{"pointer": "/name", "detail": "x"}])
    )
    with pytest.raises(problems.NameTaken, match=r"zoo/a is taken\.") as caught:
        transport.request("GET", "/api/v1/whoami")
    assert caught.value.errors == ({"pointer": "/name", "detail": "x"},)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_passing_faults_are_retried(fake, transport, pauses, status):
    fake.answers.append((status, {}, b"later"))
    assert transport.request("GET", "/api/v1/whoami").json()["username"] == "ada"
    assert len(pauses) == 1


def test_retry_after_is_obeyed_and_bounded(fake, transport, pauses):
    fake.answers.append((503, {"Retry-After": "7"}, b""))
    fake.answers.append((429, {"Retry-After": "86400"}, b""))
    fake.answers.append((429, {"Retry-After": "Thu, 01 Jan 2015 00:00:00 GMT"}, b""))
    fake.answers.append((429, {"Retry-After": "soon"}, b""))
    transport.request("GET", "/api/v1/whoami")
    assert pauses[:3] == [7.0, transports.LONGEST_PAUSE_SECONDS, 0.0]
    assert 0 < pauses[3] <= 8


def test_retries_end(fake, transport):
    fake.answers.extend([(503, {}, b"")] * 9)
    with pytest.raises(problems.Unavailable):
        transport.request("GET", "/api/v1/whoami")
    assert fake.count("GET", "whoami") == transports.ATTEMPTS


def test_a_write_that_may_have_happened_is_not_repeated(fake, transport):
    fake.answers.append((502, {}, b""))
    with pytest.raises(problems.Problem):
        transport.request("POST", "/api/v1/models", content={})
    assert fake.count("POST", "models") == 1


def test_a_write_that_was_put_off_is_repeated(fake, transport):
    fake.answers.append((429, {"Retry-After": "1"}, b""))
    transport.request("POST", "/api/v1/models", content={"namespace": "a", "name": "b"})
    assert fake.count("POST", "models") == 2


def test_nobody_there_says_where_and_what_to_do(tmp_path, pauses):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    transport = Transport(Config(f"http://127.0.0.1:{port}"), sleep=pauses.append)
    with pytest.raises(problems.Unreachable, match=rf"127\.0\.0\.1:{port}.*HUB_URL.*HUB_OFFLINE"):
        transport.request("POST", "/api/v1/models", content={})
    assert len(pauses) == transports.ATTEMPTS - 1


def test_what_is_no_http_is_unreachable(pauses):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        transport = Transport(
            Config(f"http://127.0.0.1:{server.getsockname()[1]}"), sleep=pauses.append
        )
        transports_attempts = 1

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"hello, this is not HTTP\r\n\r\n")

        import threading

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(problems.Unreachable):
            transport.request("GET", "/api/v1/whoami", attempts=transports_attempts)
        thread.join()


def test_another_web_site_is_named_as_such(fake, transport):
    fake.answers.append((404, {"Content-Type": "text/html"}, b"<h1>Not found</h1>"))
    with pytest.raises(problems.NotFound, match="HUB_URL"):
        transport.request("GET", "/api/v1/whoami")
    fake.answers.append((200, {"Content-Type": "text/html"}, b"<h1>Hello</h1>"))
    with pytest.raises(problems.Unreachable, match="JSON"):
        transport.request("GET", "/api/v1/whoami").json()


def test_problem_document_that_lies_about_its_shape(fake, transport):
    fake.answers.append((409, {"Content-Type": problems.MEDIA_TYPE}, b'[{"type": 3}]'))
    with pytest.raises(problems.Problem) as caught:
        transport.request("GET", "/api/v1/whoami")
    assert caught.value.status == 409


def test_token_goes_to_the_own_origin_alone(fake, other, transport):
    sha256 = other.add("zoo/m", {"model.onnx": b"x" * 10})["files"][0]["sha256"][7:]
    fake.redirect_blobs_to = other.url
    with transport.stream(f"/api/v1/blobs/{sha256}") as stream:
        assert stream.read(10) == b"x" * 10
    assert fake.headers("blobs")[0]["authorization"] == "Bearer hf_secret"
    assert "authorization" not in other.headers("blobs")[0]


def test_address_of_another_origin_gets_no_token(fake, other, transport):
    other.answers.append((200, {}, b"bytes"))
    with transport.stream(f"{other.url}/bucket/key?signature=1") as stream:
        assert stream.read() == b"bytes"
    assert "authorization" not in other.headers("bucket")[0]
    assert fake.requests == []


def test_public_address_is_reached_at_the_configured_one(fake, transport):
    assert transport.own("http://public.example/api/v1/blobs/ab?via=zoo%2Fm") == (
        f"{fake.url}/api/v1/blobs/ab?via=zoo%2Fm"
    )
    assert transport.own("/api/v1/models") == f"{fake.url}/api/v1/models"
    assert transport.own("https://s3.example/key?x=1") == "https://s3.example/key?x=1"


def test_redirects_end_and_do_not_leave_https(fake, transport):
    fake.redirect_blobs_to = fake.url
    with (
        pytest.raises(problems.Unreachable, match="without an end"),
        transport.stream("/api/v1/blobs/ab"),
    ):
        pass
    secure = Transport(Config("https://hub.example"))
    with pytest.raises(problems.Unreachable, match="not safe"):
        secure._followed("GET", "https://hub.example/a", "http://hub.example/a")
    with pytest.raises(problems.Unreachable, match="not safe"):
        secure._followed("GET", "https://hub.example/a", "file:///etc/passwd")


def test_write_is_not_redirected(fake, transport):
    fake.answers.append((307, {"Location": "http://elsewhere.example/"}, b""))
    with pytest.raises(problems.Unreachable, match="HUB_URL"):
        transport.request("POST", "/api/v1/models", content={})


def test_body_cut_short_is_unreachable(fake, transport):
    sha256 = fake.add("zoo/m", {"model.onnx": b"x" * 1000})["files"][0]["sha256"][7:]
    fake.cuts.append(100)
    with (
        transport.stream(f"/api/v1/blobs/{sha256}") as stream,
        pytest.raises(problems.Unreachable),
    ):
        [stream.read(50) for _ in range(20)]


def test_connection_is_kept_and_a_broken_one_replaced(fake, transport):
    sha256 = fake.add("zoo/m", {"model.onnx": b"x" * 1000})["files"][0]["sha256"][7:]
    for _ in range(3):
        with transport.stream(f"/api/v1/blobs/{sha256}") as stream:
            stream.read(10)
        assert transport.request("GET", "/api/v1/whoami").status == 200


def test_pools_are_not_shared_with_a_forked_child(transport):
    transport.request("GET", "/api/v1/whoami")
    before = transport._pool(transport.config.url)
    assert transport._pool(transport.config.url) is before
    transport._pid = os.getpid() + 1
    assert transport._pool(transport.config.url) is not before


def test_too_large_an_answer_is_not_read(fake, transport, monkeypatch):
    monkeypatch.setattr(transports, "LARGEST_ANSWER_BYTES", 1000)
    fake.answers.append((200, {}, b"x" * 5_000_000))
    with pytest.raises(problems.Unreachable, match="more than"):
        transport.request("GET", "/api/v1/whoami")


def test_proxy_is_not_used_for_this_machine(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    assert transports._proxy("http://127.0.0.1:8000/") == ""
    assert transports._proxy("http://hub.example/") == "http://proxy.example:3128"
