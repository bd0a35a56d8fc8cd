"""The error tree of the hub: one class for each problem, the same on both sides of the wire.

The server raises a class from here, one handler writes it as RFC 9457 `application/problem+json`,
and the client raises the same class again from that answer.

    HubError
    ├── Problem          everything the server can say; one subclass for each problem type
    ├── Unreachable      no usable answer from the server (client only)
    ├── NotCached        offline, and the cache does not hold what was asked (client only)
    ├── CacheUnusable    the cache folder is full or cannot be written (client only)
    ├── RecordMismatch   a hub's transparency log does not show what the hub says (client only)
    ├── SignatureMissing no signature by whom the caller demands one (client only)
    └── LibraryMissing   an optional Python library is needed for this call (client only)
"""
# ruff: noqa: N818  (the names are the product's problem types, read as `problems.NameTaken`)

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar

_Value = TypeVar("_Value")
MEDIA_TYPE = "application/problem+json"
MEMBERS = frozenset({"type", "title", "status", "detail", "instance", "errors"})


class HubError(Exception):
    """Whatever the hub or its client reports to a caller."""


class Unreachable(HubError):
    """No usable answer came from the server: connection refused, cut, timed out, or not a hub.

    `reason` is the cause in a few words. `is_transient` is false where the same request cannot
    succeed later, `is_unsent` true where nothing of it was sent, and `is_slow` true where an answer
    was given up because it came too slowly: its bytes are no progress.
    """

    def __init__(
        self,
        detail: str = "",
        *,
        reason: str = "no answer",
        is_transient: bool = True,
        is_unsent: bool = False,
        is_slow: bool = False,
    ) -> None:
        self.reason = reason
        self.is_transient = is_transient
        self.is_unsent = is_unsent
        self.is_slow = is_slow
        super().__init__(detail)


class NotCached(HubError):
    """The cache does not hold what was asked for, and the client may not use the network."""


class CacheUnusable(HubError):
    """The cache folder has no space left, or may not be written."""


class RecordMismatch(HubError):
    """A hub serves something else than its transparency log has, or the log's history changed."""


class SignatureMissing(HubError):
    """A version has no valid signature by any of the signers that the caller demands."""


class LibraryMissing(HubError):
    """A Python library that only this call needs is not installed."""


