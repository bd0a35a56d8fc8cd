"""Reading from servers that speak the Hub protocol, the honest and the others."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from hub.client import download
from hub.client.imports import hf
from hub.client.imports.hf_source import Source
from hub.protocol import problems
from registry.versions import git_names

COMMIT = "1a" * 20
SMALL = b'{"a": 1}'
LARGE = bytes(range(256)) * 20_000
LARGE_SHA256 = hashlib.sha256(LARGE).hexdigest()


def oid(content):
    return git_names.blob_id(content)


class Server:
    """A server of one model whose answers a test may change; it notes who asked with what."""

    def __init__(self):
        self.asked = []
        self.answers = {
            f"/api/models/ada/net/revision/{name}": (
                200, {}, {"id": "ada/net", "sha": COMMIT, "private": False, "gated": False}
            )
            for name in ("main", COMMIT)
        }  # fmt: skip
        tree = f"/api/models/ada/net/tree/{COMMIT}?recursive=true"
        small = {"type": "file", "path": "config.json", "size": len(SMALL), "oid": oid(SMALL)}
        large = {
            "type": "file",
            "path": "onnx/model.onnx",
            "size": len(LARGE),
            "oid": "0" * 40,
            "lfs": {"oid": LARGE_SHA256, "size": len(LARGE), "pointerSize": 130},
        }
        folder = {"type": "directory", "path": "onnx", "size": 0, "oid": "0" * 40}
        following = {"Link": f'<https://public.example{tree}&cursor=2>; rel="next"'}
        self.answers[tree] = 200, following, [small, folder]
        self.answers[f"{tree}&cursor=2"] = 200, {}, [large]
        self.answers[f"/api/models/ada/net/commits/{COMMIT}?limit=1&p=0"] = (
            200,
            {},
            [{"id": COMMIT, "title": "Add\x1b[31m it", "date": "2026-01-02T03:04:05.000Z"}],
        )
        self.answers[f"/ada/net/resolve/{COMMIT}/config.json"] = 200, {}, SMALL
        self.answers[f"/ada/net/resolve/{COMMIT}/onnx/model.onnx"] = 200, {}, LARGE
        self.cuts = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def answer(self, request):
        self.asked.append((request.path, dict(request.headers)))
        status, headers, content = self.answers.get(request.path, (404, {}, {"error": "no"}))
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        start = 0
        if "Range" in request.headers and status == 200:
            first, _, last = request.headers["Range"].removeprefix("bytes=").partition("-")
            start, end = int(first), int(last) + 1
            headers = {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(body)}"}
            status, body = 206, body[start:end]
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        if self.cuts and len(body) > 100_000:
            self.cuts -= 1
            request.wfile.write(body[: len(body) // 3])
            request.close_connection = True
            return
        request.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def elsewhere():
    """Where files lie: another origin."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def source(server, tmp_path):
    made = Source(server.url, "ada/net", token="hf_secret", cache=tmp_path / "cache")
    made.sleep = lambda _: None
    return made


def refuse(server, status, code="", words="", path=f"/ada/net/resolve/{COMMIT}/config.json"):
    headers = {"X-Error-Code": code, "X-Error-Message": words}
    server.answers[path] = status, {key: text for key, text in headers.items() if text}, {}


def bring(source, cache):
    snapshot = source.read("main")
    regular = [entry for entry in snapshot.entries if entry.sha256 is None]
    return snapshot, source.bring_regular(cache, snapshot, regular, lambda _: None)


def test_a_commit_is_read_over_pages(source):
    snapshot = source.read("main")
    assert (snapshot.repo, snapshot.commit) == ("ada/net", COMMIT)
    assert (snapshot.title, snapshot.date) == ("Add [31m it", "2026-01-02T03:04:05.000Z")
    assert [(entry.path, entry.size, entry.sha256) for entry in snapshot.entries] == [
        ("config.json", len(SMALL), None),
        ("onnx/model.onnx", len(LARGE), LARGE_SHA256),
    ]


def test_pages_of_another_host_are_asked_of_this_one(source, server):
    source.read("main")
    assert any("cursor=2" in path for path, _ in server.asked)


def test_a_server_without_history_is_read_all_the_same(source, server):
    del server.answers[f"/api/models/ada/net/commits/{COMMIT}?limit=1&p=0"]
    assert source.read("main").title == ""


