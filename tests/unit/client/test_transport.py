from __future__ import annotations

import json
import os
import socket

import pytest

from hub.client import answers, retries
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


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_transient_faults_are_retried(fake, transport, pauses, status):
    fake.answers.append((status, {}, b"later"))
    assert transport.request("GET", "/api/v1/whoami").json()["username"] == "ada"
    assert len(pauses) == 1


def test_retry_after_is_respected(fake, transport, pauses):
    fake.answers.append((503, {"Retry-After": "7"}, b""))
    fake.answers.append((429, {"Retry-After": "Thu, 01 Jan 2015 00:00:00 GMT"}, b""))
    fake.answers.append((429, {"Retry-After": "soon"}, b""))
    transport.request("GET", "/api/v1/whoami")
    assert pauses[0] == 7.0
    assert len(pauses) == 3
    assert all(0 < pause <= 8 for pause in pauses)


def test_retry_after_beyond_the_time_for_retries_is_told_at_once(fake, transport, pauses):
    fake.answers.append((429, {"Retry-After": "61"}, b""))
    with pytest.raises(problems.Throttled):
        transport.request("GET", "/api/v1/whoami")
    assert (pauses, fake.count("GET", "whoami")) == ([], 1)


def test_retries_end_after_the_time_for_them(fake, transport, pauses, monkeypatch):
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(retries, "LONGEST_PAUSE_SECONDS", 8.0)
    fake.answers.extend([(503, {}, b"")] * 99)
    with pytest.raises(problems.Unavailable):
        transport.request("GET", "/api/v1/whoami")
    assert sum(pauses) == pytest.approx(60, abs=5)
    assert fake.count("GET", "whoami") == len(pauses) + 1 < 25


def test_retries_can_be_forbidden(fake, tmp_path, monkeypatch, pauses):
    monkeypatch.setenv("HUB_RETRY_SECONDS", "0")
    transport = Transport(Config.from_environment(url=fake.url), sleep=pauses.append)
    fake.answers.append((503, {}, b""))
    with pytest.raises(problems.Unavailable):
        transport.request("GET", "/api/v1/whoami")
    assert (pauses, fake.count("GET", "whoami")) == ([], 1)


def test_a_line_tells_of_retries(fake, transport, caplog):
    fake.answers.extend([(503, {}, b"")] * 3)
    transport.request("GET", "/api/v1/whoami", headers={"Authorization": "Bearer hf_secret"})
    assert caplog.messages == ["The hub does not answer (503). Retrying for 60 s more."]


@pytest.mark.parametrize("cut", ["nothing", "half"])
def test_an_answer_that_was_cut_is_asked_for_again(fake, transport, cut):
    whole = b'{"username": "ada"}'
    fake.answers.append((200, {"Content-Length": "19"}, whole[: 0 if cut == "nothing" else 9]))
    fake.hang_ups = 1
    assert transport.request("GET", "/api/v1/whoami").json()["username"] == "ada"
    assert fake.count("GET", "whoami") == 2


def test_what_cannot_heal_is_not_asked_for_again(fake, transport, pauses):
    for status in (400, 401, 403, 404, 409, 413, 500, 501):
        fake.answers.append((status, {}, b""))
        with pytest.raises(problems.Problem):
            transport.request("GET", "/api/v1/whoami")
    assert pauses == []


def test_a_write_that_may_have_happened_is_not_repeated(fake, transport):
    fake.answers.append((502, {}, b""))
    with pytest.raises(problems.Problem):
        transport.request("POST", "/api/v1/models", content={})
    assert fake.count("POST", "models") == 1


def test_a_write_whose_answer_was_cut_is_not_repeated(fake, transport):
    fake.answers.append((201, {"Content-Length": "19"}, b""))
    fake.hang_ups = 1
    with pytest.raises(problems.Unreachable):
        transport.request("POST", "/api/v1/models", content={"namespace": "a", "name": "b"})
    assert fake.count("POST", "models") == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, {"Retry-After": "1"}), (503, {"Retry-After": "1"}), (408, {}), (429, {})],
)
def test_a_write_that_was_not_processed_is_repeated(fake, transport, status, headers):
    fake.answers.append((status, headers, b""))
    transport.request("POST", "/api/v1/models", content={"namespace": "a", "name": "b"})
    assert fake.count("POST", "models") == 2


def test_nobody_there_says_where_and_what_to_do(tmp_path, pauses, monkeypatch):
    monkeypatch.setattr(retries, "LONGEST_PAUSE_SECONDS", 8.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    transport = Transport(Config(f"http://127.0.0.1:{port}"), sleep=pauses.append)
    with pytest.raises(problems.Unreachable, match=rf"127\.0\.0\.1:{port}.*HUB_URL.*HUB_OFFLINE"):
        transport.request("POST", "/api/v1/models", content={})
    assert sum(pauses) == pytest.approx(transport.config.first_retry_seconds, abs=0.1)


def test_what_is_no_http_is_unreachable(pauses):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        transport = Transport(
            Config(f"http://127.0.0.1:{server.getsockname()[1]}"), sleep=pauses.append
        )

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"hello, this is not HTTP\r\n\r\n")

        import threading

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(problems.Unreachable):
            transport.request("GET", "/api/v1/whoami", once=True)
        thread.join()


def test_another_web_site_is_named_as_such(fake, transport):
    fake.answers.append((404, {"Content-Type": "text/html"}, b"<h1>Not found</h1>"))
    with pytest.raises(problems.NotFound, match="HUB_URL"):
        transport.request("GET", "/api/v1/whoami")
    fake.answers.append((200, {"Content-Type": "text/html"}, b"<h1>Hello</h1>"))
    with pytest.raises(problems.Unreachable, match="HTML page"):
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
        pytest.raises(problems.Unreachable, match="too many times"),
        transport.stream("/api/v1/blobs/ab"),
    ):
        pass
    secure = Transport(Config("https://hub.example"))
    with pytest.raises(problems.Unreachable, match="not safe"):
        secure._followed("GET", "https://hub.example/a", "http://hub.example/a")
    with pytest.raises(problems.Unreachable, match="not an address"):
        secure._followed("GET", "https://hub.example/a", "file:///etc/passwd")


def test_write_is_not_redirected(fake, transport):
    fake.answers.append((307, {"Location": "http://elsewhere.example/"}, b""))
    with pytest.raises(problems.Unreachable, match="only reads follow redirects"):
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
    before = transport._pool(transport.config.url, None)
    assert transport._pool(transport.config.url, None) is before
    transport._pid = os.getpid() + 1
    assert transport._pool(transport.config.url, None) is not before


def test_too_large_an_answer_is_not_read(fake, transport, monkeypatch):
    monkeypatch.setattr(answers, "LARGEST_ANSWER_BYTES", 1000)
    fake.answers.append((200, {}, b"x" * 5_000_000))
    with pytest.raises(problems.Unreachable, match="too large"):
        transport.request("GET", "/api/v1/whoami")


def test_an_unknown_host_and_what_is_no_tls_are_told_at_once(fake, pauses, monkeypatch):
    resolve = socket.getaddrinfo

    def unknown(host, *more, **options):
        if host == "hub.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    port = fake.url.rpartition(":")[2]
    for url in ("http://hub.invalid", f"https://127.0.0.1:{port}"):
        transport = Transport(Config(url), sleep=pauses.append)
        with pytest.raises(problems.Unreachable):
            transport.request("GET", "/api/v1/whoami")
    assert pauses == []
