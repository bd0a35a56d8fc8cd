"""A device's side of a training: join once, then pull tensors, train with anything, push.

t = hub.training("zoo/digits/trainings/7")
t.join("the code of an invitation")
for task in t.tasks():
    t.push(train(task.tensors), examples=279)
"""

from __future__ import annotations

import base64
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hub.client.answers import Answer
from hub.client.cache import Cache
from hub.client.config import Config, expanded
from hub.client.local_files import LocalFile
from hub.client.training import identity
from hub.client.training import tasks as training_tasks
from hub.client.training.identity import Identity
from hub.client.training.tasks import EvaluationTask, Task
from hub.client.transport import Transport
from hub.client.upload import Upload
from hub.protocol import digests, federated, problems, refs, safetensors
from hub.protocol.federated import Manifest, Part, Statement

if TYPE_CHECKING:
    from hub.client.training.tensors import Encoder, Tensors

_T = TypeVar("_T")
# Numbers of examples, of right answers of the base and of those of the candidate.
Evaluate = Callable[[EvaluationTask], tuple[int, int, int]]

INLINE_BYTES = 8_000_000
# The hub may be restarted while devices are at work: so long they go on trying.
PATIENCE_SECONDS = 300.0
LONGEST_PAUSE_SECONDS = 8.0
HELD_SECONDS = 25
_REF = re.compile(r"(?P<model>[^/\s]+/[^/\s]+)/trainings/(?P<number>[1-9]\d{0,8})")


