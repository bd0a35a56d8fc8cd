"""Differences of variants: a figure that a job still counts is pending, not lost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hub.client import differences


def version(number, *, macs, jobs=(), state="published", names=("default",)):
    return SimpleNamespace(
        ref=f"ada/net@{number}",
        state=state,
        jobs=[SimpleNamespace(kind=kind, state=state) for kind, state in jobs],
        variants=[
            SimpleNamespace(
                name=name, opset=17, precision="fp32", parameters=5, macs=macs, memory_bytes=9
            )
            for name in names
        ],
    )


BEFORE = version(1, macs=100, jobs=[("skeleton", "succeeded")])


@pytest.mark.parametrize(
    ("state", "jobs", "pending"),
    [
        ("published", [("skeleton", "queued")], True),
        ("published", [("skeleton", "running")], True),
        ("published", [], True),
        ("submitted", [], True),
        ("published", [("skeleton", "succeeded")], False),
        ("published", [("skeleton", "failed"), ("upgrade", "queued")], False),
    ],
)
def test_a_figure_is_pending_until_its_job_has_ended(state, jobs, pending):
    after = version(2, macs=None, jobs=jobs, state=state)
    (change,) = differences._variants(BEFORE, after)
    assert (change.fact, change.before, change.after) == ("macs", 100, None)
    assert change.pending == (("ada/net@2",) if pending else ())


@pytest.mark.parametrize("state", ["queued", "succeeded"])
def test_a_variant_is_pending_while_a_job_may_make_it(state):
    before = version(1, macs=100, names=("default", "opset26"))
    after = version(2, macs=100, jobs=[("skeleton", "succeeded"), ("upgrade", state)])
    changes = differences._variants(before, after)
    assert {change.variant for change in changes} == {"opset26"}
    assert {bool(change.pending) for change in changes} == {state == "queued"}
