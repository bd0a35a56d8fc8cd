"""A training of a real hub whose web process and workers are killed: rounds end all the same."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import signal
import struct
from urllib.parse import urlsplit

import pytest

from hub.protocol import federated, safetensors
from tests import samples
from tests.faults.conftest import processes, wait_for
from tests.learning import CREATED

KEPT = 200


class Device:
    """A participant that speaks HTTP to a hub."""

    def __init__(self, hub, training, code):
        self.hub, self.training, self.key = hub, training, federated.new_key()
        told = {"invite": code, "public_key": federated.public_key(self.key)}
        status, _, body = hub.call("POST", f"{training}/participants", told)
        assert status == 201, body
        self.name, self.id, self.token = body["participant"], body["training"], body["token"]

    def call(self, method, path, data=None, **headers):
        """As this device; what is a whole address goes there."""
        kept, self.hub.token = self.hub.token, self.token
        try:
            where = path if path.startswith("/") else f"{self.training}/{path}"
            return self.hub.call(method, where, data, **headers)
        finally:
            self.hub.token = kept

    def task(self):
        status, _, body = self.call("GET", "task", Prefer="wait=5")
        assert status == 200, body
        return body

    def sign(self, task, content):
        manifest = federated.Manifest(
            self.id, task["round"], task["nonce"], self.name, task["base"]["digest"],
            f"sha256:{hashlib.sha256(content).hexdigest()}", 10, "delta/topk", CREATED,
        )  # fmt: skip
        return manifest, federated.sign(manifest.canonical(), self.key)

    def push(self, task, content):
        manifest, signature = self.sign(task, content)
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        status, _, body = self.call(
            "PUT", f"rounds/{task['round']}/contribution", content,
            Content_Type=safetensors.MEDIA_TYPE, Hub_Signature=signature,
            Hub_Manifest=base64.b64encode(manifest.canonical()).decode(),
            Content_Digest=f"sha-256=:{digest}:",
        )  # fmt: skip
        assert status == 201, body


def update(layout, value):
    """A sparse update: the first values of each tensor."""
    wanted = []
    for part in layout:
        count = min(KEPT, federated.Part.from_json(part).elements)
        wanted += [(part["name"] + ".index", "U32", (count,))]
        wanted += [(part["name"] + ".value", "F16", (count,))]
    head, header = safetensors.make_header(wanted)
    for tensor in header.tensors:
        if tensor.dtype == "U32":
            head += struct.pack(f"<{tensor.elements}I", *range(tensor.elements))
        else:
            values = (value * (1 + index % 7) for index in range(tensor.elements))
            head += struct.pack(f"<{tensor.elements}e", *values)
    return head


def begin(hub, name, *, target, **rules):
    """Begin a training of a published model and wait until it is open; returns its address."""
    given = {
        "version": 1, "release_every": 0, "rules": rules,
        "schedule": {"quorum": 2, "target": target, "poll_seconds": 1, "grace_seconds": 20},
    }  # fmt: skip
    status, headers, body = hub.call("POST", f"models/zoo/{name}/trainings", given)
    assert status == 201, body
    path = urlsplit(headers["Location"]).path
    wait_for(lambda: hub.call("GET", path)[2]["state"] == "open", "the training to open", 60)
    return path


def devices(hub, training, count):
    code = hub.call("POST", f"{training}/invites", {"uses": count})[2]["code"]
    return [Device(hub, training, code) for _ in range(count)]


def ended(hub, training, number=1):
    """The result of a round once it has ended."""

    def find():
        try:
            told = hub.call("GET", f"{training}/rounds/{number}")[2]
        except (OSError, http.client.HTTPException):
            return None
        return told if told["state"] not in ("open", "closing") else None

    told = wait_for(find, f"round {number} to end", 90)
    assert told["state"] == "aggregated", told
    return told["result"]


@pytest.fixture(scope="module")
def published(hub):
    """A model large enough that its aggregation takes a while; returns its name."""
    path = hub.draft("wide", samples.mlp(hidden=1_500_000))
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published", 90)
    return "wide"


def test_a_worker_killed_while_it_aggregates_changes_nothing(hub, published):
    results = []
    for is_killed in (False, True):
        training = begin(hub, published, target=3)
        layout = hub.call("GET", f"{training}/schema")[2]["layout"]
        made = devices(hub, training, 3)
        contents = [update(layout, value) for value in (0.25, -0.125, 1e-3)]
        for device, content in sorted(
            zip(made, contents, strict=True), key=lambda one: one[1], reverse=is_killed
        ):
            device.push(device.task(), content)
        if is_killed:
            job = wait_for(lambda: _aggregating(hub), "the aggregation to run", 60)
            worker = int(job["worker"].rpartition("-")[2])
            engines = set(hub.tree(worker))
            os.kill(worker, signal.SIGKILL)
            wait_for(lambda engines=engines: _gone(engines), "the sandbox to die with it")
        results.append(ended(hub, training))
        if is_killed:
            done = hub.call("GET", f"jobs/{job['uuid']}")[2]
            assert (done["state"], done["attempt"]) == ("succeeded", 2)
    assert results[0] == results[1]


def test_no_value_of_a_rejected_or_half_read_contribution_reaches_a_result(hub, published):
    results = []
    for has_others in (False, True):
        training = begin(hub, published, target=3, norm_limit=1000.0)
        layout = hub.call("GET", f"{training}/schema")[2]["layout"]
        made = devices(hub, training, 6)
        if has_others:
            problems = {}
            for device, value in zip(made[3:5], (float("nan"), 9000.0), strict=True):
                device.push(device.task(), update(layout, value))
                problems[value] = wait_for(
                    lambda device=device: device.call("GET", "rounds/1/contribution")[2]["problem"],
                    "the contribution to be rejected", 60,
                )  # fmt: skip
            assert [name.rpartition("/")[2] for name in problems.values()] == [
                "non-finite",
                "norm-limit",
            ]
            half = update(layout, 0.5)
            upload = urlsplit(
                made[5].call(
                    "POST", "uploads", Tus_Resumable="1.0.0", Upload_Length=str(len(half))
                )[1]["Location"]
            ).path
            parts = {"Content_Type": "application/offset+octet-stream", "Tus_Resumable": "1.0.0"}
            sent = made[5].call("PATCH", upload, half[: len(half) // 2], Upload_Offset="0", **parts)
            assert sent[0] == 204
        for device, value in zip(made[:3], (0.25, -0.125, 1e-3), strict=True):
            device.push(device.task(), update(layout, value))
        results.append(ended(hub, training))
        assert hub.call("GET", f"{training}/rounds/1/aggregate")[2]["participants"] == 3
    assert results[0] == results[1]


def _gone(pids):
    return not {pid for pid, _, _ in processes()} & pids


def _aggregating(hub):
    items = hub.call("GET", "jobs?state=running")[2]["items"]
    return next((job for job in items if job["kind"] == "federated-aggregate"), None)


def test_a_web_process_killed_in_the_middle_of_an_upload(hub, published):
    training = begin(hub, published, target=2)
    layout = hub.call("GET", f"{training}/schema")[2]["layout"]
    first, second = devices(hub, training, 2)
    first.push(first.task(), update(layout, 0.5))
    task, content = second.task(), update(layout, 0.25)
    status, headers, body = second.call(
        "POST", "uploads", Tus_Resumable="1.0.0", Upload_Length=str(len(content))
    )
    assert status == 201, body
    upload = urlsplit(headers["Location"]).path
    parts = {"Content_Type": "application/offset+octet-stream", "Tus_Resumable": "1.0.0"}
    assert second.call("PATCH", upload, content[:1000], Upload_Offset="0", **parts)[0] == 204
    hub.kill("hub web")
    wait_for(hub.alive, "the web process to be back")
    offset = int(second.call("HEAD", upload, Tus_Resumable="1.0.0")[1]["Upload-Offset"])
    assert offset == 1000
    rest = second.call("PATCH", upload, content[offset:], Upload_Offset=str(offset), **parts)
    assert rest[0] == 204, rest[2]
    manifest, signature = second.sign(task, content)
    handed = {"manifest": manifest.to_json(), "signature": signature}
    hub.kill("hub web")  # the answer may be lost: the same again gives what is there
    wait_for(hub.alive, "the web process to be back")
    statuses = [
        second.call("PUT", f"rounds/{task['round']}/contribution", handed)[0] for _ in range(2)
    ]
    assert statuses == [201, 200]
    assert ended(hub, training)


def test_a_round_passes_its_deadline_while_no_worker_is_there(hub, published):
    training = begin(hub, published, target=2)
    (device,) = devices(hub, training, 1)
    layout = hub.call("GET", f"{training}/schema")[2]["layout"]
    device.push(device.task(), update(layout, 0.5))
    hub.call("POST", f"{training}/rounds/1/close")
    hub.kill("hub worker")
    hub.kill("hub urgent")
    told = {}

    def is_over():
        told.update(hub.call("GET", f"{training}/rounds/1")[2])
        return told["state"] == "failed"

    wait_for(is_over, "the round to fail", 60)
    assert told["reason"] == "below-quorum"
    following = hub.call("GET", f"{training}/rounds/2")[2]
    assert (following["state"], following["base"]) == ("open", told["base"])
    assert device.task()["round"] == 2
