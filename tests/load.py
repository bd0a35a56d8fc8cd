"""Clients of a hub that send and read at once, remember what was acknowledged, and look for it.

Requests are repeated as the hub's own client repeats them, and each failed attempt is counted.
"""

from __future__ import annotations

import base64
import json
import random
import statistics
import threading
import time
from collections import Counter, defaultdict
from hashlib import sha256

from hub.client.hub import Hub as Client
from hub.protocol import problems
from hub.protocol.problems import Problem
from tests import samples

RETRY_SECONDS = 120
# Of which status an attempt is repeated, beside one without an answer.
PASSING = {408, 425, 429, 500, 502, 503, 504}
SPARQL = "SELECT ?m { ?m a <http://www.w3.org/ns/dcat#Dataset> } LIMIT 20"


class Load:
    """Clients that run until `stop`; times are seconds by kind of request, retries included."""

    def __init__(self, address, token, folder, *, seed=1):
        self._address, self._token, self._folder = address, token, folder
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = []
        self.seconds = defaultdict(list)
        self.failed_attempts = Counter()
        self.failures = []
        # What was acknowledged: the address of a file, and its SHA-256.
        self.files = {}
        self.published = []

    def start(self, **clients):
        """Start so many clients of each kind: push, resume, lfs, download, page, list, sparql."""
        for kind, count in clients.items():
            for number in range(count):
                arguments = (getattr(self, f"_{kind}"), kind, number)
                self._threads.append(threading.Thread(target=self._run, args=arguments))
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Let each client finish what it began."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def lines(self):
        """A table of the times, in milliseconds."""
        yield f"{'request':<10}{'count':>8}{'p50':>9}{'p95':>9}{'p99':>9}{'longest':>9}"
        for kind, seconds in sorted(self.seconds.items()):
            ordered = sorted(seconds)
            ranks = [ordered[min(len(ordered) - 1, int(len(ordered) * q))] for q in (0.95, 0.99)]
            times = [statistics.median(ordered), *ranks, ordered[-1]]
            yield f"{kind:<10}{len(seconds):>8}" + "".join(f"{1000 * t:>9.0f}" for t in times)
        yield "failed attempts, all repeated: " + (
            ", ".join(f"{kind} {count}" for kind, count in self.failed_attempts.most_common())
            or "none"
        )

    def lost(self):
        """Acknowledged files and versions that the hub no longer gives as they were sent."""
        client = self._client()
        for address, digest in self.files.items():
            try:
                body = self._send(client, "GET", address).body
            except Problem as problem:
                yield f"{address}: {problem}"
                continue
            if sha256(body).hexdigest() != digest:
                yield f"{address} has other bytes"
        for path in self.published:
            state = self._send(client, "GET", path).json()["state"]
            if state != "published":
                yield f"{path} is {state}"

    def _client(self):
        return Client(
            self._address, token=self._token, cache=self._folder, retry_seconds=RETRY_SECONDS
        )

    def _run(self, work, kind, number):
        client = self._client()
        turn = 0
        while not self._over.is_set():
            turn += 1
            began = time.monotonic()
            try:
                done = work(client, f"{kind}-{number}-{turn}")
            except Exception as error:  # noqa: BLE001 - reported, and the others go on
                with self._lock:
                    self.failures.append(f"{kind}: {type(error).__name__}: {error}")
                continue
            if done is False:
                time.sleep(0.2)
                continue
            with self._lock:
                self.seconds[kind].append(time.monotonic() - began)

    def _send(self, client, method, address, body=None, *, content=None, done=(), **headers):
        """One request until it succeeds; ``done`` are statuses by which an earlier one had."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        until = time.monotonic() + RETRY_SECONDS
        pause = 0.1
        while True:
            try:
                return client.transport.request(
                    method, address, body=body, content=content, headers=names, once=True
                )
            except Problem as problem:
                if problem.status in done:
                    return None
                unanswered = isinstance(problem, problems.Unreachable)
                if not (unanswered or problem.status in PASSING) or time.monotonic() > until:
                    raise
                with self._lock:
                    self.failed_attempts["no answer" if unanswered else str(problem.status)] += 1
                time.sleep(pause)
                pause = min(2 * pause, 2.0)

    def _note(self, address, content):
        with self._lock:
            self.files[address] = sha256(content).hexdigest()

    def _any_file(self):
        with self._lock:
            return self._random.choice(list(self.files.items())) if self.files else None

    # Writers.

    def _push(self, client, name):
        """`hub push`, until the version is published."""
        content = samples.unlike_others(samples.mlp())
        path = self._folder / f"{name}.onnx"
        path.write_bytes(content)
        version = client.push(f"zoo/{name}", path, progress=False)
        base = f"/api/v1/models/zoo/{name}/versions/{version['number']}"
        with self._lock:
            self.published.append(base)
        self._note(f"{base}/files/{path.name}", content)

    def _resume(self, client, name):
        """An upload in three steps, which any machine may receive, named by a draft."""
        content = self._random.randbytes(3_000_000)
        self._send(
            client, "POST", "/api/v1/models", content={"namespace": "zoo", "name": name},
            done=(409,),
        )  # fmt: skip
        made = self._send(client, "POST", f"/api/v1/models/zoo/{name}/versions", content={})
        claim = base64.b64encode(sha256(content).hexdigest().encode()).decode()
        opened = self._send(
            client, "POST", "/api/v1/uploads", b"", Tus_Resumable="1.0.0",
            Upload_Length=str(len(content)), Upload_Metadata=f"sha256 {claim}",
        )  # fmt: skip
        place = opened.headers["Location"]
        offset = 0
        while offset < len(content):
            step = content[offset : offset + 1_000_000]
            # 409: an attempt without an answer had been received.
            self._send(
                client, "PATCH", place, step, Tus_Resumable="1.0.0", Upload_Offset=str(offset),
                Content_Type="application/offset+octet-stream", done=(409,),
            )  # fmt: skip
            head = self._send(client, "HEAD", place, Tus_Resumable="1.0.0")
            offset = int(head.headers["Upload-Offset"])
        base = f"/api/v1/models/zoo/{name}/versions/{made.json()['number']}"
        address = f"{base}/files/data.bin"
        blob = {"blob": f"sha256:{sha256(content).hexdigest()}"}
        self._send(client, "PUT", address, content=blob)
        self._note(address, content)

    def _lfs(self, client, name):
        """Git LFS and a commit, as Hugging Face's client sends them."""
        content = self._random.randbytes(500_000)
        digest = sha256(content).hexdigest()
        self._send(
            client, "POST", "/api/repos/create", content={"name": name, "organization": "zoo"},
            done=(409,),
        )  # fmt: skip
        entry = {"oid": digest, "size": len(content)}
        batch = self._send(
            client, "POST", f"/zoo/{name}.git/info/lfs/objects/batch",
            content={"operation": "upload", "transfers": ["basic"], "objects": [entry]},
            Accept="application/vnd.git-lfs+json",
        ).json()  # fmt: skip
        actions = batch["objects"][0].get("actions", {})
        if "upload" in actions:
            target = actions["upload"]
            self._send(client, "PUT", target["href"], content, **target.get("header", {}))
        if "verify" in actions:
            self._send(client, "POST", actions["verify"]["href"], content=entry)
        lines = [
            {"key": "header", "value": {"summary": "Add weights", "description": ""}},
            {"key": "lfsFile", "value": {"path": "w.bin", "algo": "sha256", **entry}},
        ]
        self._send(
            client, "POST", f"/api/models/zoo/{name}/commit/main",
            "\n".join(json.dumps(line) for line in lines).encode(),
            Content_Type="application/x-ndjson",
        )  # fmt: skip
        self._note(f"/zoo/{name}/resolve/main/w.bin", content)

    # Readers.

    def _download(self, client, _name):
        file = self._any_file()
        if file is None:
            return False
        body = self._send(client, "GET", file[0]).body
        if sha256(body).hexdigest() != file[1]:
            raise AssertionError(f"{file[0]} has other bytes")
        return True

    def _page(self, client, _name):
        self._send(client, "GET", "/models", Accept="text/html")

    def _list(self, client, _name):
        self._send(client, "GET", "/api/v1/models?sort=updated")

    def _sparql(self, client, _name):
        self._send(
            client, "POST", "/sparql", SPARQL.encode(), Content_Type="application/sparql-query",
            Accept="application/sparql-results+json",
        )  # fmt: skip
