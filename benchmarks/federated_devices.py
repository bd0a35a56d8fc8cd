"""Many simulated devices in one training: what each request costs and writes, and the memory.

Every device joins, polls twice (the second time with the ETag it was given) and hands in an update
of 100,000 parameters; contributions have 64 distinct contents. Requests go through the hub's own
WSGI entry without sockets, one after another, into a home folder that is deleted afterwards. No
worker runs: checks and sums are measured by benchmarks/federated_aggregate.py.

Memory is that of this one process, sampled every so many devices: what it has for itself
(anonymous), and what it has mapped of files, which is mostly the database and is the system's
cache. A line is laid through the anonymous samples after the warm-up; its slope and the interval of
the slope say how much each further device would cost. Samples follow one another, so the interval
is narrower than that of independent ones.

    python benchmarks/federated_devices.py --devices 10000
"""

from __future__ import annotations

import argparse
import base64
import gc
import hashlib
import io
import json
import math
import os
import statistics
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
PARAMETERS = 100_000
CONTENTS = 64
WRITES = ("INSERT", "UPDATE", "DELETE")
KINDS = ("join", "task", "task again", "contribution", "nothing to do")
MOST_ROWS = 2
# More than this for each device, and the memory would not be called flat.
MOST_BYTES_EACH = 1024.0
# Student's t for 95 % with 5, 10, 15, 20 or more degrees of freedom.
STUDENT = ((20, 2.09), (15, 2.13), (10, 2.23), (5, 2.57))


class Rows:
    """Counts the rows that statements write."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
        result = execute(sql, params, many, context)
        if sql.startswith(WRITES):
            # An INSERT that returns its key has no count before that is read; it writes one row.
            least = 1 if sql.startswith("INSERT") else 0
            self.written += max(context["cursor"].rowcount, least)
        return result


@dataclass(frozen=True)
class Answer:
    """What the hub answered."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class Hub:
    """Asks the hub's WSGI entry as a web server would; bodies are not copied on the way."""

    def __init__(self) -> None:
        from hub.server.wsgi import application

        self._application = application

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        said: list[Any] = []
        given = {
            f"HTTP_{name.upper().replace('-', '_')}": value
            for name, value in (headers or {}).items()
        }
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": given.pop("HTTP_CONTENT_TYPE", ""),
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "wsgi.version": (1, 0),
            **given,
        }
        answer = self._application(environ, lambda status, found: said.extend((status, found)))
        try:
            content = b"".join(answer)
        finally:
            answer.close()
        return Answer(int(said[0].split()[0]), dict(said[1]), content)


class Log:
    """Seconds of processor time and rows written, by kind of request.

    All room is taken at the beginning, so that the log adds nothing to the memory that is sampled.
    """

    def __init__(self, devices: int) -> None:
        self.seconds = {kind: array("d", [math.nan]) * devices for kind in KINDS}
        self.asked = dict.fromkeys(KINDS, 0)
        self.rows = dict.fromkeys(KINDS, 0)

    def ask(self, kind: str, status: int, call: Callable[[], Answer]) -> Answer:
        from django.db import connection

        rows = Rows()
        began = time.process_time()
        with connection.execute_wrapper(rows):
            answer = call()
        self.seconds[kind][self.asked[kind]] = time.process_time() - began
        self.asked[kind] += 1
        self.rows[kind] = max(self.rows[kind], rows.written)
        assert answer.status == status, (kind, answer.status, answer.content[:300])
        return answer


def begin(rounds: dict[str, int]) -> tuple[str, str]:
    """Make an open training of a model; gives its address and an invitation."""
    import numpy as np

    from hub.protocol import federated, safetensors
    from registry.federated.schedule import Schedule
    from registry.federated.services import participants, trainings
    from tests import factories, learning

    part = federated.Part("w", "F32", (PARAMETERS,), federated.TRAINABLE)
    head, _ = safetensors.make_header([("w", "F32", (PARAMETERS,))])
    weights = head + np.zeros(PARAMETERS, "<f4").tobytes()
    ada = factories.user("ada")
    version = factories.version(ada, factories.model(ada))
    made = trainings.create(ada, version=version, schedule=Schedule.from_json(rounds))
    trainings.take_schema(
        training=made,
        layout=[part],
        graph_sha256="0" * 64,
        skeleton=learning.stored("model.onnx", b"skeleton").sha256,
        weights=learning.stored("weights.safetensors", weights).sha256,
    )
    _, code = participants.invite(ada, training=made, uses=1_000_000)
    return f"/api/v1/models/{made.model.ref}/trainings/{made.number}", code


def updates() -> list[bytes]:
    """Distinct files of tensors."""
    import numpy as np

    from hub.protocol import safetensors

    head, _ = safetensors.make_header([("w", "F32", (PARAMETERS,))])
    made = np.random.default_rng(0)
    return [
        head + made.normal(0, 0.01, PARAMETERS).astype("<f4").tobytes() for _ in range(CONTENTS)
    ]


