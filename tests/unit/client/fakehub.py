"""A small HTTP server on loopback that speaks enough of the hub's API, and fails when told to.

Real sockets, real cuts: what a client meets here is what it meets on a bad network.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import socket
import threading
import uuid
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from hub.protocol import manifests, problems, refs, splits

CHECK = {"kind": "onnx", "required": True, "report": {}}


class FakeHub:
    """The state of one fake server; everything a test may look at or set is an attribute."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.linkable: set[str] = set()
        self.models: dict[str, dict] = {}
        self.versions: dict[str, list[dict]] = {}
        # Entries of data sets, and the versions of each.
        self.datasets: dict[str, dict] = {}
        self.dataset_versions: dict[str, list[dict]] = {}
        self.quota_bytes = 1 << 40
        self.devices: list[dict] = []
        self.uploads: dict[str, dict] = {}
        # What an Idempotency-Key made.
        self.drafts: dict[str, dict] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.sent_bytes = 0
        self.received_bytes = 0
        self.token: str | None = None
        # Faults, each used up as it is met.
        self.answers: deque[tuple[int, dict[str, str], bytes]] = deque()
        self.cuts: deque[int] = deque()
        self.patch_cuts: deque[int] = deque()
        self.lost_answers = 0
        self.hang_ups = 0
        # Answers that are lost after the effect, by the method and a part of the address.
        self.lost: deque[tuple[str, str]] = deque()
        self.stall = threading.Event()
        # Answers to give once so many requests have come.
        self.fail_at: tuple[int, list[tuple[int, dict[str, str], bytes]]] | None = None
        # Standing faults.
        self.corrupt: set[str] = set()
        self.has_ranges = True
        self.ranges_begin_at: int | None = None
        self.poll_rounds = 0
        self.verdict = "published"
        self.warning: str | None = None
        self.redirect_blobs_to: str | None = None
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.hub = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.wishes: list[dict] = []
        self.job_steps: list[dict] = []
        self.variants, self.evaluations = [], []
        # Answers about the package of a version, the last one for ever; none for a hub without.
        self.packages: deque[dict] = deque()
        # What a list says beside its models, such as the setup of its speeds.
        self.list_fields: dict = {}

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(self, name: str, files: dict[str, bytes], *, entry: str | None = None, **extra) -> dict:
        """Publish a version made of these files."""
        rows = []
        for path, content in sorted(files.items()):
            sha256 = hashlib.sha256(content).hexdigest()
            self.blobs[sha256] = content
            rows.append(self.file(path, sha256))
        return self.add_version(name, rows, entry=entry, **extra)

    def file(self, path: str, sha256: str) -> dict:
        return {
            "path": path,
            "size": len(self.blobs[sha256]),
            "sha256": f"sha256:{sha256}",
            "url": f"http://public.example/api/v1/blobs/{sha256}",
            "derived": False,
        }

    def add_version(self, name: str, files: list[dict], *, entry=None, **extra) -> dict:
        namespace, model = name.split("/")
        self.models.setdefault(name, {"ref": name, "namespace": namespace, "name": model})
        versions = self.versions.setdefault(name, [])
        number = len(versions) + 1
        digest = manifests.digest((f["path"], f["sha256"][7:], f["size"]) for f in files)
        entry = entry or next((f["path"] for f in files if f["path"].endswith(".onnx")), None)
        version = {
            "ref": f"{name}@{number}",
            "number": number,
            "state": "published",
            "label": "",
            "manifest_sha256": f"sha256:{digest}",
            "files": files,
            "variants": [{"name": "main", "entry": entry, "opset": 17, "precision": "float32"}],
            "checks": [],
            "jobs": [],
            "created_by": "ada",
            "card": None,
            "url": f"http://public.example/models/{name}/v/{number}",
        } | extra
        versions.append(version)
        return version

    def count(self, method: str, part: str) -> int:
        return sum(1 for m, path, _ in self.requests if m == method and part in path)

    def headers(self, part: str) -> list[dict[str, str]]:
        return [headers for _, path, headers in self.requests if part in path]

    def resolution(self, text: str, opset: str | None, variant: str | None) -> dict:
        ref = refs.parse(text)
        published = [v for v in self.versions.get(ref.name, []) if v["state"] != "draft"]
        for version in reversed(published):
            if ref.number not in {None, version["number"]}:
                continue
            if ref.digest and version["manifest_sha256"][7:] != ref.digest:
                continue
            if ref.label and version["label"] != ref.label:
                continue
            if version["state"] == "submitted" and ref.number is None:
                raise problems.ChecksPending(
                    f"{version['ref']} is still being checked.", number=version["number"], jobs=[]
                )
            return self._resolved(ref, version, opset, variant)
        raise problems.NotFound(f"There is no {text}.")

    def _resolved(
        self, ref: refs.Ref, version: dict, opset: str | None, wanted: str | None
    ) -> dict:
        for variant in version["variants"]:
            if opset in {None, str(variant["opset"])} and wanted in {None, variant["name"]}:
                return {
                    "ref": version["ref"],
                    "namespace": ref.namespace,
                    "model": ref.model,
                    "number": version["number"],
                    "label": version["label"],
                    "commit_id": "0" * 40,
                    "manifest_sha256": version["manifest_sha256"],
                    "state": version["state"],
                    "variant": variant,
                    "files": version["files"],
                    "warning": self.warning,
                }
        raise problems.VariantMissing("No such variant.")


