"""One contribution judged in one pass over its bytes: digest, header, tensors, values, norm."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hub.protocol import federated, safetensors, stored
from hub.protocol.federated import Part
from runners.engine.federated import updates
from runners.engine.federated.mapping import Buffer
from runners.engine.federated.updates import Update, Weights

_HASHED_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Contribution:
    """A contribution as the hub describes it: where it lies, what it should be, how much it counts.

    `norm_limit` is the longest it may be; the norms are those of an earlier judgement, if any.
    """

    id: str
    path: str
    encoding: str
    sha256: str = ""
    norm_limit: float | None = None
    examples: int = 0
    norm: float | None = None
    statistic_norm: float = 0.0
    staleness: int = 0

    @classmethod
    def from_json(cls, row: Mapping[str, object], *, is_counted: bool) -> Contribution:
        """Read a row of a job's options. Raises ValueError naming the field that is wrong.

        Where contributions are aggregated, each must state how many examples it counts for.
        """
        return cls(
            id=_text(row, "id"),
            path=_text(row, "path"),
            encoding=_text(row, "encoding"),
            sha256=_text(row, "sha256", ""),
            norm_limit=_figure(row, "norm_limit"),
            examples=_count(row, "n", 1) if is_counted else 0,
            norm=_figure(row, "norm"),
            statistic_norm=_figure(row, "statistic_norm") or 0.0,
            staleness=_count(row, "staleness", 0) if "staleness" in row else 0,
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a contribution is accepted; if not, which problem and which tensor."""

    id: str
    problem: str = ""
    tensor: str = ""
    detail: str = ""
    norm: float = 0.0
    statistic_norm: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"accepted": not self.problem}


def _text(row: Mapping[str, object], name: str, default: str | None = None) -> str:
    value = row.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"A contribution has no {name}.")  # noqa: TRY004 - a fault of the data
    return value


def _count(row: Mapping[str, object], name: str, least: int) -> int:
    value = stored.whole(row.get(name))
    if value is None or value < least:
        raise ValueError(f"The {name} of a contribution must be a whole number from {least} on.")
    return value


def _figure(row: Mapping[str, object], name: str) -> float | None:
    """A finite number of at least 0; None where it is not there."""
    value = row.get(name)
    if value is None:
        return None
    figure = stored.finite(value)
    if figure is None or figure < 0:
        raise ValueError(f"The {name} of a contribution must be a finite number of at least 0.")
    return figure


class _RefusedError(Exception):
    def __init__(self, problem: str, detail: str, tensor: str = "") -> None:
        super().__init__(detail)
        self.problem, self.tensor = problem, tensor


def judge(
    contribution: Contribution, buffer: Buffer, base: Weights, parts: Sequence[Part]
) -> Judgement:
    """Judge one mapped contribution. Raises nothing for what a device sent."""
    try:
        return _judged(contribution, buffer, base, parts)
    except _RefusedError as refusal:
        return Judgement(contribution.id, refusal.problem, refusal.tensor, str(refusal))
    except (safetensors.MalformedError, federated.MismatchError) as error:
        return Judgement(contribution.id, federated.TENSOR_MISMATCH, error.tensor, str(error))


def _judged(
    contribution: Contribution, buffer: Buffer, base: Weights, parts: Sequence[Part]
) -> Judgement:
    weights = Weights(buffer)
    federated.expect(weights.header, parts, contribution.encoding)
    _refuse_other_bytes(contribution, buffer)
    norm, statistic_norm = norms(Update(weights, contribution.encoding, base), parts)
    if contribution.norm_limit is not None and norm > contribution.norm_limit:
        limit = f"the training takes {contribution.norm_limit:.6g}"
        raise _RefusedError(federated.NORM_LIMIT, f"The update has a norm of {norm:.6g}; {limit}.")
    return Judgement(contribution.id, norm=norm, statistic_norm=statistic_norm)


def _refuse_other_bytes(contribution: Contribution, buffer: Buffer) -> None:
    digest = hashlib.sha256()
    view = memoryview(buffer).cast("B")
    for first in range(0, len(view), _HASHED_AT_ONCE):
        digest.update(view[first : first + _HASHED_AT_ONCE])
    if digest.hexdigest() != contribution.sha256:
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
                square = float(np.dot(run, run))
                if not math.isfinite(square):
                    place = first + int(np.argmin(np.isfinite(run)))
                    raise _RefusedError(
                        federated.NON_FINITE,
                        f"{part.name!r} holds NaN or an infinite value at element {place:,}.",
                        part.name,
                    )
                squares[part.role] += square
    return math.sqrt(squares[federated.TRAINABLE]), math.sqrt(squares[federated.STATISTIC])


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
