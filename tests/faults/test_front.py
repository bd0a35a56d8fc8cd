"""The web worker on plain sockets: what clients send and take, in whatever pieces and however slow.

It has two threads here, so three clients that held one each would stop it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from registry.core import waiting

ROOT = Path(__file__).parents[2]
BODY = os.urandom(3_000_000)


class Server:
    """gunicorn as the hub configures it, with the application beside this file."""

    def __init__(self, folder, *, connections=1000, **limits):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.listener.set_inheritable(True)
        self.place = self.listener.getsockname()
        self.lines = []
        command = [
            sys.executable, "-m", "gunicorn", "--config", "python:hub.server.web", "--threads", "2",
            "--worker-connections", str(connections), "--graceful-timeout", "5",
            "--bind", f"fd://{self.listener.fileno()}",
            "tests.faults.front_application:application",
        ]  # fmt: skip
        environment = os.environ | {"FRONT_TEMP": str(folder), "PYTHONPATH": str(ROOT)}
        environment |= {f"FRONT_{name.upper()}": str(value) for name, value in limits.items()}
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=[self.listener.fileno()], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()
        with self.connect() as client:
            assert ask(client, "/ready")[1] == b"/ready"

    def _read(self):
        with self.process.stdout:
            self.lines.extend(self.process.stdout)

    def wait_for_line(self, words):
        until = time.monotonic() + 20
        while not any(words in line for line in self.lines):
            assert time.monotonic() < until, self.lines
            time.sleep(0.02)

    def connect(self, **options):
        client = socket.socket()
        client.settimeout(20)
        for option, value in options.items():
            client.setsockopt(socket.SOL_SOCKET, getattr(socket, option), value)
        client.connect(self.place)
        return client

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(20)
        self.listener.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("front"))
    yield running
    running.stop()


def request(path, method="GET", headers=(), body=b""):
    lines = [f"{method} {path} HTTP/1.1", "Host: hub", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def receive(client, method="GET"):
    """The next response: its status line, its headers and its content."""
    stream = client.makefile("rb")
    status = stream.readline().decode().strip()
    headers = {}
    while line := stream.readline().strip():
        name, _, value = line.decode().partition(": ")
        headers[name.lower()] = value
    if method == "HEAD" or status.startswith("HTTP/1.1 1"):
        return status, headers, b""
    if "content-length" in headers:
        return status, headers, stream.read(int(headers["content-length"]))
    content = b""
    while size := int(stream.readline() or b"0", 16):
        content += stream.read(size)
        stream.readline()
    stream.readline()
    return status, headers, content


def receive_all(client, count):
    """The contents of responses that follow each other, all with their length."""
    contents = []
    with client.makefile("rb") as answers:
        for _ in range(count):
            size = 0
            while (line := answers.readline()).strip():
                if line.lower().startswith(b"content-length"):
                    size = int(line.split()[1])
            contents.append(answers.read(size))
    return contents


def ask(client, path, *more, **options):
    client.sendall(request(path, *more, **options))
    status, _, content = receive(client)
    return status, content


def digest_of(content):
    return [len(content), hashlib.sha256(content).hexdigest()]


def posted(client, *pieces, pause=0.0):
    """Send pieces of a request for /digest; what it read."""
    for piece in pieces:
        client.sendall(piece)
        time.sleep(pause)
    status, _, content = receive(client)
    assert status == "HTTP/1.1 200 OK"
    return json.loads(content)


def chunked(*parts, trailer=b""):
    lines = b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in parts)
    return lines + b"0\r\n" + trailer + b"\r\n"


def in_thirds(data):
    third = len(data) // 3
    return data[:third], data[third : 2 * third], data[2 * third :]


def test_slow_bodies_and_slow_readers_hold_no_thread(server):
    head = request("/digest", "POST", [f"Content-Length: {len(BODY)}"])
    slow = [server.connect() for _ in range(6)]
    readers = [server.connect(SO_RCVBUF=4096) for _ in range(6)]
    idle = [server.connect() for _ in range(6)]
    for client in slow:
        client.sendall(head + BODY[:1000])
    for client, path in zip(readers, ["/file", "/pieces"] * 3, strict=True):
        client.sendall(request(path))
    with server.connect() as client:
        for _ in range(20):
            assert ask(client, "/quick")[1] == b"/quick"
    for client in slow:
        assert posted(client, BODY[1000:]) == digest_of(BODY)
    for client, path in zip(readers, ["/file", "/pieces"] * 3, strict=True):
        content = receive(client)[2]
        if path == "/file":
            assert content == (bytes(range(256)) * 2**16)[10:]
        else:
            assert content == b"".join(bytes([each % 256]) * 2**16 for each in range(320))
    for client in [*slow, *readers, *idle]:
        client.close()


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
def test_a_body_arrives_whole_in_whatever_pieces(server, size):
    body = BODY[:size]
    whole = request("/digest", "POST", [f"Content-Length: {size}"], body)
    with server.connect() as client:
        assert posted(client, whole) == digest_of(body)
        assert posted(client, *in_thirds(whole), pause=0.05) == digest_of(body)
        assert ask(client, "/after")[1] == b"/after"


def test_a_large_quick_body_goes_straight_to_the_application(server):
    body = BODY * 30
    with server.connect() as client:
        client.sendall(request("/digest", "POST", [f"Content-Length: {len(body)}"]))
        assert posted(client, body) == digest_of(body)
        assert ask(client, "/after")[1] == b"/after"


@pytest.mark.parametrize("trailer", [b"", b"Checksum: 1\r\n"])
def test_a_chunked_body_ends_where_it_says(server, trailer):
    parts = [b"x", BODY[:65_537], BODY[:3]]
    whole = request("/digest", "POST", ["Transfer-Encoding: chunked"])
    whole += chunked(*parts, trailer=trailer)
    with server.connect() as client:
        assert posted(client, whole) == digest_of(b"".join(parts))
        assert posted(client, *in_thirds(whole), pause=0.05) == digest_of(b"".join(parts))
        every_byte = [whole[at : at + 1] for at in range(150)]
        assert posted(client, *every_byte, whole[150:]) == digest_of(b"".join(parts))
        assert ask(client, "/after")[1] == b"/after"


def test_requests_that_follow_each_other_at_once_are_all_answered(server):
    post = request("/digest", "POST", ["Content-Length: 5"], b"hello")
    pieces = request("/digest", "POST", ["Transfer-Encoding: chunked"]) + chunked(b"hello")
    stream = post + request("/a") + pieces + request("/b") + post
    with server.connect() as client:
        client.sendall(stream)
        contents = receive_all(client, 5)
    hello = json.dumps(digest_of(b"hello")).encode()
    assert contents == [hello, b"/a", hello, b"/b", hello]


@pytest.mark.parametrize(
    ("path", "size"),
    [
        *(("/digest", size) for size in (5, 100_000, 3_000_000)),
        ("/unread", 5),
        ("/unread", 100_000),
    ],
)
@pytest.mark.parametrize("pause", [0.0, 0.1], ids=["at-once", "after-the-head"])
def test_requests_behind_a_chunked_body_are_all_answered(server, size, path, pause):
    """More of them than one read of the parser takes, behind bodies of every way to receive one."""
    names = [f"/{number}" for number in range(200)]
    following = b"".join(request(name, headers=[f"Padding: {'x' * 2000}"]) for name in names)
    with server.connect() as client:
        client.sendall(request(path, "POST", ["Transfer-Encoding: chunked"]))
        time.sleep(pause)
        client.sendall(chunked(BODY[:size]) + following)
        contents = receive_all(client, 1 + len(names))
    read = json.dumps(digest_of(BODY[:size])).encode()
    assert contents == [read if path == "/digest" else b"refused", *map(str.encode, names)]


def test_a_client_that_waits_for_leave_gets_it_before_its_body(server):
    head = ["Content-Length: 5", "Expect: 100-continue"]
    with server.connect() as client:
        client.sendall(request("/digest", "POST", head))
        assert receive(client)[0] == "HTTP/1.1 100 Continue"
        assert posted(client, b"hello") == digest_of(b"hello")


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "Script_Name", "SCRIPT-NAME", "PATH_INFO"])
def test_no_header_changes_the_path_of_a_request(server, name):
    with server.connect() as client:
        assert ask(client, "/evil/path", headers=[f"{name}: /evil"])[1] == b"/evil/path"


@pytest.mark.parametrize("sent", [1000, 2_000_000])
@pytest.mark.parametrize("framing", ["Content-Length: 3000000", "Transfer-Encoding: chunked"])
def test_a_body_that_is_cut_is_never_taken_for_a_whole_one(server, sent, framing):
    server.lines.clear()
    with server.connect() as client:
        start = b"2dc6c0\r\n" if "chunked" in framing else b""
        client.sendall(request("/digest", "POST", [framing], start + BODY[:sent]))
        client.shutdown(socket.SHUT_WR)
        server.wait_for_line("cut ")


def test_a_refusal_reaches_a_client_that_still_sends(server):
    with server.connect() as client:
        client.sendall(request("/unread", "POST", ["Content-Length: 90000000"]))
        client.sendall(BODY)
        client.sendall(BODY)
        assert receive(client)[2] == b"refused"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GARBAGE\r\n\r\n", "400"),
        (request("/", headers=["Content-Length: -1"]), "400"),
        (request("/", headers=["Content-Length: 1", "Transfer-Encoding: chunked"]), "400"),
        (request("/digest", "POST", ["Transfer-Encoding: chunked"], b"zz\r\n\r\n"), "400"),
        (request("/", headers=["Long: " + "x" * 100_000]), "431"),
        (b"GET / HTTP/1.1\r\nNever ends: " + b"x" * 100_000, "431"),
        (request("/" + "x" * 9000), "414"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),  # the beginning of TLS
    ],
)
def test_what_is_no_request_is_refused(server, sent, status):
    with server.connect() as client:
        client.sendall(sent)
        assert receive(client)[0].split()[1] == status


def test_responses_without_content_and_one_connection(server):
    with server.connect() as client:
        client.sendall(request("/name", "HEAD"))
        status, headers, _ = receive(client, "HEAD")
        assert (status, headers["content-length"]) == ("HTTP/1.1 200 OK", "5")
        client.sendall(request("/file", "HEAD"))
        assert receive(client, "HEAD")[1]["content-length"] == str(2**24 - 10)
        assert ask(client, "/after")[1] == b"/after"


def test_events_leave_as_they_are_made(server):
    with server.connect() as client:
        began = time.monotonic()
        client.sendall(request("/events"))
        taken = b""
        while b"first" not in taken:
            taken += client.recv(1000)
        assert time.monotonic() - began < 1.4
        while not taken.endswith(b"0\r\n\r\n"):
            taken += client.recv(1000)
        assert b"second" in taken


def test_a_response_that_breaks_off_does_not_look_whole(server):
    with server.connect() as client:
        client.sendall(request("/broken"))
        taken = b""
        while data := client.recv(1000):
            taken += data
    assert not taken.endswith(b"0\r\n\r\n")
    assert taken.count(b"HTTP/1.1") <= 1


def test_the_application_sees_that_its_client_left(server):
    server.lines.clear()
    client = server.connect()
    client.sendall(request("/gone"))
    time.sleep(0.2)
    client.close()
    server.wait_for_line("gone True")


def test_clients_slower_than_the_minimum_rate_are_ended(tmp_path):
    server = Server(tmp_path, window_seconds=1)
    body = server.connect()
    body.sendall(request("/digest", "POST", ["Content-Length: 3000000"], b"x"))
    reader = server.connect(SO_RCVBUF=4096)
    reader.sendall(request("/file"))
    status, headers, content = receive(body)
    assert (status, headers["content-type"]) == (
        "HTTP/1.1 408 Request Timeout", "application/problem+json",
    )  # fmt: skip
    assert json.loads(content)["status"] == 408
    with server.connect() as client:
        assert ask(client, "/after")[1] == b"/after"
    reset = select.poll()
    reset.register(reader, select.POLLERR)
    assert reset.poll(20_000)
    body.close()
    reader.close()
    server.stop()


def test_the_slowest_bodies_are_refused_where_all_are_too_large(tmp_path):
    server = Server(tmp_path, bodies_bytes=2_500_000, fast_rate=10**12)
    head = request("/digest", "POST", [f"Content-Length: {len(BODY)}"])
    slow = [server.connect() for _ in range(3)]
    for client in slow:
        client.sendall(head + BODY[:400_000])
    time.sleep(1)
    with server.connect() as quick:
        quick.sendall(head + BODY[:1_800_000])
        refused, _, _ = select.select(slow, [], [], 20)
        status, headers, _ = receive(refused[0])
        assert (status, headers["retry-after"]) == ("HTTP/1.1 503 Service Unavailable", "5")
        assert posted(quick, BODY[1_800_000:]) == digest_of(BODY)
    for client in slow:
        client.close()
    server.stop()


def test_a_body_for_which_there_is_no_room_is_refused(tmp_path):
    server = Server(tmp_path, file_bytes=1_000_000, fast_rate=10**12)
    with server.connect() as client:
        client.sendall(request("/digest", "POST", [f"Content-Length: {len(BODY)}"], BODY))
        status, headers, _ = receive(client)
        assert status == "HTTP/1.1 507 Insufficient Storage"
        assert headers["connection"] == "close"
    with server.connect() as client:
        assert ask(client, "/after")[1] == b"/after"
    server.stop()


def test_a_large_slow_body_is_received_and_then_streamed(tmp_path):
    server = Server(tmp_path, fast_rate=10**12)
    body = BODY * 25  # more than is received ahead of the application
    with server.connect() as client:
        client.sendall(request("/digest", "POST", [f"Content-Length: {len(body)}"]))
        assert posted(client, body) == digest_of(body)
        assert ask(client, "/after")[1] == b"/after"
    server.stop()


def test_a_new_client_takes_the_place_of_one_that_says_nothing(tmp_path):
    server = Server(tmp_path, connections=8)
    idle = [server.connect() for _ in range(40)]
    for client in idle[1::2]:
        with contextlib.suppress(ConnectionError):  # it was replaced already
            client.sendall(b"GET / HT")
    # Each is open while the next one asks: a place that happened to be free serves but one.
    for _ in range(3):
        idle.append(server.connect())
        idle[-1].settimeout(5)  # well before those that say nothing are closed for that
        assert ask(idle[-1], "/served")[1] == b"/served"
    idle[0].settimeout(5)
    assert idle[0].recv(1) == b""
    for client in idle:
        client.close()
    server.stop()


def test_a_request_in_hand_is_answered_before_the_worker_stops(tmp_path):
    server = Server(tmp_path)
    idle = server.connect()
    with server.connect() as client:
        client.sendall(request("/wait"))
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert receive(client)[2] == b"waited"
    assert server.process.wait(10) == 0
    idle.close()
    server.stop()


LARGE = (bytes(range(256)) * 2**16)[10:]


def test_plain_reads_are_answered_directly_and_the_rest_by_the_application(server):
    with server.connect() as client:
        client.sendall(request("/direct/file"))
        _, headers, content = receive(client)
        assert content == LARGE
        assert headers["server"] == "gunicorn"
        client.sendall(request("/direct/file", headers=["Cookie: a=b"]))
        assert receive(client)[2] == b"/direct/file"
        assert ask(client, "/direct/other")[1] == b"/direct/other"
        assert ask(client, "/after")[1] == b"/after"


def test_plain_reads_and_other_requests_follow_each_other(server):
    post = request("/digest", "POST", ["Content-Length: 5"], b"hello")
    read = request("/direct/file", headers=["User-Agent: GET /a HTTP/1.1"])
    with server.connect() as client:
        threading.Thread(target=client.sendall, args=(read + post + read + read + post,)).start()
        stream = client.makefile("rb")
        for is_read in (True, False, True, True, False):
            headers = {}
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            while line := stream.readline().strip():
                name, _, value = line.decode().partition(": ")
                headers[name.lower()] = value
            content = stream.read(int(headers["content-length"]))
            if is_read:
                assert content == LARGE
                assert headers["agent"] == "GET /a HTTP/1.1"
            else:
                assert json.loads(content) == digest_of(b"hello")


def test_slow_readers_of_direct_answers_hold_no_thread(server):
    readers = [server.connect(SO_RCVBUF=4096) for _ in range(6)]
    for client in readers:
        client.sendall(request("/direct/file"))
    with server.connect() as client:
        for _ in range(20):
            assert ask(client, "/quick")[1] == b"/quick"
    for client in readers:
        assert receive(client)[2] == LARGE
        client.close()


def test_a_file_that_became_shorter_ends_the_connection(server):
    with server.connect() as client:
        client.sendall(request("/direct/cut"))
        answer = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while data := client.recv(2**20):
                answer += data
    assert len(answer.partition(b"\r\n\r\n")[2]) < 2**24


def test_time_in_which_a_request_waits_for_a_thread_counts(server):
    """Those before it may have waited for a backend, so a read is not answered later than one."""
    with contextlib.ExitStack() as stack:
        busy = [stack.enter_context(server.connect()) for _ in range(2)]
        for client in busy:
            client.sendall(b"GET /wait HTTP/1.1\r\nHost: hub\r\n\r\n")
        time.sleep(0.3)
        behind = stack.enter_context(server.connect())
        assert float(ask(behind, "/left")[1]) < waiting.READ_SECONDS - 0.3
        assert float(ask(behind, "/left")[1]) > waiting.READ_SECONDS - 0.3
