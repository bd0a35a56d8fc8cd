"""Certificates that a proof cites: what children answer is read as that of a stranger."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hub.protocol.node_certificates import SearchOutcome
from runners.engine.certificates.citations import Citations, changed_nodes
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import JobError
from tests.engine.opset_models import floats, old

REASON = "its type is not known"


class FakeJob:
    """Stages that end with the given answers, one after another."""

    def __init__(self, *answers, kind=EndingKind.ANSWERED):
        self.model = self.work = None
        self._answers, self._kind = list(answers), kind

    def stage(self, name, task, **_):
        return SimpleNamespace(kind=self._kind, answer=self._answers.pop(0))

    def cause(self, ending):
        return "crashed"


@pytest.fixture
def row(tmp_path):
    """What a child answers for a model of one Clip whose certificate does not come with the hub."""
    path = tmp_path / "model.onnx"
    clip = old("Clip", 10, {"x": floats(2, 3)}, min=-0.321, max=0.654)
    path.write_bytes(clip.SerializeToString())
    [answer] = changed_nodes(path, 26)
    return answer


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [3],
        [{"op": "Clip", "nodes": -1}],
        [{"op": "Clip", "key": {"op": "Clip"}}],
        [{"op": "Clip", "key": {"node": "no base64"}}],
    ],
)
def test_an_answer_that_names_no_nodes_ends_the_job(answer):
    with pytest.raises(JobError, match="no readable value"):
        Citations(FakeJob(answer)).of(26, None)


@pytest.mark.parametrize("answer", [None, {}, {"outcome": "perfect"}, {"key": 1}])
def test_an_answer_that_is_no_certificate_ends_the_job(row, answer):
    with pytest.raises(JobError, match="no readable value"):
        Citations(FakeJob([row], answer)).of(26, None)


def test_a_node_without_a_key_and_a_search_that_crashed_are_not_certified(row):
    [cited] = Citations(FakeJob([{"op": "Loop", "nodes": 2, "reason": REASON}])).of(26, None)
    assert (cited.outcome, cited.nodes, cited.reason) == (SearchOutcome.NO_KEY, 2, REASON)
    assert not cited.is_certified
    citations = Citations(FakeJob([row], kind=EndingKind.SIGNALLED))
    assert citations.of(26, None) == "looking for the changed nodes crashed"
