"""The operator suite and the runtimes it ran on, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from runners.models import Runtime, SuiteResult
from runners.proofs import selectors, verification

if TYPE_CHECKING:
    from rest_framework.request import Request


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


class RuntimeList(APIView):
    """The runtimes of this hub."""

    @extend_schema(operation_id="runtimes_list", responses=pagination.paged(RuntimeOutput))
    @asks()
    def get(self, request: Request) -> Response:
        """List runtimes, each with its newest version."""
        return pagination.respond(request, RuntimeOutput, verification.current(), None)


class Scoreboard(APIView):
    """The operator suite on every runtime."""

    @extend_schema(operation_id="scoreboard", responses=pagination.paged(ScoreOutput))
    @asks()
    def get(self, request: Request) -> Response:
        """List the runs of the ONNX operator test suite."""
        return pagination.respond(request, ScoreOutput, selectors.scores(), None)


class ScoreDetail(APIView):
    """One run of the suite."""

    @extend_schema(
        operation_id="scoreboard_read",
        responses=ScoreDetailOutput,
    )
    @asks(OpenApiParameter("with", str, description="version to compare with"))
    def get(self, request: Request, runtime: str, version: str) -> Response:
        """Read a run by operator and opset; `with` compares it with another version's."""
        score = selectors.score(runtime, version)
        other = request.query_params.get("with", "")
        changes = (
            selectors.suite_changes(selectors.score(runtime, other).run, score.run) if other else []
        )
        tables = (
            ("operators", "operator", selectors.by_operator(score.run)),
            ("opsets", "opset", selectors.by_opset(score.run)),
        )
        data = dict(ScoreOutput(score).data)
        for field, key, rows in tables:
            data[field] = [{key: value, "totals": totals} for value, totals in rows]
        data["changes"] = [
            dict(zip(("operator", "case", "before", "after"), change, strict=True))
            for change in changes
        ]
        return Response(data)


class CaseList(APIView):
    """The cases of a run."""

    @extend_schema(
        operation_id="scoreboard_cases",
        responses=pagination.paged(CaseOutput),
    )
    @asks(
        OpenApiParameter("operator", str),
        OpenApiParameter("outcome", enum=SuiteResult.Outcome.values),
        *PAGED,
    )
    def get(self, request: Request, runtime: str, version: str) -> Response:
        """List test cases by operator; filter with `operator` and `outcome`."""
        rows = selectors.suite_cases(
            selectors.score(runtime, version).run,
            operator=request.query_params.get("operator", ""),
            outcome=request.query_params.get("outcome", ""),
        )
        page, cursor = pagination.by_number(
            request, rows.order_by("-pk"), "pk", pagination.limit_of(request)
        )
        return pagination.respond(request, CaseOutput, page, cursor)
