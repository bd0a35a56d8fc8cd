"""Sound decoders pass each comparison, each fault fails one of them, and speeds are measured."""

from __future__ import annotations

import importlib.util
import json

import pytest

from hub.protocol.figures import Status
from hub.protocol.generation import CheckKind, Generation, Outcome
from runners.engine.packages.generation import Greedy, held_against_genai
from runners.sandbox import Request
from tests import decoders, packaged
from tests.engine.conftest import SUBJECT, UPGRADE

pytestmark = pytest.mark.capability("packages")
HAS_GENAI = importlib.util.find_spec("onnxruntime_genai") is not None
CHECKS = (CheckKind.STEPS, CheckKind.BATCH, CheckKind.CACHE_END)


@pytest.fixture
def generation(sandbox, stored):
    """What the task finds of the only decoder of a package."""

    def measure(files, **options):
        [entry] = [path for path in files if path.endswith(".onnx")]
        report = sandbox.run(Request("generation", entry, stored(files), SUBJECT, options, UPGRADE))
        assert report.outcome == "passed", report.findings
        return Generation.read(report.facts["generation"])

    return measure


def outcomes(found):
    return {check.kind: check.outcome for check in found.checks}


@pytest.mark.parametrize("files", [decoders.genai(), decoders.optimum()], ids=["genai", "optimum"])
def test_a_sound_decoder_passes_each_comparison(generation, files):
    found = generation(files)
    assert (found.reason, found.context_length) == ("", 64)
    assert [outcomes(found)[kind] for kind in CHECKS] == [Outcome.PASSED] * 3, found.checks
    assert found.speeds == ()
    assert found.versions["onnxruntime"]


@pytest.mark.parametrize(
    ("fault", "kind", "position"),
    [
        ("forgets", CheckKind.STEPS, 8),
        ("mixes", CheckKind.BATCH, 7),
        ("wraps", CheckKind.CACHE_END, 64),
    ],
)
def test_each_fault_fails_its_comparison(generation, fault, kind, position):
    found = generation(decoders.optimum(fault=fault))
    [failed] = found.failures
    assert (failed.kind, failed.position) == (kind, position)


def test_a_context_that_is_longer_than_the_tables_fails(generation):
    found = generation(decoders.optimum(n_positions=65))
    [failed] = found.failures
    assert (failed.kind, failed.position) == (CheckKind.CACHE_END, 64)
    assert "the last of the context, fails" in failed.message


def test_a_context_that_nobody_states_is_not_measured(generation):
    found = generation(decoders.optimum(n_positions=None))
    assert outcomes(found)[CheckKind.CACHE_END] == Outcome.UNMEASURED


def test_a_cache_that_is_too_large_is_not_made(generation):
    found = generation(decoders.optimum(n_positions=1 << 24))
    [check] = [row for row in found.checks if row.kind == CheckKind.CACHE_END]
    assert check.outcome == Outcome.UNMEASURED
    assert check.message.endswith("positions has 8.6 GB.")


def test_inputs_without_a_role_are_the_reason(generation):
    files = {"config.json": b"{}", "onnx/model.onnx": packaged.decoder(states=8)}
    assert generation(files).reason.endswith(
        "It is not known how to fill the input 'encoder_hidden_states'."
    )
    files["onnx/model.onnx"] = packaged.decoder(cache=False)
    assert generation(files).reason.endswith("The decoder has no cache.")


def test_speeds_have_the_raw_samples_of_each_process(generation):
    found = generation(decoders.optimum(), timed=True)
    [speed] = found.speeds  # the context has no room for the next prompt
    assert speed.context == 16
    assert speed.cache_bytes == 2 * 4 * 16 * 4 * 32
    assert [len(row.step_seconds) for row in speed.samples] == [16] * 3
    assert all(row.memory_bytes > 0 and row.first_seconds > 0 for row in speed.samples)
    assert speed.tokens_per_second.interval is not None
    assert found.fastest == speed.tokens_per_second


def test_longer_contexts_have_longer_prompts(generation):
    found = generation(decoders.optimum(decoders.Sizes(context=300)), timed=True)
    assert [speed.context for speed in found.speeds] == [16, 128]
    first, second = (speed.first_token.value for speed in found.speeds)
    assert second > first


def test_genai_chooses_the_same_tokens(generation):
    found = generation(decoders.genai())
    [check] = [row for row in found.checks if row.kind == CheckKind.GREEDY]
    if HAS_GENAI:
        assert check.outcome == Outcome.PASSED, check
        assert "onnxruntime-genai" in found.versions
    else:
        assert (check.outcome, check.message) == (Outcome.UNMEASURED, "genai is not installed.")


def test_genai_loads_no_other_layout(generation):
    found = generation(decoders.optimum())
    [check] = [row for row in found.checks if row.kind == CheckKind.GREEDY]
    assert check.outcome == Outcome.UNMEASURED
    assert "genai_config.json" in check.message


@pytest.mark.parametrize(
    ("tokens", "margin", "outcome", "position"),
    [
        ((4, 5, 6), 0.5, Outcome.PASSED, None),
        ((4, 7, 6), 0.5, Outcome.FAILED, 3),
        ((4, 7, 6), 1e-6, Outcome.PASSED, 3),
        ((4, 5), 0.5, Outcome.FAILED, 4),
    ],
)
def test_the_first_other_token_counts_unless_it_is_a_tie(tokens, margin, outcome, position):
    greedy = Greedy((1, 3), (4, 5, 6), (margin,) * 3, 3, 1e-3)
    check = held_against_genai(greedy, tokens)
    assert (check.outcome, check.position) == (outcome, position)


def test_processes_that_differ_make_a_noisy_figure():
    sample = {"step_seconds": [0.1], "memory_bytes": 5}
    speed = {
        "context": 16,
        "cache_bytes": 1,
        "samples": [sample | {"first_seconds": value} for value in (0.1, 0.2, 0.4)],
    }
    [row] = Generation.read({"model": "m", "checks": [], "speeds": [speed]}).speeds
    assert row.first_token.status == Status.NOISY
    assert row.tokens_per_second.status == Status.ACCEPTED
    assert row.tokens_per_second.value == pytest.approx(10)
    assert json.loads(json.dumps(Generation("m", speeds=(row,)).to_json()))["speeds"][0]
