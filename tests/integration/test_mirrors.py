"""Models mirrored from one hub of real processes into another, over real sockets."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from hub.protocol import manifests
from tests import samples
from tests.faults.conftest import ROOT, Hub, wait_for

CARD = b"---\nlicense: mit\ntags: [a-keyword]\n---\n# Net\n"
LARGE = bytes(range(256)) * 60_000


def make(tmp_path_factory, name, **environment):
    return Hub(
        tmp_path_factory.mktemp(name) / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="2",
        **environment,
    )


def publish(hub, name, files, *, visibility="public", message="First"):
    """Publish the next version of a model of zoo."""
    hub.call("POST", "models", {"namespace": "zoo", "name": name, "visibility": visibility})
    number = hub.call("POST", f"models/zoo/{name}/versions", {"message": message})[2]["number"]
    path = f"models/zoo/{name}/versions/{number}"
    for place, content in files.items():
        status, _, body = hub.call(
            "PUT", f"{path}/files/{quote(place)}", {"blob": hub.store(content)}
        )
        assert status in (200, 201), body
    hub.call("PUT", f"{path}/card", CARD, Content_Type="text/markdown")
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: hub.state(path) == "published", f"{name} to be published", 180)
    return number


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """The source: two versions of a public model, and a private one."""
    hub = make(tmp_path_factory, "there")
    try:
        publish(
            hub, "net", {"model.onnx": samples.unlike_others(samples.mlp()), "weights.bin": LARGE}
        )
        publish(hub, "net", {"model.onnx": samples.unlike_others(samples.mlp())}, message="Second")
        hub.call("PUT", "models/zoo/net/refs/stable", {"kind": "alias", "version": 1})
        publish(
            hub,
            "hidden",
            {"model.onnx": samples.unlike_others(samples.mlp())},
            visibility="private",
        )
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The target, with namespaces that mirrors store models in."""
    hub = make(tmp_path_factory, "here")
    try:
        yield hub
    finally:
        hub.stop()


def namespace(hub, slug):
    status, _, body = hub.call("POST", "namespaces", {"slug": slug})
    assert status == 201, body
    return slug


def add(hub, source, into, **fields):
    """Add a mirror; gives its id."""
    status, _, body = hub.call("POST", "mirrors", {"source": source, "into": into, **fields})
    assert status == 201, body
    return body["id"]


def read(hub, mirror):
    return hub.call("GET", f"mirrors/{mirror}")[2]


def synced(hub, mirror):
    """Wait for a success after this moment."""
    before = read(hub, mirror)["synced_at"]
    hub.call("POST", f"mirrors/{mirror}/sync")
    wait_for(
        lambda: read(hub, mirror)["synced_at"] not in (before, None),
        lambda_text(hub, mirror),
        90,
    )
    return read(hub, mirror)


def lambda_text(hub, mirror):
    return f"mirror {mirror} to be synchronised: {read(hub, mirror)}"


def failed(hub, mirror):
    """Wait for an error, and give it."""
    return wait_for(lambda: read(hub, mirror)["error"], lambda_text(hub, mirror), 60)


def files(hub, ref, number):
    rows = hub.call("GET", f"models/{ref}/versions/{number}")[2]["files"]
    return {row["path"]: row["sha256"] for row in rows if not row["derived"]}


def test_a_model_keeps_its_numbers_bytes_card_and_aliases(there, here):
    evidence = "models/zoo/net/versions/1/conformance"
    wait_for(lambda: there.call("GET", evidence)[2]["items"], "evidence at the source", 120)
    mirror = add(here, f"{there.address}/zoo/net", namespace(here, "first"))
    assert synced(here, mirror)["models"][0]["problem"] == ""
    for number in (1, 2):
        assert files(here, "first/net", number) == files(there, "zoo/net", number)
    versions = here.call("GET", "models/first/net/versions")[2]["items"]
    assert [(row["number"], row["state"], row["message"]) for row in versions] == [
        (2, "published", "Second"),
        (1, "published", "First"),
    ]
    model = here.call("GET", "models/first/net")[2]
    assert {"name": "stable", "kind": "alias", "number": 1} in model["refs"]
    assert model["license"].lower() == "mit"

    version = here.call("GET", "models/first/net/versions/1")[2]
    source = version["mirrored_from"]
    other = there.call("GET", "models/zoo/net/versions/1")[2]
    assert {key: source[key] for key in ("url", "ref", "commit_id", "author")} == {
        "url": there.address,
        "ref": "zoo/net",
        "commit_id": other["commit_id"],
        "author": "admin",
    }
    assert {one["kind"] for one in source["statements"]} >= {"conformance"}
    assert source["manifest_sha256"] == version["manifest_sha256"] == other["manifest_sha256"]

    # What the source yanks is yanked here with its reason, and restored with it.
    reason = {"reason": "Wrong labels", "breaks_dependents": True}
    there.call("POST", "models/zoo/net/versions/1/yank", reason)
    synced(here, mirror)
    version = here.call("GET", "models/first/net/versions/1")[2]
    assert (version["state"], version["reason"]) == (
        "yanked",
        f"Yanked at {there.address}: Wrong labels",
    )
    there.call("POST", "models/zoo/net/versions/1/restore", {})
    synced(here, mirror)
    assert here.call("GET", "models/first/net/versions/1")[2]["state"] == "published"

    status, _, _ = here.call("DELETE", f"mirrors/{mirror}")
    assert status == 204
    assert here.call("GET", "models/first/net/versions/1")[2]["state"] == "published"


