"""Certificates that a proof cites: what children answer is read as that of a stranger."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from hub.protocol.node_certificates import SearchOutcome
from runners.engine.certificates.certificate import Certificate
from runners.engine.certificates.citations import MOST_SECONDS, Citations, changed_nodes
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import JobError
from tests.engine.opset_models import floats, old

REASON = "its type is not known"


class FakeJob:
    """Stages that end with the given answers, one after another."""

    def __init__(self, *answers, kind=EndingKind.ANSWERED, cpu_seconds=0.1):
        self.model = self.work = None
        self._answers, self._kind, self._cpu_seconds = list(answers), kind, cpu_seconds

    def stage(self, name, task, **_):
        answer = self._answers.pop(0)
        return SimpleNamespace(kind=self._kind, answer=answer, cpu_seconds=self._cpu_seconds)

    def cause(self, ending):
        return "crashed"


@pytest.fixture
def row(tmp_path):
    """What a child answers for a model of one Clip whose certificate does not come with the hub."""
    path = tmp_path / "model.onnx"
    clip = old("Clip", 10, {"x": floats(2, 3)}, min=-0.321, max=0.654)
    path.write_bytes(clip.SerializeToString())
    [answer] = json.loads(json.dumps(changed_nodes(path, 26)))
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


def test_searches_end_by_the_processor_time_of_their_children(row):
    rows = [row | {"digest": digest} for digest in ("first", "second", "third")]
    answer = Certificate("any", "Clip", 10, 26, SearchOutcome.CERTIFIED).to_json()
    job = FakeJob(rows, answer, answer, cpu_seconds=MOST_SECONDS - 1)
    cited = Citations(job).of(26, None)
    outcomes = [SearchOutcome.CERTIFIED, SearchOutcome.CERTIFIED, SearchOutcome.NOT_RUN]
    assert [certificate.outcome for certificate in cited] == outcomes
    assert cited[-1].reason == "no time was left to search it"
