"""Consistency of a decoder with a cache: comparisons that one child makes of its own passes.

One pass over a whole sequence is what all others are held against, as it needs no cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from hub import counting
from hub.counting import plural
from hub.protocol.generation import CheckKind, GenerationCheck, Outcome
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.onnx_files import text
from runners.engine.packages.decoders import Declarations, Decoder, Ports, prompt
from runners.engine.packages.folder import Folder
from runners.engine.runs import agreement
from runners.engine.runs.agreement import Profile
from runners.engine.runs.child_runs import load

PROMPT, STEPS, TOKENS = 8, 8, 32
# A cache of the whole context is made for one check, with one copy of it as output.
MOST_CACHE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Opened:
    """A decoder in a session, and the tolerance of comparisons of its scores."""

    decoder: Decoder
    declared: Declarations
    profile: Profile


@dataclass(frozen=True, slots=True)
class Greedy:
    """Tokens of ONNX Runtime's own session, and by how much each exceeds the second best score.

    They are at most ``most``, and fewer before a token that ends the text, which is none of them.
    """

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    margins: tuple[float, ...]
    most: int
    tolerance: float


@dataclass(frozen=True, slots=True)
class Consistency:
    """What the child of the comparisons answers."""

    checks: tuple[GenerationCheck, ...]
    greedy: Greedy
    context: int | None
    cache_bytes: int


def open_decoder(folder: Path, entry: str, config: str) -> Opened:
    """Open the decoder of a package; raises UnusableDecoderError and what a runtime raises."""
    path = folder.joinpath(*entry.split("/"))
    model = load(path)
    size = folder.joinpath(*config.split("/")).stat().st_size
    document = Folder(folder, {config: size}, {}).config(config)
    inputs = [port.name for port in model.graph.input]
    declared = Declarations.of(document, inputs)
    ports = Ports.of(model, declared)
    run = runtimes.of(ONNXRUNTIME).open(path)
    return Opened(Decoder(run, ports), declared, agreement.profile_for(model))


def judge(folder: Path, entry: str, config: str) -> dict[str, Any]:
    """Make all comparisons of a decoder in this process; what `Consistency` has, as plain data."""
    opened = open_decoder(folder, entry, config)
    checks = (
        _check(CheckKind.STEPS, _steps, opened),
        _check(CheckKind.BATCH, _batch, opened),
        _check(CheckKind.CACHE_END, _cache_end, opened),
    )
    return asdict(
        Consistency(
            checks, _greedy(opened), opened.declared.context, opened.decoder.ports.cache_bytes(1)
        )
    )


def _check(
    kind: CheckKind, compare: Callable[[Opened], GenerationCheck], opened: Opened
) -> GenerationCheck:
    """A comparison; that a pass fails is a result too."""
    ended = runtimes.attempt(compare, opened)
    if isinstance(ended, Exception):
        return GenerationCheck(kind, Outcome.FAILED, f"A pass failed: {text.message(str(ended))}")
    return ended


def _steps(opened: Opened) -> GenerationCheck:
    """The scores behind each step with the cache against those of one pass over all tokens."""
    decoder, tokens = opened.decoder, _prompt(opened)

    def pairs() -> Iterator[tuple[int, Any, Any]]:
        sequence = tokens
        scores, caches = decoder.after(sequence)
        for _ in range(_room(opened, STEPS)):
            following = scores.argmax(axis=1)[:, None]
            sequence = np.concatenate([sequence, following], axis=1)
            scores, caches = decoder.after(following, caches)
            yield sequence.shape[1] - 1, decoder.after(sequence)[0], scores

    steps = plural(_room(opened, STEPS), "step")
    words = f"{steps} after a prompt of {plural(tokens.shape[1], 'token')}"
    return _compared(CheckKind.STEPS, pairs(), opened.profile, words)


def _batch(opened: Opened) -> GenerationCheck:
    """The scores of two sequences that run together against those of each alone."""
    decoder, tokens = opened.decoder, _prompt(opened, batch=2)
    steps = _room(opened, STEPS // 2)

    def pairs() -> Iterator[tuple[int, Any, Any]]:
        rows = [tokens[:1], tokens[1:]]
        alone = [decoder.after(row) for row in rows]
        together, caches = decoder.after(tokens)
        for step in range(steps + 1):
            expected = np.concatenate([scores for scores, _ in alone])
            yield tokens.shape[1] - 1 + step, expected, together
            following = expected.argmax(axis=1)[:, None]
            alone = [
                decoder.after(following[place : place + 1], own)
                for place, (_, own) in enumerate(alone)
            ]
            together, caches = decoder.after(following, caches)

    words = f"two prompts of {plural(tokens.shape[1], 'token')} and {plural(steps, 'step')}"
    return _compared(CheckKind.BATCH, islice(pairs(), steps + 1), opened.profile, words)


def _compared(
    kind: CheckKind, pairs: Iterator[tuple[int, Any, Any]], profile: Profile, words: str
) -> GenerationCheck:
    """The first position whose scores differ by more than the tolerance, or the largest difference.

    ``pairs`` are positions with the scores expected there, and those to be judged.
    """
    largest = 0.0
    for position, expected, scores in pairs:
        figures = agreement.compare("scores", expected, scores, profile, brief=True)
        difference = figures.max_abs or 0.0
        if not figures.agrees:
            return GenerationCheck(
                kind,
                Outcome.FAILED,
                f"The scores behind token {position} differ ({words}, tolerance {profile.name}).",
                position,
                difference if math.isfinite(difference) else None,
            )
        largest = max(largest, difference)
    return GenerationCheck(kind, Outcome.PASSED, f"Equal on {words}.", None, largest)


def _cache_end(opened: Opened) -> GenerationCheck:
    """The last position of the context runs, and the one behind it is refused."""
    decoder, context = opened.decoder, opened.declared.context
    if context is None:
        words = "The config states no length of the context."
        return GenerationCheck(CheckKind.CACHE_END, Outcome.UNMEASURED, words)
    size = decoder.ports.cache_bytes(context)
    if size > MOST_CACHE_BYTES:
        words = f"The cache of {counting.number(context)} positions has {counting.size(size)}."
        return GenerationCheck(CheckKind.CACHE_END, Outcome.UNMEASURED, words)
    token = _prompt(opened)[:, :1]
    last = runtimes.attempt(decoder.after, token, decoder.ports.empty(1, context - 1))
    if isinstance(last, Exception):
        words = f"Position {context - 1}, the last of the context, fails: "
        words += text.message(str(last))
        return GenerationCheck(CheckKind.CACHE_END, Outcome.FAILED, words, context - 1)
    behind = runtimes.attempt(decoder.after, token, decoder.ports.empty(1, context))
    if not isinstance(behind, Exception):
        words = f"Position {context} is computed, though the context ends before it."
        return GenerationCheck(CheckKind.CACHE_END, Outcome.FAILED, words, context)
    words = f"Position {context - 1} runs, and position {context} is refused."
    return GenerationCheck(CheckKind.CACHE_END, Outcome.PASSED, words)


def _greedy(opened: Opened) -> Greedy:
    """Tokens with the best scores, up to one that ends the text."""
    start, most = _prompt(opened), _room(opened, TOKENS)
    rows = takewhile(
        lambda row: row[0] not in opened.declared.ends,
        islice(opened.decoder.greedy(start), most),
    )
    steps = list(rows)
    profile = opened.profile
    return Greedy(
        tuple(map(int, start[0])),
        tuple(token for token, _ in steps),
        tuple(margin if math.isfinite(margin) else 0.0 for _, margin in steps),
        most,
        profile.rtol + profile.atol,
    )


def _prompt(opened: Opened, batch: int = 1) -> Any:
    room = (opened.declared.context or PROMPT * 2) // 2
    return prompt(opened.decoder.ports, opened.declared.ends, max(1, min(PROMPT, room)), batch)


def _room(opened: Opened, steps: int) -> int:
    """How many of these steps the context has room for behind a prompt."""
    context = opened.declared.context
    return steps if context is None else min(steps, context - min(PROMPT, max(1, context // 2)))


def held_against_genai(greedy: Greedy, tokens: tuple[int, ...]) -> GenerationCheck:
    """The tokens of GenAI against those of ONNX Runtime's own session.

    Where two scores are closer than the tolerance, either may be the best.
    """
    pairs = zip(greedy.tokens, tokens, strict=False)
    place = next((at for at, (mine, other) in enumerate(pairs) if mine != other), None)
    count = min(len(greedy.tokens), len(tokens))
    if place is None and len(tokens) == len(greedy.tokens):
        words = f"Equal for {plural(count, 'token')}."
        return GenerationCheck(CheckKind.GREEDY, Outcome.PASSED, words)
    if place is None:
        words = f"ONNX Runtime chose {plural(len(greedy.tokens), 'token')}, GenAI {len(tokens)}."
        return GenerationCheck(CheckKind.GREEDY, Outcome.FAILED, words, len(greedy.prompt) + count)
    margin = greedy.margins[place]
    words = (
        f"Equal for {plural(place, 'token')}; then ONNX Runtime chose {greedy.tokens[place]}, "
        f"GenAI {tokens[place]}. The best two scores differ by {margin:.3g}."
    )
    outcome = Outcome.PASSED if margin <= greedy.tolerance else Outcome.FAILED
    return GenerationCheck(CheckKind.GREEDY, outcome, words, len(greedy.prompt) + place, margin)