def test_a_list_without_an_end_is_refused(source, server):
    tree = f"/api/models/ada/net/tree/{COMMIT}?recursive=true"
    _, _, rows = server.answers[tree]
    server.answers[tree] = 200, {"Link": f'<{tree}>; rel="next"'}, rows
    with pytest.raises(problems.Unreachable, match="does not end"):
        source.read("main")


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a\\b", ".git/config", ""])
def test_paths_that_lead_outside_are_refused(source, server, path):
    tree = f"/api/models/ada/net/tree/{COMMIT}?recursive=true"
    row = {"type": "file", "path": path, "size": 1, "oid": "0" * 40}
    server.answers[tree] = 200, {}, [row]
    with pytest.raises(problems.PathInvalid):
        source.read("main")


@pytest.mark.parametrize(
    "row",
    [
        {"path": "a", "size": 1},
        {"path": "a", "size": "x", "oid": "0" * 40},
        {"path": "a", "size": 1, "oid": "short"},
        {"path": "a", "size": 1, "oid": "0" * 40, "lfs": {"size": 1, "oid": "short"}},
        {"path": "a", "size": -1, "oid": "0" * 40},
    ],
)
def test_files_of_which_too_little_is_known_are_refused(source, server, row):
    tree = f"/api/models/ada/net/tree/{COMMIT}?recursive=true"
    server.answers[tree] = 200, {}, [{"type": "file", **row}]
    with pytest.raises(problems.Unreachable, match="does not follow the Hub protocol"):
        source.read("main")


def test_a_server_of_something_else_is_named_so(source, server):
    server.answers["/api/models/ada/net/revision/main"] = 200, {}, b"<html>"
    with pytest.raises(problems.Unreachable, match="Is this the address of a model hub"):
        source.read("main")


def test_no_server_at_all(tmp_path):
    source = Source("http://127.0.0.1:9", "ada/net", token=None, cache=tmp_path, retry_seconds=0)
    with pytest.raises(problems.Unreachable, match=r"No server answers at http://127\.0\.0\.1:9"):
        source.read("main")


def test_a_name_that_is_none(tmp_path):
    for name in ("", "a/b/c", "../x", "a b", "ada/"):
        with pytest.raises(problems.InvalidReference):
            Source("http://127.0.0.1:9", name, token=None, cache=tmp_path)


def test_small_files_are_verified_by_git_and_not_fetched_again(source, server, cache):
    _, files = bring(source, cache)
    assert [(file.path, file.sha256) for file in files] == [
        ("config.json", hashlib.sha256(SMALL).hexdigest())
    ]
    before = len(server.asked)
    _, again = bring(source, cache)
    assert again == files
    assert not [path for path, _ in server.asked[before:] if "/resolve/" in path]


def test_wrong_bytes_of_a_small_file_are_refused(source, server, cache):
    server.answers[f"/ada/net/resolve/{COMMIT}/config.json"] = 200, {}, b'{"a": 2}'
    with pytest.raises(problems.DigestMismatch):
        bring(source, cache)


def test_wrong_bytes_of_a_large_file_are_refused(source, server, cache):
    snapshot = source.read("main")
    server.answers[f"/ada/net/resolve/{COMMIT}/onnx/model.onnx"] = 200, {}, LARGE[:-1] + b"x"
    file = source.remote(snapshot, snapshot.entries[1], LARGE_SHA256)
    with pytest.raises(problems.DigestMismatch):
        download.fetch(source, cache, file)
    assert cache.find(LARGE_SHA256, len(LARGE)) is None


def test_a_large_file_goes_on_where_it_was_cut(source, server, cache):
    server.cuts = 2
    snapshot = source.read("main")
    file = source.remote(snapshot, snapshot.entries[1], LARGE_SHA256)
    assert download.fetch(source, cache, file).read_bytes() == LARGE
    ranges = [headers["Range"] for path, headers in server.asked if "Range" in headers]
    assert len(ranges) == 2
    assert not any(text.startswith("bytes=0-") for text in ranges)