def test_a_version_with_other_bytes_is_a_conflict_and_stays(there, here):
    namespace(here, "second")
    here.call("POST", "models", {"namespace": "second", "name": "net"})
    here.call("POST", "models/second/net/versions", {"message": "own"})
    path = "models/second/net/versions/1"
    here.call(
        "PUT",
        f"{path}/files/model.onnx",
        {"blob": here.store(samples.unlike_others(samples.mlp()))},
    )
    here.call("PUT", f"{path}/card", CARD, Content_Type="text/markdown")
    here.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: here.state(path) == "published", "the own version", 180)
    before = files(here, "second/net", 1)
    mirror = add(here, f"{there.address}/models/zoo/net", "second")
    state = synced(here, mirror)
    assert files(here, "second/net", 1) == before
    assert files(here, "second/net", 2) == files(there, "zoo/net", 2)
    assert state["problems"] == [
        {
            "ref": "second/net@1",
            "state": "conflict",
            "problem": "second/net@1 exists here with other files and was not changed. Store "
            "zoo/net in another namespace.",
        }
    ]


def test_a_private_model_needs_a_token_and_stays_private(there, here):
    source = f"{there.address}/zoo/hidden"
    mirror = add(here, source, namespace(here, "third"))
    assert "set a token of that server" in failed(here, mirror)
    status, _, body = here.call("PATCH", f"mirrors/{mirror}", {"token": there.token})
    assert (status, body["has_token"]) == (200, True)
    assert there.token not in str(body)
    synced(here, mirror)
    assert here.call("GET", "models/third/hidden")[2]["visibility"] == "private"
    assert here.call("GET", "models/third/hidden", Authorization="")[0] == 404
    rows = b"".join(path.read_bytes() for path in here.home.glob("*.sqlite3*"))
    assert source.encode()[:20] in rows
    assert there.token.encode() not in rows


def test_a_namespace_is_mirrored_without_what_its_token_does_not_see(there, here):
    mirror = add(here, f"{there.address}/zoo", namespace(here, "fourth"))
    rows = {row["source_ref"]: row["ref"] for row in synced(here, mirror)["models"]}
    assert rows["zoo/net"] == "fourth/net"
    assert "zoo/hidden" not in rows


def test_a_search_is_mirrored(there, here):
    mirror = add(here, there.address, namespace(here, "fifth"), search="net")
    rows = {row["source_ref"]: row["ref"] for row in synced(here, mirror)["models"]}
    assert rows["zoo/net"] == "fifth/net"
    assert "zoo/hidden" not in rows


def test_a_dead_source_is_an_error_in_words(here):
    mirror = add(here, "http://127.0.0.1:9/zoo/net", namespace(here, "sixth"))
    assert failed(here, mirror).startswith("http://127.0.0.1:9 does not answer")
    assert read(here, mirror)["synced_at"] is None


