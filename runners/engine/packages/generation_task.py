"""Task "generation": a decoder's passes compared, its text held against GenAI's, and its speed.

Children that open the decoder read the files of its package that were laid out, and write nothing.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import resource
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from hub.protocol import strict
from hub.protocol.generation import (
    CheckKind,
    Generation,
    GenerationCheck,
    Outcome,
    Sample,
    Speed,
)
from hub.protocol.packages import GENAI_CONFIG
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job, JobError
from runners.engine.packages.decoders import config_of, prompt
from runners.engine.packages.generation import (
    Consistency,
    Greedy,
    held_against_genai,
    judge,
    open_decoder,
)
from runners.engine.reports import Report

GENAI = "onnxruntime-genai"
# Tokens of the prompts after which steps are timed, where the context has room for them.
CONTEXTS = (16, 128, 512)
TIMED_STEPS, PROCESSES = 16, 3
# No longer prompt is begun after as many seconds of a process.
_ENOUGH_SECONDS = 20.0
_MODULE = "onnxruntime_genai"
# What a config may set of the choice of tokens, without effect.
_PLAIN = {"do_sample": False, "num_beams": 1, "repetition_penalty": 1.0, "min_length": 0}


def run(job: Job) -> Report:
    """Judge and time the decoder that is the job's entry; the facts have it as ``generation``."""
    entry, files = job.request.entry, job.request.files
    config = config_of(files, entry)
    if not config:
        undescribed = Generation(entry, reason="The version has no config of the decoder.")
        return job.report("passed", facts={"generation": undescribed.to_json()})
    folder = job.lay_out([entry, config, *job.scan()])
    job.tell(20, "generation")
    generation = _judged(job, folder, config)
    return job.report("passed", facts={"generation": generation.to_json()})


def _judged(job: Job, folder: Path, config: str) -> Generation:
    entry = job.request.entry
    ending = job.stage("generation", lambda: judge(folder, entry, config), writes=False)
    if ending.kind != EndingKind.ANSWERED:
        return Generation(entry, reason=job.cause(ending))
    consistency = _read(Consistency, ending.answer)
    job.tell(50, "genai")
    versions = {ONNXRUNTIME: job.versions.get(ONNXRUNTIME, "")}
    if version := genai_version():
        versions[GENAI] = version
    greedy = _against_genai(job, folder, config, consistency.greedy)
    speeds: tuple[Speed, ...] = ()
    if job.request.options.get("timed"):
        speeds = tuple(_speeds(job, folder, config, consistency))
    return Generation(
        entry,
        consistency.context,
        versions=versions,
        checks=(*consistency.checks, greedy),
        speeds=speeds,
    )


def genai_version() -> str:
    """The version of ONNX Runtime GenAI in this environment; empty without it."""
    try:
        return importlib.metadata.version(GENAI) if importlib.util.find_spec(_MODULE) else ""
    except importlib.metadata.PackageNotFoundError:
        return ""


def _against_genai(job: Job, folder: Path, config: str, greedy: Greedy) -> GenerationCheck:
    def absent(reason: str) -> GenerationCheck:
        return GenerationCheck(CheckKind.GREEDY, Outcome.UNMEASURED, reason)

    if not config.endswith(GENAI_CONFIG):
        return absent(f"GenAI loads packages with a {GENAI_CONFIG} only.")
    if not genai_version():
        return absent("genai is not installed.")
    place = folder.joinpath(*config.split("/")).parent
    ending = job.stage("genai", lambda: generate(place, greedy.prompt, greedy.most), writes=False)
    if ending.kind != EndingKind.ANSWERED:
        words = f"GenAI did not generate: {job.cause(ending)}"
        return GenerationCheck(CheckKind.GREEDY, Outcome.FAILED, words)
    return held_against_genai(greedy, _read(tuple[int, ...], ending.answer))


def generate(folder: Path, tokens: Iterable[int], count: int) -> list[int]:
    """At most ``count`` tokens that GenAI chooses by the best score behind these; for children."""
    import onnxruntime_genai as runtime  # noqa: PLC0415 - optional, and in the child alone

    start = list(tokens)
    model = runtime.Model(str(folder))
    options = runtime.GeneratorParams(model)
    options.set_search_options(max_length=len(start) + count, **_PLAIN)
    generator = runtime.Generator(model, options)
    generator.append_tokens(np.array([start], np.int32))
    while not generator.is_done():
        generator.generate_next_token()
    return [int(token) for token in generator.get_sequence(0)][len(start) :]


def _speeds(job: Job, folder: Path, config: str, consistency: Consistency) -> Iterator[Speed]:
    """The samples of several processes for each length of prompt that all of them reached."""
    contexts = list(
        takewhile(
            lambda count: count + TIMED_STEPS <= (consistency.context or CONTEXTS[-1] * 2), CONTEXTS
        )
    )
    by_process = []
    for number in range(PROCESSES):
        job.tell(60 + 12 * number, "speed")
        task = functools.partial(time_decoder, folder, job.request.entry, config, contexts)
        ending = job.stage(f"speed {number}", task, writes=False)
        if ending.kind != EndingKind.ANSWERED:
            return
        by_process.append(_read(tuple[Sample, ...], ending.answer))
    for context, *samples in zip(contexts, *by_process, strict=False):
        size = consistency.cache_bytes * (context + TIMED_STEPS)
        yield Speed(context, size, tuple(samples))


def time_decoder(
    folder: Path, entry: str, config: str, contexts: Iterable[int]
) -> list[dict[str, Any]]:
    """Samples of this process for each length of prompt, as plain data; for children.

    A prompt and a step are run once before those that are timed.
    """
    begin, before = time.perf_counter(), _peak()
    opened = open_decoder(folder, entry, config)
    decoder, samples = opened.decoder, []
    for context in contexts:
        if time.perf_counter() - begin > _ENOUGH_SECONDS:
            break
        tokens = prompt(decoder.ports, opened.declared.ends, context)
        scores, caches = decoder.after(tokens)
        decoder.after(scores.argmax(axis=1)[:, None], caches)
        start = time.perf_counter()
        scores, caches = decoder.after(tokens)
        following = scores.argmax(axis=1)[:, None]
        first, steps = time.perf_counter() - start, []
        for _ in range(TIMED_STEPS):
            start = time.perf_counter()
            scores, caches = decoder.after(following, caches)
            following = scores.argmax(axis=1)[:, None]
            steps.append(time.perf_counter() - start)
        samples.append(asdict(Sample(first, tuple(steps), _peak() - before)))
    return samples


def _peak() -> int:
    """The most bytes that were resident in this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _read(kind: Any, answer: Any) -> Any:
    """Read what a child answers; raises JobError."""
    try:
        return strict.Reader().read(kind, answer)
    except strict.UnreadableError as error:
        words = f"The response of a child process has no readable generation: {error}."
        raise JobError("engine-error", words) from None


FLOWS = {"generation": run}
