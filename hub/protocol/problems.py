"""The error tree of the hub: one class for each problem, the same on both sides of the wire.

The server raises a class from here, one handler writes it as RFC 9457 `application/problem+json`,
and the client raises the same class again from that answer.

    HubError
    ├── Problem          everything the server can say; one subclass for each problem type
    ├── Unreachable      no usable answer from the server (client only)
    ├── NotCached        offline, and the cache does not hold what was asked (client only)
    ├── CacheUnusable    the cache folder is full or cannot be written (client only)
    └── LibraryMissing   an optional Python library is needed for this call (client only)
"""
# ruff: noqa: N818  (the names are the product's problem types, read as `problems.NameTaken`)

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MEDIA_TYPE = "application/problem+json"
MEMBERS = frozenset({"type", "title", "status", "detail", "instance", "errors"})


class HubError(Exception):
    """Whatever the hub or its client reports to a caller."""


class Unreachable(HubError):
    """No usable answer came from the server: connection refused, cut, timed out, or not a hub.

    `reason` is the cause in a few words. `is_transient` is false where the same request cannot
    succeed later, and `is_unsent` true where nothing of it was sent.
    """

    def __init__(
        self,
        detail: str = "",
        *,
        reason: str = "no answer",
        is_transient: bool = True,
        is_unsent: bool = False,
    ) -> None:
        self.reason = reason
        self.is_transient = is_transient
        self.is_unsent = is_unsent
        super().__init__(detail)


class NotCached(HubError):
    """The cache does not hold what was asked for, and the client may not use the network."""


class CacheUnusable(HubError):
    """The cache folder has no space left, or may not be written."""


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
        fields = [f"{error.get('pointer', '')}: {error.get('detail', '')}" for error in self.errors]
        return "\n  ".join([self.detail, *fields])

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
        said = _text(fields.get("detail")) or _text(fields.get("title"))
        problem = kind(said or (f"The server answered {status}." if kind is Problem else ""))
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


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _field_errors(value: object) -> tuple[dict[str, str], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        {"pointer": _text(item.get("pointer")), "detail": _text(item.get("detail"))}
        for item in value
        if isinstance(item, dict)
    )


def by_slug() -> dict[str, type[Problem]]:
    """Return every known problem class by the last part of its type address."""
    found: dict[str, type[Problem]] = {}
    waiting: list[type[Problem]] = [Problem]
    while waiting:
        kind = waiting.pop()
        found.setdefault(kind.slug, kind)
        waiting.extend(kind.__subclasses__())
    return found


class InvalidRequest(Problem):
    slug = "invalid-request"
    title = "The request is not valid"
    status = 400


class QueryInvalid(Problem):
    slug = "query-invalid"
    title = "The query is not valid"
    status = 400


class InvalidReference(Problem):
    slug = "invalid-reference"
    title = "The reference is not valid"
    status = 400


class InvalidName(Problem):
    slug = "invalid-name"
    title = "The name is not valid"
    status = 422


class NotAuthenticated(Problem):
    slug = "not-authenticated"
    title = "Sign in or send a valid token"
    status = 401


class NotAllowed(Problem):
    slug = "not-allowed"
    title = "You do not have permission to do this"
    status = 403


class AccessNeeded(Problem):
    """The model is gated; guests get it with 401, since signing in comes first."""

    slug = "access-needed"
    title = "Access to this model's files is restricted"
    status = 403


class NotFound(Problem):
    slug = "not-found"
    title = "Not found"
    status = 404


class VariantMissing(Problem):
    slug = "variant-missing"
    title = "Variant not found"
    status = 404


class MethodNotAllowed(Problem):
    slug = "method-not-allowed"
    title = "Method not allowed"
    status = 405


class NotAcceptable(Problem):
    slug = "not-acceptable"
    title = "None of the requested formats is available"
    status = 406


class NameTaken(Problem):
    slug = "name-taken"
    title = "The name is already taken"
    status = 409


class NameRetired(Problem):
    slug = "name-retired"
    title = "The name was used before and cannot be reused"
    status = 409


class NameReserved(Problem):
    slug = "name-reserved"
    title = "The name is reserved"
    status = 422


class StateConflict(Problem):
    slug = "state-conflict"
    title = "Not possible in the current state"
    status = 409


class DraftFrozen(Problem):
    slug = "draft-frozen"
    title = "The version is no longer a draft"
    status = 409


class ChecksPending(Problem):
    slug = "checks-pending"
    title = "The checks are still running"
    status = 409


class ChecksFailed(Problem):
    slug = "checks-failed"
    title = "The version failed its checks"
    status = 409


class JobFailed(Problem):
    slug = "job-failed"
    title = "The job produced no result"
    status = 409


class UploadOffset(Problem):
    slug = "upload-offset"
    title = "Upload offset mismatch"
    status = 409


