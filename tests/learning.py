"""A training and its devices for tests: contributions are signed, workers are played."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import uuid

from hub.protocol import federated, safetensors
from hub.protocol.training_rules import Rules
from registry.core import outbox
from registry.federated.models import Training
from registry.federated.schedule import Schedule
from registry.federated.services import participants, trainings
from registry.storage.files import store
from registry.versions.services import derivatives
from runners.engine.reports import Finding, OutputFile, Report
from runners.federated import jobs as learning
from runners.models import Job
from runners.queue import job_kinds
from runners.queue import services as runners
from tests import factories

PARTS = (
    federated.Part("w", "F32", (2, 3), federated.TRAINABLE),
    federated.Part("b", "F32", (3,), federated.TRAINABLE),
    federated.Part("count", "I64", (1,), federated.FROZEN),
)
SCHEDULE = {"quorum": 2, "target": 2, "grace_seconds": 30, "poll_seconds": 1}
KINDS = (learning.SCHEMA, learning.CHECK, learning.AGGREGATE)
CREATED = "2026-11-22T00:00:00Z"


def tensors(value=0.5, parts=None, **changed):
    """A file of tensors: those that travel, each value the same."""
    wanted = parts or [
        (part.name, "F32", part.shape) for part in PARTS if part.role != federated.FROZEN
    ]
    wanted = [changed.get(one[0], one) for one in wanted if changed.get(one[0], one)]
    head, header = safetensors.make_header(wanted)
    sizes = {"F32": "<f", "I64": "<q", "F16": "<e"}
    return head + b"".join(
        struct.pack(sizes[tensor.dtype], int(value) if tensor.dtype == "I64" else value)
        * tensor.elements
        for tensor in header.tensors
    )


def base(value=0.0):
    """The whole weights, frozen ones with them."""
    return tensors(value, [(part.name, part.dtype, part.shape) for part in PARTS])


def training(owner, version=None, **given):
    """An open training whose schema a worker has read."""
    version = version or factories.version(owner, factories.model(owner))
    made = trainings.create(
        owner, version=version,
        rules=Rules.from_json(given.pop("rules", {})),
        schedule=Schedule.from_json(SCHEDULE | given.pop("schedule", {})),
        **({"release_every": 0} | given),
    )  # fmt: skip
    work()
    return Training.objects.select_related("model__namespace", "base").get(pk=made.pk)


def invited(owner, of, uses=10):
    """A code by which devices may join."""
    return participants.invite(owner, training=of, uses=uses)[1]


class Device:
    """A device that joined by HTTP, and speaks for itself."""

    def __init__(self, api, of, code):
        self.api, self.key = api(), federated.new_key()
        self.address = f"models/{of.model.ref}/trainings/{of.number}"
        answer = self.api.post(
            f"{self.address}/participants",
            {"invite": code, "public_key": federated.public_key(self.key)},
        )
        assert answer.status_code == 201, answer.content
        told = answer.json()
        self.name, self.training = told["participant"], told["training"]
        self.api.headers["Authorization"] = f"Bearer {told['token']}"

    def get(self, path, **headers):
        return self.api.get(f"{self.address}/{path}", **headers)

    def task(self):
        answer = self.get("task")
        assert answer.status_code == 200, answer.content
        return answer.json()

    def manifest(self, task, content, **changed):
        """What is signed, as JSON."""
        return {
            "training": self.training,
            "round": task["round"],
            "nonce": task["nonce"],
            "participant": self.name,
            "base": task["base"]["digest"],
            "blob": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "n": 10,
            "encoding": "delta/f32",
            "created": CREATED,
            "claims": {},
        } | changed

    def push(self, task, content, *, key=None, **changed):
        """Hand in a file itself."""
        manifest = federated.Manifest.from_json(self.manifest(task, content, **changed))
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        return self.api.put(
            f"{self.address}/rounds/{task['round']}/contribution",
            content,
            content_type=safetensors.MEDIA_TYPE,
            Hub_Manifest=base64.b64encode(json.dumps(manifest.to_json()).encode()).decode(),
            Hub_Signature=federated.sign(manifest.canonical(), key or self.key),
            Content_Digest=f"sha-256=:{digest}:",
        )

    def begin(self, content):
        """Open an upload; returns its address."""
        made = self.api.post(
            f"{self.address}/uploads", Tus_Resumable="1.0.0", Upload_Length=str(len(content))
        )
        assert made.status_code == 201, made.content
        return made["Location"].removeprefix("http://testserver")

    def append(self, upload, content, offset=0):
        return self.api.patch(
            upload, content, content_type="application/offset+octet-stream",
            Tus_Resumable="1.0.0", Upload_Offset=str(offset),
        )  # fmt: skip

    def name_upload(self, task, content, **changed):
        """Hand in what was uploaded before."""
        manifest = federated.Manifest.from_json(self.manifest(task, content, **changed))
        return self.api.put(
            f"{self.address}/rounds/{task['round']}/contribution",
            {
                "manifest": manifest.to_json(),
                "signature": federated.sign(manifest.canonical(), self.key),
            },
        )


def slug(answer):
    """The last part of a problem's type."""
    return answer.json()["type"].rpartition("/")[2]