def test_the_token_stays_with_the_source(source, server, elsewhere, cache):
    place = f"/ada/net/resolve/{COMMIT}/onnx/model.onnx"
    server.answers[place] = 302, {"Location": f"{elsewhere.url}{place}"}, {}
    snapshot, _ = bring(source, cache)
    file = source.remote(snapshot, snapshot.entries[1], LARGE_SHA256)
    assert download.fetch(source, cache, file).read_bytes() == LARGE
    assert {headers.get("Authorization") for _, headers in server.asked} == {"Bearer hf_secret"}
    assert [headers.get("Authorization") for _, headers in elsewhere.asked] == [None]


@pytest.mark.parametrize(
    ("status", "code", "words", "kind", "text"),
    [
        (403, "GatedRepo", "Ask first.", problems.NotAllowed, "is gated.*Its message: Ask first"),
        (401, "GatedRepo", "", problems.NotAllowed, "is gated"),
        (401, "", "Invalid credentials", problems.NotAuthenticated, "rejected the token"),
        (404, "RepoNotFound", "", problems.NotFound, "this token may not have access"),
        (404, "RevisionNotFound", "", problems.NotFound, "not have this revision"),
        (403, "", "Access to this resource is disabled.", problems.NotAllowed, "is disabled"),
        (400, "", "No.", problems.InvalidRequest, "answered 400"),
    ],
)
def test_refusals_say_what_to_do(source, server, status, code, words, kind, text):
    refuse(server, status, code, words, path="/api/models/ada/net/revision/main")
    with pytest.raises(kind, match=text):
        source.read("main")


def test_a_guest_is_told_to_give_a_token(server, tmp_path):
    source = Source(server.url, "ada/net", token=None, cache=tmp_path)
    refuse(server, 401, "RepoNotFound", path="/api/models/ada/net/revision/main")
    with pytest.raises(problems.NotFound, match="If it is private, pass a token"):
        source.read("main")
    refuse(server, 401, "GatedRepo", path="/api/models/ada/net/revision/main")
    with pytest.raises(problems.NotAllowed, match="Accept the terms"):
        source.read("main")


def test_a_gated_file_is_told_after_its_open_description(source, server, cache):
    refuse(server, 403, "GatedRepo")
    with pytest.raises(problems.NotAllowed, match=f"{urlsplit(source.address).netloc}.*is gated"):
        bring(source, cache)


def test_hf_token_goes_to_its_own_server_only(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    monkeypatch.setenv("HF_TOKEN", "hf_theirs")
    assert hf.source_token(None, "https://huggingface.co") == "hf_theirs"
    assert hf.source_token(None, "https://other.example") is None
    assert hf.source_token(" hf_given ", "https://other.example") == "hf_given"
    monkeypatch.setenv("HF_ENDPOINT", "https://other.example")
    assert hf.source_token(None, "https://other.example") == "hf_theirs"
    assert hf.source_token(None, "https://huggingface.co") is None
    assert hf.source_url(None) == "https://other.example"


def test_the_hubs_own_token_is_not_sent_to_a_source(monkeypatch):
    monkeypatch.setenv("HUB_URL", "https://here.example")
    monkeypatch.setenv("HUB_TOKEN", "hf_here")
    assert hf.source_token(None, "https://there.example") is None


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("", '---\nmirrored_from:\n  commit: "1a"\n---\n'),
        ("# Net\n", '---\nmirrored_from:\n  commit: "1a"\n---\n# Net\n'),
        (
            "---\nlicense: mit # ours\n---\n# Net\n",
            '---\nlicense: mit # ours\nmirrored_from:\n  commit: "1a"\n---\n# Net\n',
        ),
        (
            '---\nmirrored_from:\n  commit: "0b"\n  url: "x"\nlicense: mit\n---\n# Net\n',
            '---\nlicense: mit\nmirrored_from:\n  commit: "1a"\n---\n# Net\n',
        ),
        ("---\n---\nx", '---\nmirrored_from:\n  commit: "1a"\n---\nx'),
        ("a\n---\nb\n---\n", '---\nmirrored_from:\n  commit: "1a"\n---\na\n---\nb\n---\n'),
    ],
)
def test_a_card_tells_where_it_came_from(card, expected):
    told = {"commit": "1a"}
    made = hf.with_provenance(card, told)
    assert made == expected
    assert hf.with_provenance(made, told) == made
    assert hf.without_provenance(made) == hf.without_provenance(expected)
