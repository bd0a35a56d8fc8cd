"""The operator suite and the runtimes it ran on, over HTTP."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from registry.api.operations import View, listing, operation
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from runners.models import Runtime, SuiteResult
from runners.proofs import selectors, verification

if TYPE_CHECKING:
    from django.db.models import QuerySet


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


class TallyOutput(serializers.Serializer[Any]):
    """The outcomes of the cases of an operator or an opset."""

    operator = serializers.CharField(required=False)
    opset = serializers.IntegerField(required=False, allow_null=True)
    totals = serializers.DictField(child=serializers.IntegerField())


class ChangeOutput(serializers.Serializer[Any]):
    """A test case whose outcome differs in the other run."""

    operator = serializers.CharField()
    case = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()


class ScoreDetailOutput(ScoreOutput):
    """A run by operator and opset, with the differences from another run."""

    operators = TallyOutput(many=True)
    opsets = TallyOutput(many=True)
    changes = ChangeOutput(many=True)


class RuntimeList(View):
    """The runtimes of this hub."""

    @listing("runtimes_list", RuntimeOutput)
    def get(self) -> list[Runtime]:
        """List runtimes, each with its newest version."""
        return verification.current()


class Scoreboard(View):
    """The operator suite on every runtime."""

    @listing("scoreboard", ScoreOutput)
    def get(self) -> list[selectors.Score]:
        """List the runs of the ONNX operator test suite."""
        return selectors.scores()


class ScoreView(View):
    """At or below the address of a run of the suite."""

    target = "score"

    @cached_property
    def score(self) -> selectors.Score:
        """The run of the address; raises NotFound."""
        return selectors.score(self.kwargs["runtime"], self.kwargs["version"])


class ScoreDetail(ScoreView):
    """One run of the suite."""

    @asks(OpenApiParameter("with", str, description="version to compare with"))
    @operation("scoreboard_read", ScoreDetailOutput)
    def get(self) -> dict[str, Any]:
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


class CaseList(ScoreView):
    """The cases of a run."""

    @listing(
        "scoreboard_cases",
        CaseOutput,
        OpenApiParameter("operator", str),
        OpenApiParameter("outcome", enum=SuiteResult.Outcome.values),
        by="pk",
    )
    def get(self) -> QuerySet[SuiteResult]:
        """List test cases by operator; filter with `operator` and `outcome`."""
        query = self.request.query_params
        return selectors.suite_cases(
            self.score.run, operator=query.get("operator", ""), outcome=query.get("outcome", "")
        )