class _Server(ThreadingHTTPServer):
    hub: FakeHub
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address) -> None:
        """Clients of these tests go away on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers and body leave together
    server: _Server

    @property
    def hub(self) -> FakeHub:
        return self.server.hub

    def log_message(self, *args) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        headers = {key.lower(): value for key, value in self.headers.items()}
        if self.hub.fail_at and len(self.hub.requests) == self.hub.fail_at[0]:
            self.hub.answers.extend(self.hub.fail_at[1])
            self.hub.fail_at = None
        self.hub.requests.append((self.command, self.path, headers))
        try:
            if self.command == "PATCH":
                self._patch(parts.path)
                return
            length = int(headers.get("content-length", 0))
            body = self.rfile.read(length) if length else b""
            if self.hub.answers:
                self._send(*self.hub.answers.popleft())
                if self.hub.hang_ups:
                    self.hub.hang_ups -= 1
                    self._hang_up()
                return
            if self.hub.token and headers.get("authorization") != f"Bearer {self.hub.token}":
                raise problems.NotAuthenticated("Send a valid token.")
            self._route(parts.path, parse_qs(parts.query), body)
        except problems.Problem as problem:
            self._problem(problem)

    def _problem(self, problem: problems.Problem) -> None:
        body = json.dumps(problem.to_json("http://public.example")).encode()
        self._send(problem.status, {"Content-Type": problems.MEDIA_TYPE}, body)

    def _send(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        method, part = self.hub.lost[0] if self.hub.lost else ("", "")
        if self.command == method and part in self.path:
            self.hub.lost.popleft()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if status not in {204, 304} and "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in {204, 304}:
            self.wfile.write(body)

    def _json(self, content, status: int = 200, **headers: str) -> None:
        body = json.dumps(content).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if self.command == "GET" and self.headers.get("If-None-Match") == tag:
            self._send(304, {"ETag": tag})
            return
        self._send(status, {"Content-Type": "application/json", "ETag": tag, **headers}, body)

    def _route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        routes = [
            (r"/api/v1/blobs/(\w+)", self._blob),
            (r"/api/v1/resolve", self._resolve),
            (r"/api/v1/whoami", self._whoami),
            (r"/api/v1/devices", self._devices),
            (r"/api/v1/models", self._models),
            (r"/api/v1/models/([^/]+/[^/]+)", self._model),
            (r"/api/v1/models/([^/]+/[^/]+)/preflight", self._preflight),
            (r"/api/v1/models/([^/]+/[^/]+)/versions", self._versions),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)", self._version),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/files", self._files),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/files/(.+)", self._file),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/card", self._card),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/submit", self._submit),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/publish", self._publish),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/package", self._package),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/variants", self._variants),
            (r"/api/v1/models/([^/]+/[^/]+)/versions/(\d+)/evaluations", self._evaluations),
            (r"/api/v1/datasets", self._datasets),
            (r"/api/v1/datasets/([\w-]+)", self._dataset),
            (r"/api/v1/datasets/([\w-]+)/preflight", self._dataset_preflight),
            (r"/api/v1/datasets/([\w-]+)/versions", self._dataset_versions),
            (r"/api/v1/datasets/([\w-]+)/versions/(\d+)", self._dataset_version),
            (r"/api/v1/jobs/([\w-]+)", self._job),
            (r"/api/v1/uploads", self._create_upload),
            (r"/api/v1/uploads/([\w-]+)", self._upload),
        ]
        for pattern, handler in routes:
            if match := re.fullmatch(pattern, unquote(path)):
                handler(*match.groups(), query=query, body=body)
                return
        raise problems.NotFound("There is nothing here.")

    def _blob(self, sha256: str, **_) -> None:
        if self.hub.redirect_blobs_to:
            self._send(302, {"Location": f"{self.hub.redirect_blobs_to}{self.path}"})
            return
        if sha256 not in self.hub.blobs:
            raise problems.NotFound("There is no such blob.")
        content = self.hub.blobs[sha256]
        if sha256 in self.hub.corrupt:
            content = content[:-1] + bytes([content[-1] ^ 1])
        start, end, status = 0, len(content), 200
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if match and self.hub.has_ranges:
            start, end, status = int(match[1]), int(match[2]) + 1, 206
            if self.hub.ranges_begin_at is not None:
                start = self.hub.ranges_begin_at
        headers = {"Content-Length": str(end - start), "Content-Type": "application/octet-stream"}
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        part = content[start:end]
        with self.hub._lock:
            cut = self.hub.cuts.popleft() if self.hub.cuts else None
        self._send(status, headers, part if cut is None else part[:cut])
        self.hub.sent_bytes += len(part) if cut is None else min(cut, len(part))
        if cut is not None:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

    def _resolve(self, query, **_) -> None:
        def one(name):
            return query.get(name, [None])[0]

        self._json(self.hub.resolution(query["ref"][0], one("opset"), one("variant")))

    def _whoami(self, **_) -> None:
        if not self.headers.get("Authorization"):
            raise problems.NotAuthenticated("Send a token.")
        self._json({"username": "ada", "namespaces": [], "scopes": ["write"]})

    def _devices(self, **_) -> None:
        self._json({"items": self.hub.devices, "next": None})

    def _models(self, query, body) -> None:
        if self.command == "POST":
            given = json.loads(body)
            name = f"{given['namespace']}/{given['name']}"
            if name in self.hub.models:
                raise problems.NameTaken(f"{name} exists.")
            self.hub.models[name] = {"ref": name, **given}
            self.hub.versions[name] = []
            self._json(self.hub.models[name], 201)
            return
        names = sorted(name for name in self.hub.models if query.get("q", [""])[0] in name)
        start, limit = int(query.get("cursor", ["0"])[0]), int(query["limit"][0])
        following = None
        if start + limit < len(names):
            following = f"http://public.example/api/v1/models?limit={limit}&cursor={start + limit}"
        items = [self._model_json(name) for name in names[start : start + limit]]
        self._json({"items": items, "next": following, "count": len(names), **self.hub.list_fields})

    def _model_json(self, name: str) -> dict:
        published = [v for v in self.hub.versions[name] if v["state"] == "published"]
        latest = {"number": published[-1]["number"], "size": 12345} if published else None
        return {**self.hub.models[name], "summary": "A model.", "latest": latest}

    def _model(self, name: str, **_) -> None:
        if name not in self.hub.models:
            raise problems.NotFound(f"There is no model {name}.")
        self._json(self._model_json(name))

    def _preflight(self, name: str, body, **_) -> None:
        announced = json.loads(body)
        digest_of = {row["path"]: row["blob"] for row in announced["files"]}
        missing = [row for row in announced["files"] if row["blob"][7:] not in self.hub.blobs]
        ended = [v for v in self.hub.versions.get(name, []) if v["state"] != "draft"]
        held = {file["path"]: file["sha256"] for file in ended[-1]["files"]} if ended else None
        is_same = held == digest_of and ended[-1]["card"] == announced["card"]
        is_same = is_same and announced["label"] in {"", ended[-1]["label"]}
        self._json(
            {
                "creates": name not in self.hub.models,
                "missing": [row["path"] for row in missing],
                "missing_bytes": sum(row["size"] for row in missing),
                "identical_to": ended[-1]["number"] if is_same else None,
            }
        )

    def _versions(self, name: str, body, **_) -> None:
        if self.command == "POST":
            key = self.headers.get("Idempotency-Key")
            version = self.hub.drafts.get(key)
            if version is None:
                version = self.hub.add_version(name, [], state="draft", **json.loads(body))
            if key:
                self.hub.drafts[key] = version
            self._json(version, 201)
            return
        self._json({"items": list(reversed(self.hub.versions[name])), "next": None})

    def _find(self, name: str, number: str) -> dict:
        try:
            return self.hub.versions[name][int(number) - 1]
        except (KeyError, IndexError):
            raise problems.NotFound(f"There is no {name}@{number}.") from None

    def _version(self, name: str, number: str, **_) -> None:
        version = self._find(name, number)
        if version["state"] == "submitted":
            if self.hub.poll_rounds > 0:
                self.hub.poll_rounds -= 1
            else:
                self._finish(version)
        self._json(version)

    def _variants(self, name: str, number: str, body, **_) -> None:
        if self.command == "POST":
            self.hub.wishes.append(json.loads(body))
            self._job("j1")
            return
        self._json({"items": self.hub.variants, "next": None})

    def _evaluations(self, name: str, number: str, body, **_) -> None:
        if self.command == "POST":
            self.hub.wishes.append(json.loads(body))
            self._job("j1")
            return
        self._json({"items": self.hub.evaluations, "next": None})

    def _datasets(self, query, **_) -> None:
        names = sorted(name for name in self.hub.datasets if query.get("q", [""])[0] in name)
        names = [name for name in names if name > query.get("cursor", [""])[0]]
        limit = int(query["limit"][0])
        following = f"http://public.example/api/v1/datasets?limit={limit}&cursor="
        more = following + names[limit - 1] if len(names) > limit else None
        items = [self.hub.datasets[name] for name in names[:limit]]
        self._json({"items": items, "next": more})

    def _dataset(self, slug: str, **_) -> None:
        if slug not in self.hub.datasets:
            raise problems.NotFound(f"There is no data set {slug}.")
        self._json(self.hub.datasets[slug])

    def _dataset_preflight(self, slug: str, body, **_) -> None:
        given = json.loads(body)
        if slug not in self.hub.datasets and not given["namespace"]:
            raise problems.NotFound(f"There is no data set {slug}.")
        _, sha256, missing = self._dataset_content(given)
        versions = self.hub.dataset_versions.get(slug, [])
        self._json(
            {
                "creates": slug not in self.hub.datasets,
                "missing": [path for path, digest in given["files"].items() if digest in missing],
                "missing_bytes": 0,
                "identical_to": next(
                    (one["number"] for one in versions if one["sha256"] == sha256), None
                ),
            }
        )

    def _dataset_content(self, given):
        """The splits of a version that is sent, its digest, and the digests that are missing."""
        digests = {path: digest.removeprefix("sha256:") for path, digest in given["files"].items()}
        if sum(given["sizes"].values()) > self.hub.quota_bytes:
            raise problems.QuotaExceeded("The namespace ada exceeds its quota.")
        parsed = splits.parse(given["splits"], frozenset(digests))
        missing = {f"sha256:{one}" for one in {*digests.values()} - self.hub.linkable}
        return parsed, f"sha256:{manifests.dataset_digest(digests, parsed)}", missing

    def _dataset_versions(self, slug: str, body, **_) -> None:
        versions = self.hub.dataset_versions.get(slug, [])
        if self.command == "GET":
            self._json({"items": versions[::-1], "next": None})
            return
        given = json.loads(body)
        parsed, sha256, missing = self._dataset_content(given)
        if missing:
            raise problems.BlobUnknown("You have not uploaded all of them.")
        if slug not in self.hub.datasets:
            self.hub.datasets[slug] = {
                "slug": slug, "namespace": given["namespace"], "title": slug, "license": "",
                "iri": "", "personal_data": "unknown", "withdrawn_at": None, "reason": "",
                "url": "http://public.example/d",
            }  # fmt: skip
            self.hub.dataset_versions[slug] = versions
        if same := [one for one in versions if one["sha256"] == sha256]:
            self._json(same[0])
            return
        digests = {path: digest.removeprefix("sha256:") for path, digest in given["files"].items()}
        files = [self.hub.file(path, digest) for path, digest in sorted(digests.items())]
        version = {
            "number": len(versions) + 1, "sha256": sha256, "message": given["message"],
            "files": files, "splits": [split.document() for split in parsed],
            "created_at": "2026-11-23T09:00:00Z",
        }  # fmt: skip
        versions.append(version)
        self._json(version, 201)

    def _dataset_version(self, slug: str, number: str, **_) -> None:
        versions = self.hub.dataset_versions[slug]
        if not 1 <= int(number) <= len(versions):
            raise problems.NotFound(f"{slug} has no version {number}.")
        self._json(versions[int(number) - 1])

    def _job(self, uuid: str, **_) -> None:
        told = self.hub.job_steps.pop(0) if len(self.hub.job_steps) > 1 else self.hub.job_steps[0]
        job = {"uuid": uuid, "kind": "convert", "entry": "model.onnx", "url": "http://hub/jobs/j1"}
        self._json({**job, **told}, 202 if self.command == "POST" else 200)

    def _finish(self, version: dict) -> None:
        if self.hub.verdict == "published":
            if version.get("publish_requested", True):
                version["state"] = "published"
            version["checks"] = [{**CHECK, "outcome": "passed"}]
            return
        finding = {
            "code": "not-protobuf",
            "severity": "error",
            "message": "The file ends in the middle of a field.",
            "where": "graph",
        }
        version["state"] = "draft"
        version["checks"] = [
            {
                **CHECK,
                "outcome": self.hub.verdict,
                "report": {"files": [{"path": "model.onnx", "findings": [finding]}]},
            }
        ]

    def _draft(self, name: str, number: str) -> dict:
        version = self._find(name, number)
        if version["state"] != "draft":
            raise problems.DraftFrozen("The version is not a draft.")
        return version

    def _files(self, name: str, number: str, body, **_) -> None:
        version = self._draft(name, number)
        missing = []
        for row in json.loads(body)["files"]:
            path, sha256 = row["path"], row["blob"].removeprefix("sha256:")
            if "content" in row:
                content = base64.b64decode(row["content"])
                assert hashlib.sha256(content).hexdigest() == sha256
                self.hub.blobs[sha256] = content
                self.hub.linkable.add(sha256)
                self.hub.received_bytes += len(content)
            if sha256 not in self.hub.linkable:
                missing.append(path)
                continue
            kept = [file for file in version["files"] if file["path"] != path]
            version["files"] = [*kept, self.hub.file(path, sha256)]
        self._json({"missing": missing})

    def _file(self, name: str, number: str, path: str, body, **_) -> None:
        version = self._draft(name, number)
        kept = [file for file in version["files"] if file["path"] != path]
        if kept == version["files"]:
            raise problems.NotFound("There is no such file.")
        version["files"] = kept
        self._send(204, {})

    def _card(self, name: str, number: str, body, **_) -> None:
        version = self._find(name, number)
        if version["card"] is not None and not self.headers.get("If-Match"):
            raise problems.PreconditionRequired("Send If-Match.")
        version["card"] = body.decode()
        self._json(version)

    def _submit(self, name: str, number: str, body, **_) -> None:
        version = self._find(name, number)
        if version["state"] != "draft":
            raise problems.StateConflict("It is not a draft.")
        version["state"] = "submitted"
        version["publish_requested"] = json.loads(body)["publish"]
        version["checks"] = [{**CHECK, "outcome": "pending"}]
        self._json(version)

    def _publish(self, name: str, number: str, **_) -> None:
        version = self._find(name, number)
        version["publish_requested"] = True
        self._finish(version)
        self._json(version)

    def _package(self, name: str, number: str, **_) -> None:
        version = self._find(name, number)
        if not self.hub.packages:
            raise problems.NotFound("There is nothing here.")
        if len(self.hub.packages) > 1:
            self._json(self.hub.packages.popleft())
        else:
            self._json(self.hub.packages[0] | {"seen": version["state"]})

    def _create_upload(self, **_) -> None:
        pairs = dict(p.split(" ") for p in self.headers["Upload-Metadata"].split(","))
        identity = self.headers.get("Idempotency-Key") or str(uuid.uuid4())
        if identity in self.hub.uploads:
            self._send(201, {"Location": f"http://public.example/api/v1/uploads/{identity}"})
            return
        self.hub.uploads[identity] = {
            "uuid": identity,
            "length": int(self.headers["Upload-Length"]),
            "claimed": base64.b64decode(pairs["sha256"]).decode(),
            "bytes": b"",
            "state": "receiving",
            "blob": None,
        }
        if not self.hub.uploads[identity]["length"]:
            self._store(self.hub.uploads[identity])
        self._send(201, {"Location": f"http://public.example/api/v1/uploads/{identity}"})

    def _found(self, identity: str) -> dict:
        try:
            return self.hub.uploads[identity]
        except KeyError:
            raise problems.UploadGone("The upload no longer exists.") from None

    def _upload(self, identity: str, **_) -> None:
        upload = self._found(identity)
        offset = len(upload["bytes"])
        if self.command == "HEAD":
            self._send(200, {"Upload-Offset": str(offset), "Content-Length": "0"})
            return
        told = {key: upload[key] for key in ("uuid", "length", "state", "blob")}
        self._json({**told, "offset": offset})

    def _patch(self, path: str) -> None:
        length = int(self.headers["Content-Length"])
        upload = self.hub.uploads.get(path.rpartition("/")[2])
        if self.hub.patch_cuts:
            part = self.rfile.read(min(length, self.hub.patch_cuts.popleft()))
            upload["bytes"] += part
            self.hub.received_bytes += len(part)
            self._hang_up()
            return
        part = self.rfile.read(length)
        if upload is None:
            raise problems.UploadGone("The upload no longer exists.")
        if self.hub.answers:
            self._send(*self.hub.answers.popleft())
            return
        if int(self.headers["Upload-Offset"]) != len(upload["bytes"]):
            raise problems.UploadOffset("Continue from another offset.")
        upload["bytes"] += part
        self.hub.received_bytes += len(part)
        headers = {"Upload-Offset": str(len(upload["bytes"]))}
        if len(upload["bytes"]) == upload["length"]:
            self._store(upload)
            headers["Hub-Blob"] = upload["blob"]
            if self.hub.lost_answers:
                self.hub.lost_answers -= 1
                self._hang_up()
                return
        self._send(204, headers)

    def _store(self, upload: dict) -> None:
        sha256 = hashlib.sha256(upload["bytes"]).hexdigest()
        if sha256 != upload["claimed"]:
            upload["state"] = "refused"
            raise problems.DigestMismatch("Other bytes than claimed.")
        upload["state"], upload["blob"] = "stored", f"sha256:{sha256}"
        self.hub.blobs[sha256] = upload["bytes"]
        self.hub.linkable.add(sha256)