class Source(BaseHTTPRequestHandler):
    """A source of the test's own: `pages` are its answers by path."""

    pages: dict[str, tuple[int, dict[str, str], bytes]] = {}

    def do_GET(self):
        place = self.path.partition("?")[0]
        status, headers, body = self.pages.get(place, (404, {}, b"{}"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def serving(handler):
    """Answer with a handler; gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def offering(content, stated=None, **headers):
    """The pages of a source with one version of bad/model, which states a digest of its file."""
    digest = hashlib.sha256(stated or content).hexdigest()
    entry = ("model.onnx", digest, len(stated or content))
    version = {
        "number": 1,
        "state": "published",
        "commit_id": "0" * 40,
        "manifest_sha256": f"sha256:{manifests.digest([entry])}",
        "files": [{"path": "model.onnx", "size": entry[2], "sha256": f"sha256:{digest}"}],
    }
    model = {"ref": "bad/model", "visibility": "public", "gate": "open", "refs": []}
    place = "/api/v1/models/bad/model"
    status = 302 if "Location" in headers else 200
    answers = {
        place: model,
        f"{place}/versions": {"items": [version], "next": None},
        f"{place}/versions/1": version,
    }
    pages = {path: (200, {}, json.dumps(answer).encode()) for path, answer in answers.items()}
    pages[f"{place}/versions/1/files/model.onnx"] = (status, headers, content)
    return type("Pages", (Source,), {"pages": pages})


@pytest.mark.parametrize(
    ("content", "stated", "state", "reason"),
    [
        (b"\x08\x08garbage" * 50, None, "refused", "did not pass its checks on this hub: onnx"),
        (samples.mlp(), samples.mlp()[:-1] + b"\0", "failed", "was claimed"),
    ],
)
def test_a_hostile_file_is_refused_and_nothing_is_visible(here, content, stated, state, reason):
    slug = namespace(here, f"bad-{secrets.token_hex(3)}")
    with serving(offering(content, stated)) as address:
        mirror = add(here, f"{address}/bad/model", slug)
        problems = synced(here, mirror)["problems"]
    assert [row["state"] for row in problems] == [state]
    assert reason in problems[0]["problem"]
    assert here.call("GET", f"models/{slug}/model", Authorization="")[0] == 404


def test_a_redirect_into_the_network_of_the_hub_is_not_followed(here):
    asked = []

    class Inner(Source):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

    slug = namespace(here, "redirected")
    with serving(Inner) as inner, serving(offering(samples.mlp(), Location=inner)) as address:
        mirror = add(here, f"{address}/bad/model", slug)
        assert "127.0.0.1 is not a public address" in failed(here, mirror)
    assert asked == []


def test_a_killed_transfer_goes_on_where_it_stopped(there, here):
    heavy = {"model.onnx": samples.unlike_others(samples.mlp()), "weights.bin": LARGE[1:]}
    publish(there, "heavy", heavy)
    asked, opened = [], threading.Event()

    class Slow(BaseHTTPRequestHandler):
        """Passes requests on to the source, large bodies slowly."""

        def do_GET(self):
            wanted = {"Range": self.headers["Range"]} if self.headers["Range"] else {}
            request = Request(there.address + self.path, headers=wanted)  # noqa: S310
            with urlopen(request, timeout=30) as answer:  # noqa: S310 - the source
                body = answer.read()
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
            if self.path.endswith("weights.bin"):
                asked.append(self.headers["Range"])
            with suppress(OSError):
                for start in range(0, len(body), 1 << 20):
                    self.wfile.write(body[start : start + (1 << 20)])
                    if self.path.endswith("weights.bin") and not opened.is_set():
                        time.sleep(0.3)

        def log_message(self, *_):
            pass

    slug = namespace(here, "killed")
    with serving(Slow) as address:
        mirror = add(here, f"{address}/zoo/heavy", slug)
        wait_for(lambda: read(here, mirror)["received_bytes"] > 4 << 20, "some bytes", 30)
        assert here.call("GET", f"models/{slug}/heavy", Authorization="")[0] == 404
        assert here.call("GET", f"models/{slug}/heavy/versions")[2]["items"] == []
        worker = here.child("hub worker")
        here.kill("hub worker")
        opened.set()
        wait_for(lambda: here.child("hub worker") != worker, "another worker", 30)
        wait_for(lambda: read(here, mirror)["synced_at"], lambda_text(here, mirror), 90)
    assert files(here, f"{slug}/heavy", 1) == files(there, "zoo/heavy", 1)
    assert asked[0] is None
    later = [int(one.removeprefix("bytes=").rstrip("-")) for one in asked[1:]]
    assert later
    assert min(later) >= 1 << 20


def command(hub, *words):
    """Run `hub …` against a hub; gives the exit code and what it printed."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("H")}
    ended = subprocess.run(
        [sys.executable, "-m", "hub", *map(str, words)],
        env=kept | {
            "PYTHONPATH": str(ROOT), "HOME": str(hub.home), "HUB_URL": hub.address,
            "HUB_TOKEN": hub.token, "HUB_CACHE": str(hub.home / "client"),
        },
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


def test_a_folder_carries_models_between_hubs(there, here, tmp_path):
    there.call("PUT", "models/zoo/net/refs/2.0", {"kind": "tag", "version": 2})
    folder = tmp_path / "disk"
    code, text = command(there, "mirror", "export", "zoo/net", folder)
    assert (code, "zoo/net  2 versions" in text) == (0, True), text
    code, text = command(there, "mirror", "export", "zoo/net", folder)
    assert "0 files fetched, 4 already in the folder" in text, text
    assert not (folder / "CACHEDIR.TAG").exists()
    code, text = command(there, "mirror", "export", "--search", "net", tmp_path / "search")
    assert (code, "zoo/net  2 versions" in text) == (0, True), text
    code, text = command(there, "mirror", "export", "zoo", tmp_path / "all")
    assert (code, "zoo/net  2 versions" in text, "zoo/hidden  1 version" in text) == (
        0,
        True,
        True,
    ), text

    slug = namespace(here, "carried")
    code, text = command(here, "mirror", "import", folder, "--into", slug)
    assert code == 0, text
    for number in (1, 2):
        assert files(here, f"{slug}/net", number) == files(there, "zoo/net", number)
    model = here.call("GET", f"models/{slug}/net")[2]
    assert {"name": "stable", "kind": "alias", "number": 1} in model["refs"]
    code, text = command(here, "mirror", "import", folder, "--into", slug)
    assert (code, text.count("stored")) == (0, 2), text


def test_a_damaged_file_of_a_folder_is_not_sent(there, here, tmp_path):
    folder, slug = tmp_path / "disk", namespace(here, "damaged")
    assert command(there, "mirror", "export", "zoo/hidden", folder)[0] == 0
    digest = files(there, "zoo/hidden", 1)["model.onnx"].removeprefix("sha256:")
    blob = folder / "blobs" / digest
    sound = blob.read_bytes()
    blob.chmod(0o644)
    blob.write_bytes(sound[:-1] + b"!")
    code, text = command(here, "mirror", "import", folder, "--into", slug)
    assert code == 1
    assert "missing or damaged" in text
    assert here.call("GET", f"models/{slug}/hidden/versions")[2]["items"] == []
    blob.write_bytes(sound)
    code, text = command(here, "mirror", "import", folder, "--into", slug)
    assert code == 0, text
    assert here.call("GET", f"models/{slug}/hidden")[2]["visibility"] == "private"


def test_a_server_of_the_hugging_face_protocol_is_mirrored(there, here):
    there.call("PUT", "models/zoo/net/refs/1.0", {"kind": "tag", "version": 1})
    mirror = add(
        here, f"{there.address}/zoo/net", namespace(here, "spoken"), protocol="huggingface"
    )
    synced(here, mirror)
    assert [files(here, "spoken/net", number) for number in (1, 2)] == [
        files(there, "zoo/net", number) for number in (1, 2)
    ]
    model = here.call("GET", "models/spoken/net")[2]
    assert {"name": "1.0", "kind": "tag", "number": 1} in model["refs"]
    synced(here, mirror)
    assert len(here.call("GET", "models/spoken/net/versions")[2]["items"]) == 2


def until_fetched(hub, path, **headers):
    """Request a path of a pull-through namespace until it is not answered with 503."""

    def ask():
        status, answer, body = hub.call("GET", path, **headers)
        if status == 503:
            assert answer["Retry-After"] == "5"
            return None
        return status, body

    return wait_for(ask, f"{path} to be fetched", 60)


def test_the_first_request_fetches_a_model_of_a_remote_namespace(there, here):
    slug = namespace(here, "remote")
    mirror = add(here, f"{there.address}/zoo", slug, pull_through=True)
    wait_for(lambda: read(here, mirror)["synced_at"], "the first turn", 30)
    assert read(here, mirror)["models"] == []
    assert until_fetched(here, f"/api/models/{slug}/absent", Authorization="")[0] == 401
    status, body = until_fetched(here, f"/api/models/{slug}/net", Authorization="")
    assert (status, "weights.bin" in str(body["siblings"])) == (200, False)
    assert files(here, f"{slug}/net", 1) == files(there, "zoo/net", 1)
    resolved = f"/{slug}/net/resolve/v1/weights.bin"
    status, _, content = here.call("GET", resolved, Authorization="")
    assert (status, content) == (200, LARGE)

    # Without a token the mirror does not see it, whoever asks; nothing of it is told.
    for headers in ({"Authorization": ""}, {}):
        status, _ = until_fetched(here, f"/api/models/{slug}/hidden", **headers)
        assert status == (401 if headers else 404)

    # With one, members alone have it fetched, and it stays theirs.
    here.call("PATCH", f"mirrors/{mirror}", {"token": there.token})
    asked = len(read(here, mirror)["models"])
    assert here.call("GET", f"/api/models/{slug}/gated", Authorization="")[0] == 401
    assert len(read(here, mirror)["models"]) == asked
