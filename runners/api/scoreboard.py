"""The operator suite and the runtimes it ran on, over HTTP."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter

from registry.api.operations import View, listing, operation, resource
from registry.api.outputs import Column, Columns, Output, Shape
from registry.api.parameters import asks
from runners.models import Runtime, SuiteResult
from runners.proofs import selectors, verification


class RuntimeOutput(Output[Runtime]):
    """A version of a runtime that workers offer, or recently offered."""

    columns = Columns("name", "version", "first_seen_at", "seen_at")


class ScoreOutput(Output[selectors.Score]):
    """One run of the ONNX backend node tests."""

    columns = Columns(
        Column("runtime", "run.runtime"),
        Column("runtime_version", "run.runtime_version"),
        Column("onnx_version", "run.onnx_version"),
        Column("started_at", "run.started_at"),
        Column("finished_at", "run.finished_at"),
        "cases",
        "totals",
    )


class CaseOutput(Output[SuiteResult]):
    """The outcome of one case."""

    columns = Columns("case", "operator", "opset", "outcome", "reason")


class TallyOutput(Shape[Any]):
    """The outcomes of the cases of an operator or an opset."""

    columns = Columns(
        Column("operator", kind=str, required=False),
        Column("opset", kind=int | None, required=False),
        Column("totals", kind=dict[str, int]),
    )


class ChangeOutput(Shape[Any]):
    """A test case whose outcome differs in the other run."""

    columns = Columns("operator", "case", "before", "after")


class ScoreDetailOutput(ScoreOutput):
    """A run by operator and opset, with the differences from another run."""

    columns = Columns(
        Column("operators", field=TallyOutput, many=True),
        Column("opsets", field=TallyOutput, many=True),
        Column("changes", field=ChangeOutput, many=True),
    )


class Scoreboard(View):
    """The operator suite, and the runtimes of this hub."""

    score = resource(selectors.score, "runtime", "version", needs_actor=False)

    @listing("runtimes_list", RuntimeOutput)
    def runtimes(self) -> list[Runtime]:
        """List runtimes, each with its newest version."""
        return verification.current()

    @listing("scoreboard", ScoreOutput)
    def index(self) -> list[selectors.Score]:
        """List the runs of the ONNX operator test suite."""
        return selectors.scores()

    @asks(OpenApiParameter("with", str, description="version to compare with"))
    @operation("scoreboard_read", ScoreDetailOutput, targets=("score",))
    def read(self) -> dict[str, Any]:
        """Read a run by operator and opset; `with` compares it with another version's."""
        score, other = self.score, self.request.query_params.get("with", "")
        changes = []
        if other:
            before = selectors.score(self.kwargs["runtime"], other)
            changes = selectors.suite_changes(before.run, score.run)
        names = ("operator", "case", "before", "after")
        return {
            "run": score.run,
            "cases": score.cases,
            "totals": score.totals,
            "operators": [
                {"operator": operator, "totals": totals}
                for operator, totals in selectors.by_operator(score.run)
            ],
            "opsets": [
                {"opset": opset, "totals": totals}
                for opset, totals in selectors.by_opset(score.run)
            ],
            "changes": [dict(zip(names, change, strict=True)) for change in changes],
        }

    @listing(
        "scoreboard_cases",
        CaseOutput,
        OpenApiParameter("operator", str),
        OpenApiParameter("outcome", enum=SuiteResult.Outcome.values),
        by="pk",
        targets=("score",),
    )
    def cases(self) -> QuerySet[SuiteResult]:
        """List test cases by operator; filter with `operator` and `outcome`."""
        query = self.request.query_params
        return selectors.suite_cases(
            self.score.run, operator=query.get("operator", ""), outcome=query.get("outcome", "")
        )
