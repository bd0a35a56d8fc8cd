"""Syslog: RFC 5424 messages that real sockets receive."""

from __future__ import annotations

import json
import re
import socket
import threading

import pytest

from registry.core import security_log, usage
from registry.core.security_log import Kind
from registry.identity.models import SecurityEvent
from tests import factories

pytestmark = [pytest.mark.django_db(transaction=False), pytest.mark.capability("identity")]
# RFC 5424, section 6: PRI, VERSION, TIMESTAMP, HOSTNAME, APP-NAME, PROCID, MSGID, no data, MSG.
MESSAGE = re.compile(
    rb"<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([\x21-\x7e]{1,255}) hub (\d+) "
    rb"([\x21-\x7e]{1,32}) - (.*)",
    re.DOTALL,
)


@pytest.fixture(autouse=True)
def _no_notes():
    usage.notes.clear()
    yield
    usage.notes.clear()


def happen(django_capture_on_commit_callbacks):
    ada = factories.user("ada")
    with security_log.request_from(lambda: "192.0.2.3"):
        security_log.report(Kind.SIGN_IN_FAILED, actor=ada)
    with django_capture_on_commit_callbacks(execute=True):
        usage.notes.flush()
    usage.notes.flush()


def expect(message):
    priority, _, _, _, kind, text = MESSAGE.fullmatch(message).groups()
    assert (priority, kind) == (b"108", b"sign_in_failed")
    assert json.loads(text)["address"] == "192.0.2.3"
    assert json.loads(text)["user"] == "ada"
    assert SecurityEvent.objects.count() == 1


def test_udp(settings, django_capture_on_commit_callbacks):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        settings.HUB_SECURITY_LOG_SYSLOG = f"udp://127.0.0.1:{server.getsockname()[1]}"
        happen(django_capture_on_commit_callbacks)
        expect(server.recv(65_535))


def test_unix(settings, tmp_path, django_capture_on_commit_callbacks):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "log"))
        server.settimeout(5)
        settings.HUB_SECURITY_LOG_SYSLOG = f"unix://{tmp_path / 'log'}"
        happen(django_capture_on_commit_callbacks)
        expect(server.recv(65_535))


def receive(server):
    received = []

    def accept():
        stream, _ = server.accept()
        with stream:
            received.append(b"".join(iter(lambda: stream.recv(65_535), b"")))

    thread = threading.Thread(target=accept)
    thread.start()
    return thread, received


def test_tcp_frames_each_message_and_waits_for_a_server_that_is_away(
    settings, caplog, django_capture_on_commit_callbacks
):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings.HUB_SECURITY_LOG_SYSLOG = f"tcp://127.0.0.1:{port}"
    happen(django_capture_on_commit_callbacks)  # nobody listens
    assert caplog.text.count("syslog_unreachable") == 1
    with socket.create_server(("127.0.0.1", port)) as server:
        thread, received = receive(server)
        usage.notes.flush()
        thread.join(5)
    length, _, message = received[0].partition(b" ")
    assert int(length) == len(message)
    expect(message)