def work(refuse=None, *, results=None, kinds=KINDS):
    """Do the jobs of trainings as a worker would; returns the kinds that were done.

    ``refuse`` maps pseudonyms to the problems that the engine finds.
    """
    done = []
    outbox.deliver()
    learning.keep_up()
    while job := _claim(kinds):
        runners.finish(job, _report(job, refuse or {}, results))
        outbox.deliver()
        learning.keep_up()
        done.append(job.kind.removeprefix("federated-"))
    return done


def _claim(kinds):
    found = Job.objects.filter(kind__in=kinds, state=Job.State.QUEUED).order_by("queued_at").first()
    return found and runners.claim(f"test-{uuid.uuid4()}", Job.Pool.values, uuid=found.pk)


def _report(job, refuse, results):
    if job.kind == learning.SCHEMA:
        facts = {
            "tensors": [part.to_json() for part in PARTS],
            "layout_digest": federated.layout_digest(PARTS),
            "graph_digest": "0" * 64,
        }
        outputs = [stored("model.onnx", b"skeleton"), stored("weights.safetensors", base())]
        return Report(job.kind, {}, "0" * 64, "passed", facts=facts, outputs=outputs)
    try:
        given = job_kinds.of(job).stage(job, store().path)
    except job_kinds.GoneError as gone:
        finding = Finding("input-gone", "error", str(gone))
        return Report(job.kind, {}, "0" * 64, "failed", (finding,))
    told = given.options["contributions"]
    if job.kind == learning.CHECK:
        facts = {"contributions": [_judged(one, refuse.get(one["id"], "")) for one in told]}
        return Report(job.kind, {}, "0" * 64, "passed", facts=facts)
    facts = {
        "median_norm": 1.0,
        "contributions": [{"id": one["id"], "weight": 0.5, "used": True} for one in told],
    }
    if results is not None:
        results.append(given)
    made = base(given.options["round"] + len(told) / 100)
    outputs = [stored("weights.safetensors", made)]
    return Report(job.kind, {"engine": "1"}, "0" * 64, "passed", facts=facts, outputs=outputs)


def _judged(one, problem):
    return {
        "id": one["id"], "accepted": not problem, "problem": problem,
        "tensor": "w" if problem else "", "detail": "It is not finite." if problem else "",
        "norm": 1.0, "statistic_norm": 0.0,
    }  # fmt: skip


def stored(name, content):
    """An output whose bytes are stored, as a report names it."""
    import io

    sha256, size = derivatives.store_bytes(io.BytesIO(content))
    return OutputFile(name, sha256, size)