class Training:
    """One device's part in one training of a hub. Not to be shared between threads.

    ``key`` is a private key of 32 bytes, or the path of a file that holds one; without it a key is
    made. Key and token are kept in the user's configuration folder, under the name ``device``.
    ``certificate`` and ``certificate_key`` are the files of a TLS client certificate, in place of
    the hub's; they are read, and kept nowhere.
    """

    def __init__(
        self,
        config: Config,
        ref: str,
        *,
        cache: Cache,
        sleep: Callable[[float], None],
        key: bytes | str | os.PathLike[str] | None = None,
        device: str = "default",
        certificate: str | os.PathLike[str] | None = None,
        certificate_key: str | os.PathLike[str] | None = None,
    ) -> None:
        match = _REF.fullmatch(ref.strip().strip("/"))
        if match is None:
            raise problems.InvalidReference(
                f"{ref!r} is not a training. Write namespace/model/trainings/number."
            )
        model = refs.parse(match["model"]).name
        self.ref = f"{model}/trainings/{match['number']}"
        self.patience_seconds = PATIENCE_SECONDS
        self._cache = cache
        self._sleep = sleep
        self._address = f"/api/v1/models/{self.ref}"
        self._place = identity.path_of(config.url, self.ref, device)
        self._config = config
        if certificate is not None or certificate_key is not None:
            self._config = replace(
                config,
                certificate=expanded(certificate, "HUB_CLIENT_CERTIFICATE")
                if certificate
                else None,
                certificate_key=expanded(certificate_key, "HUB_CLIENT_KEY")
                if certificate_key
                else None,
            )
        self._own_key = None if key is None else identity.key_of(key)
        self._identity = identity.read(self._place)
        if self._own_key and self._identity and self._identity.key != self._own_key:
            self._identity = None
        self._transport = self._connected()
        self._task: Task | None = None
        self._etag = ""
        self._pace = 1.0
        self._parts: tuple[Part, ...] = ()
        self._encoder: Encoder | None = None

    @property
    def participant(self) -> str:
        """The pseudonym of this device; empty before it has joined."""
        return self._identity.participant if self._identity else ""

    def info(self) -> dict[str, Any]:
        """Return the training as the hub describes it: rules, schedule, the current round."""
        return self._patient(lambda: self._transport.get(self._address))

    def join(
        self, invite: str, *, runtime: str = "", capabilities: dict[str, Any] | None = None
    ) -> str:
        """Take part, once; return the device's pseudonym. Later calls only return it.

        Raises `InviteInvalid`, and `KeyKnown` when the key that was given takes part already.
        """
        if self._identity and self._identity.has_joined:
            return self._identity.participant
        key = self._own_key or federated.new_key()
        content = {
            "invite": invite,
            "public_key": federated.public_key(key),
            "runtime": runtime,
            "capabilities": capabilities or {},
        }
        answer = self._transport.request(
            "POST", f"{self._address}/participants", content=content
        ).json()
        self._identity = Identity(key, answer["participant"], answer["token"], answer["training"])
        identity.keep(self._place, self._identity)
        self._transport = self._connected()
        return self._identity.participant

    def tasks(self, evaluate: Evaluate | None = None) -> Iterator[Task]:
        """Give one task after another, waiting between them, until the training has ended.

        With ``evaluate`` the device also compares models, whenever the hub asks for it: it is
        called with an `EvaluationTask` and returns the numbers of examples, of right answers of the
        base, and of right answers of the candidate.
        """
        last = None
        wait_seconds = 3600.0 if evaluate is None else float(HELD_SECONDS)
        while True:
            if evaluate is not None:
                self._evaluate(evaluate)
            try:
                task = self.pull(wait_seconds=wait_seconds)
            except problems.TrainingOver:
                break
            if task is not None and task is last:
                self._transport.sleep(self._pace)  # it was left unanswered: no hurry to ask again
            elif task is not None:
                last = task
                yield task
        if evaluate is not None:
            while self._evaluate(evaluate):
                self._transport.sleep(self._pace)

    def pull_evaluation(self) -> EvaluationTask | None:
        """Return two models to compare, or None when there are none.

        Raises `TrainingOver`, and `NotAuthenticated` for a device that has not joined.
        """
        self._require_joined()
        address = f"{self._address}/evaluation-task"
        answer = self._patient(lambda: self._transport.request("GET", address))
        self._pace = _seconds(answer.headers.get("Retry-After"))
        if answer.status == HTTPStatus.NO_CONTENT:
            return None
        description = answer.json()
        return self._patient(
            lambda: training_tasks.fetch_evaluation(self._transport, self._cache, description)
        )

    def report(
        self, task: EvaluationTask, *, examples: int, base_right: int, candidate_right: int
    ) -> dict[str, Any]:
        """Report how many answers of both models are right; return the report as the hub has it.

        The counts are of the same examples, at most ``task.examples_cap``. Raises `ExamplesLimit`,
        and `RoundClosed` when the evaluation has ended.
        """
        manifest = federated.EvaluationManifest(
            training=str(task.description["training"]),
            round=task.round,
            nonce=str(task.description["nonce"]),
            participant=self.participant,
            base=task.base.digest,
            candidate=task.candidate.digest,
            n=examples,
            base_right=base_right,
            candidate_right=candidate_right,
            created=_now(),
        )
        content = {"manifest": manifest.to_json(), "signature": self._sign(manifest)}
        address = f"{self._address}/rounds/{task.round}/evaluation/report"
        return self._patient(
            lambda: self._transport.request("PUT", address, content=content).json()
        )

    def pull(self, wait_seconds: float = 0.0) -> Task | None:
        """Return what to do now, waiting for so long; None when there is nothing.

        Raises `TrainingOver`, and `NotAuthenticated` for a device that has not joined.
        """
        self._require_joined()
        until = time.monotonic() + wait_seconds
        while True:
            answer = self._patient(lambda: self._ask(until))
            if answer.status == HTTPStatus.NOT_MODIFIED and self._task is not None:
                return self._task
            if answer.status != HTTPStatus.NO_CONTENT:
                self._task = self._fetch(answer.json())
                self._etag = answer.headers.get("ETag", "")
                return self._task
            remaining = until - time.monotonic()
            if remaining <= 0:
                return None
            self._transport.sleep(min(self._pace, remaining))

    def state(self) -> Tensors | None:
        """Return the tensors of the base that was pulled last, or None before the first pull."""
        if self._task is None:
            return None
        return {name: values.copy() for name, values in self._task.tensors.items()}

    def push(
        self,
        update: Mapping[str, Any],
        *,
        examples: int,
        encoding: str | None = None,
        keep: float = 0.1,
        claims: Mapping[str, float] | None = None,
    ) -> dict[str, Any]:
        """Submit trained tensors, by name; return the contribution as the hub describes it.

        ``examples`` is how many samples they were trained on, cut to what the rules count.
        ``encoding`` defaults to `delta/f32`, or to the first that the training takes; ``keep`` is
        the share of values that `delta/topk` sends. ``claims`` are figures such as `loss_before`.
        Failed requests are repeated; the hub takes the same contribution once.
        """
        from hub.client.training import tensors  # noqa: PLC0415  (numpy: at first use)

        task = self._task
        if task is None:
            raise problems.InvalidRequest("No task to submit to. Call pull() first.")
        wire_encoding = _encoding(task, encoding)
        if self._encoder is None or tuple(self._encoder.parts) != task.parts:
            self._encoder = tensors.Encoder(task.parts)
        # Hours may have passed since the pull.
        weights = self._patient(
            lambda: training_tasks.bring(self._transport, self._cache, task.description["base"])
        )
        base = tensors.read(weights)
        sent, lost = self._encoder.encode(base, update, wire_encoding, keep)
        with tempfile.TemporaryDirectory(prefix="hub-contribution-") as folder:
            path = Path(folder) / "contribution.safetensors"
            sha256, size = tensors.write(path, sent)
            document = federated.Manifest(
                training=str(task.description["training"]),
                round=task.round,
                nonce=str(task.description["nonce"]),
                participant=self.participant,
                base=task.base,
                blob=digests.format(sha256),
                n=max(1, min(examples, int(task.description["examples_cap"]))),
                encoding=wire_encoding,
                created=_now(),
                claims={**(claims or {}), "rel_l2": lost},
            )
            file = LocalFile("contribution.safetensors", path, size, sha256)
            contribution = self._patient(lambda: self._hand_in(document, file))
        self._encoder.commit()
        return contribution

    def contribution(self, number: int) -> dict[str, Any]:
        """Return what became of this device's contribution to a round; raises `NotFound`."""
        address = self._contribution(number)
        return self._patient(lambda: self._transport.get(address))

    def withdraw(self, number: int) -> None:
        """Take a contribution back while its round is open; raises `RoundClosed`."""
        address = self._contribution(number)
        self._patient(lambda: self._transport.request("DELETE", address))

    def _contribution(self, number: int) -> str:
        return f"{self._address}/rounds/{number}/contribution"

    def _connected(self) -> Transport:
        """Connect as the device once it has joined; before, as the user of this client."""
        config = self._config
        if self._identity and self._identity.has_joined:
            config = replace(config, token=self._identity.token)
        return Transport(config, sleep=self._sleep)

    def _require_joined(self) -> None:
        if not (self._identity and self._identity.has_joined):
            raise problems.NotAuthenticated(
                f"This device has not joined {self.ref}: call join() with an invitation."
            )

    def _ask(self, until: float) -> Answer:
        headers = {"If-None-Match": self._etag} if self._etag and self._task else {}
        remaining = until - time.monotonic()
        if remaining > 1:
            headers["Prefer"] = f"wait={min(HELD_SECONDS, int(remaining))}"
        answer = self._transport.request("GET", f"{self._address}/task", headers=headers)
        self._pace = _seconds(answer.headers.get("Retry-After"))
        return answer

    def _hand_in(self, manifest: Manifest, file: LocalFile) -> dict[str, Any]:
        signature = self._sign(manifest)
        address = self._contribution(manifest.round)
        if file.size > INLINE_BYTES:
            Upload(self._transport, self._cache, file, _ignore, f"{self._address}/uploads").run()
            content = {"manifest": manifest.to_json(), "signature": signature}
            answer = self._transport.request("PUT", address, content=content)
        else:
            answer = self._transport.request(
                "PUT",
                address,
                body=_content(file),
                headers={
                    "Content-Type": safetensors.MEDIA_TYPE,
                    "Content-Digest": f"sha-256=:{_base64(bytes.fromhex(file.sha256))}:",
                    "Hub-Manifest": _base64(manifest.canonical()),
                    "Hub-Signature": signature,
                },
            )
        contribution: dict[str, Any] = answer.json()
        return contribution

    def _sign(self, statement: Statement) -> str:
        key = self._identity.key if self._identity else b""
        return federated.sign(statement.canonical(), key)

    def _evaluate(self, evaluate: Evaluate) -> bool:
        """Compare the models that the hub has now; whether there may be more of them."""
        try:
            while (task := self.pull_evaluation()) is not None:
                examples, base_right, candidate_right = evaluate(task)
                try:
                    self.report(
                        task,
                        examples=examples,
                        base_right=base_right,
                        candidate_right=candidate_right,
                    )
                except problems.RoundClosed:
                    continue  # it ended meanwhile
                finally:
                    self._let_go(task)
        except problems.TrainingOver:
            return False
        return True

    def _let_go(self, task: EvaluationTask) -> None:
        for digest in {task.base.digest, task.candidate.digest}:
            if self._task is None or self._task.base != digest:
                self._cache.discard(digests.parse(digest))

    def _fetch(self, description: dict[str, Any]) -> Task:
        """Bring what a task starts from; what the task before started from is let go."""
        if (
            self._task is None
            or self._task.description["layout_digest"] != description["layout_digest"]
        ):
            document = self._patient(lambda: self._transport.get(f"{self._address}/schema"))
            self._parts = tuple(federated.Part.from_json(row) for row in document["layout"])
            if federated.layout_digest(self._parts) != description["layout_digest"]:
                raise problems.DigestMismatch("The layout does not match the digest in the task.")
        task = self._patient(
            lambda: training_tasks.fetch(self._transport, self._cache, description, self._parts)
        )
        if self._task is not None and self._task.base != task.base:
            self._cache.discard(digests.parse(self._task.base))
        return task

    def _patient(self, call: Callable[[], _T]) -> _T:
        """Call until an answer comes; raises what the hub says, and Unreachable in the end."""
        until, pause = time.monotonic() + self.patience_seconds, 0.5
        while True:
            try:
                return call()
            except (problems.Unreachable, problems.Unavailable):
                if time.monotonic() > until:
                    raise
            self._transport.sleep(pause)
            pause = min(LONGEST_PAUSE_SECONDS, 2 * pause)


def _encoding(task: Task, requested: str | None) -> str:
    allowed = list(task.description["encodings"])
    if requested is None:
        return federated.DELTA if federated.DELTA in allowed else str(allowed[0])
    if requested not in allowed:
        raise problems.EncodingRefused(f"This training accepts {', '.join(allowed)}.")
    return requested


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _content(file: LocalFile) -> bytes:
    with file.open() as reader:
        return reader.read()


def _seconds(text: str | None) -> float:
    return float(text) if text and text.strip().isdecimal() else 1.0


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _ignore(_: int) -> None:
    return
