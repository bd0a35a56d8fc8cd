"""The protocol of hub and devices in a training: roles, layouts, encodings, manifests, signatures.

A manifest is canonical JSON (RFC 8785) signed with Ed25519; both are kept, so that anyone who
holds them can verify a contribution years later. Keys and signatures are unpadded base64url.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from hub.protocol import canonical, digests, problems
from hub.protocol.safetensors import Header, Tensor

TRAINABLE, STATISTIC, FROZEN = "trainable", "statistic", "frozen"
ROLES = (TRAINABLE, STATISTIC, FROZEN)

FULL, DELTA, DELTA_F16 = "full/f32", "delta/f32", "delta/f16"
DELTA_INT8, DELTA_TOPK = "delta/int8-b4096", "delta/topk"
ENCODINGS = (FULL, DELTA, DELTA_F16, DELTA_INT8, DELTA_TOPK)
BLOCK = 4096
SCALE, INDEX, VALUE = ".scale", ".index", ".value"

# The problem types of a contribution whose bytes were looked at, by the header or in the sandbox.
TENSOR_MISMATCH, NON_FINITE, NORM_LIMIT = "tensor-mismatch", "non-finite", "norm-limit"
DIGEST_MISMATCH = "digest-mismatch"

WEIGHTS, MODEL = "weights.safetensors", "model.onnx"

KEY_BYTES, SIGNATURE_BYTES = 32, 64
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")
_NONCE = re.compile(r"[0-9a-f]{32}")
_CREATED = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_WORD = re.compile(r"[A-Za-z0-9._~-]{1,100}")
_LONGEST_ENCODING = 100
_MOST_COUNT = 1 << 53
_MOST_CLAIMS = 16


class MismatchError(ValueError):
    """A contribution's tensors are not those of the layout; `tensor` is the one at fault."""

    def __init__(self, message: str, tensor: str = "") -> None:
        super().__init__(message)
        self.tensor = tensor


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a layout: its type in the words of safetensors, its role in the training.

    ``least`` bounds the values of a result from below, such as those of a variance.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str
    least: float | None = None

    def to_json(self) -> dict[str, Any]:
        row = asdict(self) | {"shape": list(self.shape)}
        return {name: value for name, value in row.items() if value is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read a part of a stored layout, which the engine wrote."""
        return cls(
            data["name"], data["dtype"], tuple(data["shape"]), data["role"], data.get("least")
        )

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def layout_digest(parts: Iterable[Part]) -> str:
    """Give the 64 hex digits of the ordered list of (name, dtype, shape, role)."""
    rows = [[part.name, part.dtype, list(part.shape), part.role] for part in parts]
    return hashlib.sha256(canonical.encode(rows)).hexdigest()


def exchanged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts that travel: all that are not frozen."""
    return tuple(part for part in parts if part.role != FROZEN)


def encoded(part: Part, encoding: str, values: int = 0) -> list[tuple[str, str, tuple[int, ...]]]:
    """The tensors that carry a part in an encoding, as (name, dtype, shape).

    Statistics always travel as F32, whatever the encoding. ``values`` is the number of values
    that top-k keeps of this part.
    """
    if part.role == STATISTIC or encoding in {FULL, DELTA}:
        return [(part.name, "F32", part.shape)]
    if encoding == DELTA_F16:
        return [(part.name, "F16", part.shape)]
    if encoding == DELTA_INT8:
        blocks = -(-part.elements // BLOCK)
        return [(part.name, "I8", part.shape), (part.name + SCALE, "F32", (blocks,))]
    return [(part.name + INDEX, "U32", (values,)), (part.name + VALUE, "F16", (values,))]


def expect(header: Header, parts: Iterable[Part], encoding: str) -> None:
    """Raise MismatchError unless a file's tensors are exactly those of a layout in an encoding."""
    if encoding not in ENCODINGS:
        raise MismatchError(f"Unknown encoding {encoding!r}.")
    tensors = header.by_name()
    expected: set[str] = set()
    for part in exchanged(parts):
        for name, dtype, shape in encoded(part, encoding, _top_k(tensors, part, encoding)):
            if name in expected:
                raise MismatchError(f"Two tensors would be sent as {name!r}.", name)
            expected.add(name)
            tensor = tensors.get(name)
            if tensor is None:
                raise MismatchError(f"The tensor {name!r} is missing.", name)
            if (tensor.dtype, tensor.shape) != (dtype, shape):
                raise MismatchError(
                    f"{name!r} is {tensor.dtype} {list(tensor.shape)} but the training needs "
                    f"{dtype} {list(shape)}.",
                    name,
                )
    for name in tensors:
        if name not in expected:
            raise MismatchError(f"The tensor {name!r} is not part of this training.", name)


def _top_k(tensors: dict[str, Tensor], part: Part, encoding: str) -> int:
    """How many values a top-k part keeps: as many as its index says, within reason."""
    index = tensors.get(part.name + INDEX)
    if encoding != DELTA_TOPK or part.role == STATISTIC or index is None:
        return 0
    return min(index.elements, part.elements)


def file_bytes_at_most(parts: Iterable[Part], encoding: str) -> int:
    """The most data bytes that a contribution in this encoding can have, header left out."""
    sizes = {"F32": 4, "F16": 2, "I8": 1, "U32": 4}
    return sum(
        math.prod(shape) * sizes[dtype]
        for part in exchanged(parts)
        for _, dtype, shape in encoded(part, encoding, part.elements)
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """What a participant signs: which task of which training it answers, and from which weights.

    Each kind of statement has fields that no other has, so that a signature is of one kind alone.
    """

    training: str
    round: int
    nonce: str
    participant: str
    base: str

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read a statement that a device sent; raises `InvalidRequest` naming the field."""
        if not isinstance(data, dict):
            raise problems.InvalidRequest.at("/manifest", "The manifest must be a JSON object.")
        names = {field.name: field.default for field in fields(cls)}
        optional = {name for name, default in names.items() if default is None}
        if odd := (data.keys() ^ names.keys()) - (optional - data.keys()):
            name = min(map(str, odd))[:80]
            raise problems.InvalidRequest.at(
                f"/manifest/{name}",
                f"The manifest must have exactly the expected fields; check {name!r}.",
            )
        for name, value in data.items():
            if not _FIELDS[name](value):
                raise problems.InvalidRequest.at(
                    f"/manifest/{name}", f"The manifest's {name} is not valid."
                )
        return cls(**data)

    def canonical(self) -> bytes:
        """The bytes that are signed."""
        return canonical.encode(self.to_json())


@dataclass(frozen=True, slots=True)
class Manifest(Statement):
    """What a participant signs of a contribution; digests are `sha256:<64 hex>`.

    ``claims`` are figures that only the participant knows, such as `loss_before`, `loss_after` and
    `rel_l2` of the encoding; nothing is computed from them. They are optional: a manifest that was
    signed without them (None) is another text than one with no figures (``{}``).
    """

    blob: str
    n: int
    encoding: str
    created: str
    claims: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class EvaluationManifest(Statement):
    """What a participant signs of an evaluation: right answers of two models on the same examples.

    ``candidate`` is the digest of the weights that are compared with those of ``base``;
    ``base_right`` and ``candidate_right`` are numbers of right answers among ``n`` examples.
    """

    candidate: str
    n: int
    base_right: int
    candidate_right: int
    created: str


def _is_text(value: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_digest(value: Any) -> bool:
    if not isinstance(value, str) or not value.startswith(digests.PREFIX):
        return False
    return digests.is_hex(value.removeprefix(digests.PREFIX))


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and least <= value < _MOST_COUNT


def _are_claims(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_CLAIMS
        and all(_is_text(name, _WORD) for name in value)
        and all(
            (type(figure) is float and math.isfinite(figure))
            or (type(figure) is int and abs(figure) < _MOST_COUNT)
            for figure in value.values()
        )
    )


_FIELDS = {
    "training": lambda value: _is_text(value, _WORD),
    "round": _is_count,
    "nonce": lambda value: _is_text(value, _NONCE),
    "participant": lambda value: _is_text(value, _WORD),
    "base": _is_digest,
    "blob": _is_digest,
    "candidate": _is_digest,
    "n": _is_count,
    "base_right": lambda value: _is_count(value, 0),
    "candidate_right": lambda value: _is_count(value, 0),
    # Which encodings are known, and which of them a training takes, is for the hub to answer.
    "encoding": lambda value: isinstance(value, str) and len(value) <= _LONGEST_ENCODING,
    "created": lambda value: _is_text(value, _CREATED),
    "claims": _are_claims,
}


def to_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _from_base64(text: Any, size: int, pointer: str) -> bytes:
    content = b""
    if isinstance(text, str) and len(text) == -(-4 * size // 3) and _BASE64URL.fullmatch(text):
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    # The last letter may hold bits that no byte has: only one text may mean a key.
    if len(content) != size or to_base64(content) != text:
        raise problems.InvalidRequest.at(
            pointer, f"This must be {size} bytes in base64url without padding."
        )
    return content


def parse_public_key(text: Any, pointer: str = "/public_key") -> bytes:
    """Give the 32 bytes of an Ed25519 public key; raises `InvalidRequest`."""
    return _from_base64(text, KEY_BYTES, pointer)


def parse_signature(text: Any, pointer: str = "/signature") -> bytes:
    """Give the 64 bytes of a signature; raises `InvalidRequest`."""
    return _from_base64(text, SIGNATURE_BYTES, pointer)


def new_key() -> bytes:
    """Make a private key: 32 random bytes, to be kept by the device alone."""
    import secrets  # noqa: PLC0415

    return secrets.token_bytes(KEY_BYTES)


def public_key(private: bytes) -> str:
    """Give the public key of a private one; raises `LibraryMissing` without `cryptography`."""
    public = _ed25519().Ed25519PrivateKey.from_private_bytes(private).public_key()
    return to_base64(public.public_bytes_raw())


def sign(content: bytes, private: bytes) -> str:
    """Sign bytes; raises `LibraryMissing` without `cryptography`."""
    return to_base64(_ed25519().Ed25519PrivateKey.from_private_bytes(private).sign(content))


def verify(content: bytes, signature: str, key: str) -> bool:
    """Say whether a signature of these bytes was made with this public key.

    Raises `InvalidRequest` for texts that are no signature or no key.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    public = _ed25519().Ed25519PublicKey.from_public_bytes(parse_public_key(key))
    try:
        public.verify(parse_signature(signature), content)
    except InvalidSignature:
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError:
        raise problems.LibraryMissing(
            "Signing needs 'cryptography': pip install 'onnx-hub[federated]'."
        ) from None
    return ed25519