def device(hub: Hub, log: Log, address: str, code: str, content: bytes, key: bytes) -> None:
    """Everything that one device asks in a round."""
    from hub.protocol import federated, safetensors

    wish = {"invite": code, "public_key": federated.public_key(key)}
    joined = log.ask("join", 201, lambda: hub.ask(
        "POST", f"{address}/participants", {"Content-Type": "application/json"},
        json.dumps(wish).encode(),
    )).json()  # fmt: skip
    own = {"Authorization": f"Bearer {joined['token']}"}
    answer = log.ask("task", 200, lambda: hub.ask("GET", f"{address}/task", own))
    known = own | {"If-None-Match": answer.headers["ETag"]}
    log.ask("task again", 304, lambda: hub.ask("GET", f"{address}/task", known))
    task = answer.json()
    digest = hashlib.sha256(content)
    manifest = federated.Manifest(
        joined["training"], task["round"], task["nonce"], joined["participant"],
        task["base"]["digest"], f"sha256:{digest.hexdigest()}", 10, "delta/f32",
        "2026-11-22T00:00:00Z",
    )  # fmt: skip
    signed = own | {
        "Content-Type": safetensors.MEDIA_TYPE,
        "Hub-Manifest": base64.b64encode(manifest.canonical()).decode(),
        "Hub-Signature": federated.sign(manifest.canonical(), key),
        "Content-Digest": f"sha-256=:{base64.b64encode(digest.digest()).decode()}:",
    }
    place = f"{address}/rounds/{task['round']}/contribution"
    log.ask("contribution", 201, lambda: hub.ask("PUT", place, signed, content))
    log.ask("nothing to do", 204, lambda: hub.ask("GET", f"{address}/task", own))


@dataclass
class Memory:
    """Samples of this process's memory: devices so far, anonymous bytes, bytes of mapped files."""

    devices: list[int] = field(default_factory=list)
    anonymous: list[int] = field(default_factory=list)
    mapped: list[int] = field(default_factory=list)

    def sample(self, devices: int) -> None:
        said = _status()
        self.devices.append(devices)
        self.anonymous.append(said["RssAnon"])
        self.mapped.append(said["RssFile"] + said["RssShmem"])
        print(
            f"{devices} devices: {_mib(self.anonymous[-1])} MiB anonymous, "
            f"{_mib(self.mapped[-1])} MiB mapped",
            flush=True,
        )

    def slope(self, warm_up: int) -> tuple[float, float] | None:
        """Anonymous bytes for each further device after the warm-up, and half the 95 % interval."""
        told = [
            (at, held)
            for at, held in zip(self.devices, self.anonymous, strict=True)
            if at >= warm_up
        ]
        free = len(told) - 2
        if free < STUDENT[-1][0]:
            return None
        xs, ys = zip(*told, strict=True)
        line = statistics.linear_regression(xs, ys)
        off = [y - line.intercept - line.slope * x for x, y in told]
        middle = statistics.fmean(xs)
        spread = math.sqrt(sum(x * x for x in off) / free / sum((x - middle) ** 2 for x in xs))
        student = next(t for least, t in STUDENT if free >= least)
        return line.slope, student * spread


def _status() -> dict[str, int]:
    """Figures of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    rows = (line.split() for line in lines if line.endswith(" kB"))
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}


def _mib(count: float) -> str:
    return f"{count / 2**20:.1f}"


def report(log: Log, memory: Memory, warm_up: int) -> bool:
    """Print what was measured; says whether rows and memory are within the bars."""
    print("request | median ms of processor time | 99th | most rows written")
    for kind, seconds in log.seconds.items():
        last = statistics.quantiles(seconds, n=100)[98] if len(seconds) > 1 else seconds[0]
        median = statistics.median(seconds)
        print(f"{kind} | {median * 1e3:.2f} | {last * 1e3:.2f} | {log.rows[kind]}")
    print(f"peak of all memory {_mib(_status()['VmHWM'])} MiB")
    is_lean = max(log.rows.values()) <= MOST_ROWS
    told = memory.slope(warm_up)
    if told is None:
        print("too few samples for a slope")
        return is_lean
    slope, half = told
    print(f"after {warm_up} devices: {slope:.0f} ± {half:.0f} bytes for each further device")
    return is_lean and slope - half < MOST_BYTES_EACH


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=500, help="devices between two samples")
    parser.add_argument("--warm-up", type=int, default=2_000, help="devices before the slope")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hub-devices-") as home:
        os.environ |= {
            "HUB_HOME": home,
            "HUB_PUBLIC_URL": "http://testserver",
            "HUB_LIMITS_ANON_RATE": "1000000/min",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
        }
        sys.path.insert(0, str(ROOT))
        import django

        import hub.server  # noqa: F401 - puts the rooms on the path

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        address, code = begin({"quorum": 2, "round_seconds": 86_400})
        contents, hub_under_test = updates(), Hub()
        log, memory = Log(given.devices), Memory()
        began = time.monotonic()
        memory.sample(0)
        for index in range(given.devices):
            key = hashlib.sha256(str(index).encode()).digest()
            device(hub_under_test, log, address, code, contents[index % CONTENTS], key)
            if (index + 1) % given.every == 0:
                memory.sample(index + 1)
        print(f"{given.devices} devices, {time.monotonic() - began:.0f} s of wall time")
        is_within = report(log, memory, given.warm_up)
        gc.collect()
        print("after a full collection of garbage", end=", ")
        memory.sample(given.devices)
        return 0 if is_within else 1


if __name__ == "__main__":
    raise SystemExit(main())