class Problem(HubError):
    """An answer that says what is wrong, what caused it and what to do.

    `errors` are the fields at fault, each `{"pointer": "/name", "detail": "..."}`; `instance` is
    the id of the request; any other keyword becomes an extension member of the JSON document.
    """

    slug: ClassVar[str] = "problem"
    title: str = "The request could not be completed"
    status: int = 500
    type_uri: str | None = None
    # The Retry-After of the answer, where the client got one.
    retry_after_seconds: float | None = None

    def __init_subclass__(cls, *, status: int = 0, title: str = "", slug: str = "") -> None:
        """Declare a problem type; `slug` is the class's name in kebab case unless stated.

        A subclass without a title is its base on the wire.
        """
        if title:
            cls.status, cls.title = status, title
            cls.slug = slug or re.sub(r"(?<=.)(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Iterable[Mapping[str, str]] = (),
        instance: str | None = None,
        **extensions: Any,
    ) -> None:
        self.detail = detail or self.title
        self.errors: tuple[dict[str, str], ...] = tuple(dict(error) for error in errors)
        self.instance = instance
        self.extensions: dict[str, Any] = extensions
        super().__init__(self.detail)

    def __str__(self) -> str:
        fields = [
            f"{error.get('pointer', '')}: {error.get('detail', '')}"
            for error in self.errors
            if error.get("detail") != self.detail
        ]
        return "\n  ".join([self.detail, *(line for line in fields if line != self.detail)])

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in vars(self).items() if key != "detail"}
        return type(self), (self.detail,), state

    def to_json(self, public_url: str = "") -> dict[str, Any]:
        """Return the RFC 9457 document; `type` lies below the hub's public address."""
        document = {key: value for key, value in self.extensions.items() if key not in MEMBERS}
        document |= {
            "type": self.type_uri or f"{public_url.rstrip('/')}/problems/{self.slug}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.instance:
            document["instance"] = self.instance
        if self.errors:
            document["errors"] = [dict(error) for error in self.errors]
        return document

    @classmethod
    def from_json(cls, document: object, status: int) -> Problem:
        """Rebuild the problem that a server wrote; an unknown type becomes a plain `Problem`.

        Nothing in the document is trusted to have the right shape; `status` is the HTTP status.
        """
        fields: dict[str, Any] = document if isinstance(document, dict) else {}
        uri = fields.get("type")
        slug = uri.rstrip("/").rsplit("/", 1)[-1] if isinstance(uri, str) else ""
        kind = by_slug().get(slug, Problem)
        detail = _text(fields.get("detail")) or _text(fields.get("title"))
        problem = kind(detail or (f"The server answered {status}." if kind is Problem else ""))
        problem.status = status
        if kind is Problem:
            problem.type_uri = uri if isinstance(uri, str) else None
            problem.title = _text(fields.get("title")) or f"The server answered {status}"
        problem.instance = _text(fields.get("instance")) or None
        problem.errors = _field_errors(fields.get("errors"))
        problem.extensions = {key: value for key, value in fields.items() if key not in MEMBERS}
        return problem

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """Make the problem of one field: the same words in `detail` and in `errors`."""
        return cls(detail, errors=[{"pointer": pointer, "detail": detail}])


def expect(value: _Value | None, problem: Exception) -> _Value:
    """The value, which may be missing; raises the problem where it is None."""
    if value is None:
        raise problem
    return value


def _text(value: object) -> str:
    return one_line(value) if isinstance(value, str) else ""


def one_line(text: str) -> str:
    """A text of another machine on one line, without control characters."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())


def _field_errors(value: object) -> tuple[dict[str, str], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        {"pointer": _text(item.get("pointer")), "detail": _text(item.get("detail"))}
        for item in value
        if isinstance(item, dict)
    )


def by_slug() -> dict[str, type[Problem]]:
    """Return every problem class by the last part of its type address."""
    kinds: dict[str, type[Problem]] = {}
    pending: list[type[Problem]] = [Problem]
    while pending:
        kind = pending.pop()
        kinds.setdefault(kind.slug, kind)
        pending.extend(kind.__subclasses__())
    return kinds


class InvalidRequest(Problem, status=400, title="The request is not valid"): ...


class QueryInvalid(Problem, status=400, title="The query is not valid"): ...


class InvalidReference(Problem, status=400, title="The reference is not valid"): ...


class InvalidName(Problem, status=422, title="The name is not valid"): ...


class NotAuthenticated(Problem, status=401, title="Sign in or send a valid token"): ...


class NotAllowed(Problem, status=403, title="You do not have permission to do this"): ...


class AccessNeeded(Problem, status=403, title="Access to this model's files is restricted"):
    """The model is gated; guests get it with 401, since signing in comes first."""


class NotFound(Problem, status=404, title="Not found"): ...


class Deleted(NotFound, status=410, title="The model was deleted"): ...


class VariantMissing(Problem, status=404, title="Variant not found"): ...


class ComponentMissing(Problem, status=404, title="Component not found"): ...


class MethodNotAllowed(Problem, status=405, title="Method not allowed"): ...


class NotAcceptable(Problem, status=406, title="None of the requested formats is available"): ...


class NameTaken(Problem, status=409, title="The name is already taken"): ...


class NameRetired(Problem, status=409, title="The name was used before and cannot be reused"): ...


class NameReserved(Problem, status=422, title="The name is reserved"): ...


class StateConflict(Problem, status=409, title="Not possible in the current state"): ...


class DraftFrozen(Problem, status=409, title="The version is no longer a draft"): ...


class ChecksPending(Problem, status=409, title="The checks are still running"): ...


class ChecksFailed(Problem, status=409, title="The version failed its checks"): ...


class ConditionsUnmet(Problem, status=409, title="The version lacks what the alias demands"): ...


class JobFailed(Problem, status=409, title="The job produced no result"): ...


class UploadOffset(Problem, status=409, title="Upload offset mismatch"): ...


class UploadIncomplete(Problem, status=409, title="The upload is incomplete"): ...


class UploadGone(Problem, status=410, title="The upload no longer exists"): ...


class Withdrawn(Problem, status=410, title="The version was withdrawn"): ...


class PreconditionFailed(Problem, status=412, title="Changed since you last read it"): ...


class PreconditionRequired(Problem, status=428, title="If-Match header required"): ...


class TooLarge(Problem, status=413, title="Too large"): ...


class QuotaExceeded(Problem, status=413, title="Quota exceeded"): ...


class UnsupportedMediaType(Problem, status=415, title="Unsupported content type"): ...


class RangeNotSatisfiable(Problem, status=416, title="The range lies outside the file"): ...


class DigestMismatch(Problem, status=422, title="The content does not match its digest"): ...


class BlobUnknown(Problem, status=422, title="Blob not found among your uploads and models"): ...


class PathInvalid(Problem, status=422, title="The path is not valid"): ...


class CardInvalid(Problem, status=422, title="The card is not valid"): ...


class ModelMissing(Problem, status=422, title="The version contains no ONNX model"): ...


class RecordInvalid(Problem, status=422, title="The benchmark record is inconsistent"): ...


class NotOnnx(Problem, status=422, title="The file is not an ONNX model"): ...


class TrainingOver(Problem, status=410, title="The training has ended"): ...


class TrainingConflict(
    Problem,
    status=409,
    title="Not possible in the current state of the training or round",
    slug="training-state",
): ...


class NoiseUnfit(Problem, status=409, title="The model cannot be trained with noise"): ...


class InviteInvalid(Problem, status=403, title="The invitation is not valid"): ...


class CertificateNeeded(
    Problem, status=403, title="The training requires a client certificate"
): ...


class CertificateWrong(
    Problem, status=403, title="The client certificate belongs to another participant"
): ...


class KeyKnown(Problem, status=409, title="The key already takes part"): ...


class RoundClosed(Problem, status=409, title="The round is closed to contributions"): ...


class StaleBase(Problem, status=409, title="The contribution is based on other weights"): ...


class ContributionDiffers(
    Problem, status=409, title="This round already has another contribution from you"
): ...


class NonceWrong(Problem, status=422, title="The manifest does not belong to this round"): ...


class ManifestReplayed(Problem, status=422, title="The manifest was made for another request"): ...


class SignatureInvalid(
    Problem, status=422, title="The signature does not match the manifest and the key"
): ...


class ExamplesLimit(
    Problem, status=422, title="The contribution exceeds the maximum number of examples"
): ...


class EncodingRefused(Problem, status=422, title="The training does not accept this encoding"): ...


class TensorMismatch(Problem, status=422, title="The tensors do not match the training"): ...


class NonFinite(Problem, status=422, title="A tensor contains NaN or infinite values"): ...


class NormLimit(Problem, status=422, title="The update exceeds the maximum norm"): ...


class QueryTooCostly(Problem, status=422, title="The query or its result is too large"): ...


class TextTooCostly(Problem, status=422, title="The text takes too long to parse"): ...


class Throttled(Problem, status=429, title="Too many requests"): ...


class InternalError(Problem, status=500, title="Internal error", slug="internal"): ...


class Unavailable(Problem, status=503, title="The hub is temporarily unavailable"): ...


class QueryTimeout(Problem, status=504, title="The query took too long"): ...


class StorageFull(Problem, status=507, title="The hub is out of storage"): ...
