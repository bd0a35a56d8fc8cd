"""One contribution judged in one pass over its bytes: digest, header, tensors, values, norm."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hub.protocol import federated, safetensors
from runners.engine.federated import updates
from runners.engine.federated.updates import Update, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hub.protocol.federated import Part
    from runners.engine.federated.mapping import Buffer
    from runners.engine.federated.updates import Difference

_HASHED_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a contribution says of itself, and the longest it may be."""

    id: str
    encoding: str
    sha256: str
    norm_limit: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a contribution is let in; if not, by which problem and which tensor."""

    id: str
    problem: str = ""
    tensor: str = ""
    detail: str = ""
    norm: float = 0.0
    statistic_norm: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "accepted": not self.problem,
            "problem": self.problem,
            "tensor": self.tensor,
            "detail": self.detail,
            "norm": self.norm,
            "statistic_norm": self.statistic_norm,
        }


class _RefusedError(Exception):
    def __init__(self, problem: str, detail: str, tensor: str = "") -> None:
        super().__init__(detail)
        self.problem, self.tensor = problem, tensor


def judge(wanted: Wanted, buffer: Buffer, base: Weights, parts: Sequence[Part]) -> Judgement:
    """Judge one mapped contribution. Raises nothing for what a device sent."""
    try:
        return _judged(wanted, buffer, base, parts)
    except _RefusedError as refusal:
        return Judgement(wanted.id, refusal.problem, refusal.tensor, str(refusal))
    except (safetensors.MalformedError, federated.MismatchError) as error:
        return Judgement(wanted.id, federated.TENSOR_MISMATCH, error.tensor, str(error))


def _judged(wanted: Wanted, buffer: Buffer, base: Weights, parts: Sequence[Part]) -> Judgement:
    weights = Weights(buffer)
    federated.expect(weights.header, parts, wanted.encoding)
    _refuse_other_bytes(wanted, buffer)
    norm, statistic_norm = norms(Update(weights, wanted.encoding, base), parts)
    if wanted.norm_limit is not None and norm > wanted.norm_limit:
        raise _RefusedError(
            federated.NORM_LIMIT,
            f"The update has a norm of {norm:.6g}; the training takes {wanted.norm_limit:.6g}.",
        )
    return Judgement(wanted.id, norm=norm, statistic_norm=statistic_norm)


def _refuse_other_bytes(wanted: Wanted, buffer: Buffer) -> None:
    digest = hashlib.sha256()
    view = memoryview(buffer).cast("B")
    for first in range(0, len(view), _HASHED_AT_ONCE):
        digest.update(view[first : first + _HASHED_AT_ONCE])
    if digest.hexdigest() != wanted.sha256:
        raise _RefusedError(
            federated.DIGEST_MISMATCH, "The bytes do not have the digest that was signed."
        )


def norms(update: Update, parts: Sequence[Part]) -> tuple[float, float]:
    """The 2-norms of what a device changed: of trainable parts, and of statistics.

    Raises an error that `judge` understands where a value is no number.
    """
    squares = {federated.TRAINABLE: 0.0, federated.STATISTIC: 0.0}
    into, spare = updates.buffers(2)
    with np.errstate(all="ignore"):
        for part in federated.exchanged(parts):
            _refuse_odd_index(update, part)
            difference = update.difference(part)
            for first, end in updates.runs(part):
                run = difference.run(first, end, into, spare)
                found = float(np.dot(run, run))
                if not math.isfinite(found):
                    raise _no_number(part, difference, first, end)
                squares[part.role] += found
    return math.sqrt(squares[federated.TRAINABLE]), math.sqrt(squares[federated.STATISTIC])


def _no_number(part: Part, difference: Difference, first: int, end: int) -> _RefusedError:
    into, spare = updates.buffers(2)
    place = first + int(np.argmin(np.isfinite(difference.run(first, end, into, spare))))
    return _RefusedError(
        federated.NON_FINITE,
        f"{part.name!r} holds NaN or an infinite value at element {place:,}.",
        part.name,
    )


def _refuse_odd_index(update: Update, part: Part) -> None:
    name = part.name + federated.INDEX
    if update.encoding != federated.DELTA_TOPK or part.role != federated.TRAINABLE:
        return
    index = update.weights.values(name).astype(np.int64)
    if index.size and (index[-1] >= part.elements or np.any(np.diff(index) <= 0)):
        raise _RefusedError(
            federated.TENSOR_MISMATCH,
            f"{name!r} must hold ascending places below {part.elements:,}, each once.",
            name,
        )