class UploadIncomplete(Problem):
    slug = "upload-incomplete"
    title = "The upload is incomplete"
    status = 409


class UploadGone(Problem):
    slug = "upload-gone"
    title = "The upload no longer exists"
    status = 410


class Withdrawn(Problem):
    slug = "withdrawn"
    title = "The version was withdrawn"
    status = 410


class PreconditionFailed(Problem):
    slug = "precondition-failed"
    title = "Changed since you last read it"
    status = 412


class PreconditionRequired(Problem):
    slug = "precondition-required"
    title = "If-Match header required"
    status = 428


class TooLarge(Problem):
    slug = "too-large"
    title = "Too large"
    status = 413


class QuotaExceeded(Problem):
    slug = "quota-exceeded"
    title = "Quota exceeded"
    status = 413


class UnsupportedMediaType(Problem):
    slug = "unsupported-media-type"
    title = "Unsupported content type"
    status = 415


class RangeNotSatisfiable(Problem):
    slug = "range-not-satisfiable"
    title = "The range lies outside the file"
    status = 416


class DigestMismatch(Problem):
    slug = "digest-mismatch"
    title = "The content does not match its digest"
    status = 422


class BlobUnknown(Problem):
    slug = "blob-unknown"
    title = "Blob not found among your uploads and models"
    status = 422


class PathInvalid(Problem):
    slug = "path-invalid"
    title = "The path is not valid"
    status = 422


class CardInvalid(Problem):
    slug = "card-invalid"
    title = "The card is not valid"
    status = 422


class ModelMissing(Problem):
    slug = "model-missing"
    title = "The version contains no ONNX model"
    status = 422


class RecordInvalid(Problem):
    slug = "record-invalid"
    title = "The benchmark record is inconsistent"
    status = 422


class NotOnnx(Problem):
    slug = "not-onnx"
    title = "The file is not an ONNX model"
    status = 422


class TrainingOver(Problem):
    slug = "training-over"
    title = "The training has ended"
    status = 410


class TrainingConflict(Problem):
    slug = "training-state"
    title = "Not possible in the current state of the training or round"
    status = 409


class NoiseUnfit(Problem):
    slug = "noise-unfit"
    title = "The model cannot be trained with noise"
    status = 409


class InviteInvalid(Problem):
    slug = "invite-invalid"
    title = "The invitation is not valid"
    status = 403


class CertificateNeeded(Problem):
    slug = "certificate-needed"
    title = "The training requires a client certificate"
    status = 403


class CertificateWrong(Problem):
    slug = "certificate-wrong"
    title = "The client certificate belongs to another participant"
    status = 403


class KeyKnown(Problem):
    slug = "key-known"
    title = "The key already takes part"
    status = 409


class RoundClosed(Problem):
    slug = "round-closed"
    title = "The round is closed to contributions"
    status = 409


class StaleBase(Problem):
    slug = "stale-base"
    title = "The contribution is based on other weights"
    status = 409


class ContributionDiffers(Problem):
    slug = "contribution-differs"
    title = "This round already has another contribution from you"
    status = 409


class NonceWrong(Problem):
    slug = "nonce-wrong"
    title = "The manifest does not belong to this round"
    status = 422


class ManifestReplayed(Problem):
    slug = "manifest-replayed"
    title = "The manifest was made for another request"
    status = 422


class SignatureInvalid(Problem):
    slug = "signature-invalid"
    title = "The signature does not match the manifest and the key"
    status = 422


class ExamplesLimit(Problem):
    slug = "examples-limit"
    title = "The contribution exceeds the maximum number of examples"
    status = 422


class EncodingRefused(Problem):
    slug = "encoding-refused"
    title = "The training does not accept this encoding"
    status = 422


class TensorMismatch(Problem):
    slug = "tensor-mismatch"
    title = "The tensors do not match the training"
    status = 422


class NonFinite(Problem):
    slug = "non-finite"
    title = "A tensor contains NaN or infinite values"
    status = 422


class NormLimit(Problem):
    slug = "norm-limit"
    title = "The update exceeds the maximum norm"
    status = 422


class QueryTooCostly(Problem):
    slug = "query-too-costly"
    title = "The query or its result is too large"
    status = 422


class TextTooCostly(Problem):
    slug = "text-too-costly"
    title = "The text takes too long to parse"
    status = 422


class Throttled(Problem):
    slug = "throttled"
    title = "Too many requests"
    status = 429


class InternalError(Problem):
    slug = "internal"
    title = "Internal error"
    status = 500


class Unavailable(Problem):
    slug = "unavailable"
    title = "The hub is temporarily unavailable"
    status = 503


class QueryTimeout(Problem):
    slug = "query-timeout"
    title = "The query took too long"
    status = 504


class StorageFull(Problem):
    slug = "storage-full"
    title = "The hub is out of storage"
    status = 507
