"""Evaluations on devices over HTTP: their tasks and reports, and what came of them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import federated
from registry.api import etags
from registry.api.inputs import Input
from registry.api.operations import Stored, command, operation, resource
from registry.api.outputs import Column, Columns, Digest, Output, answers_of
from registry.federated import history, selectors, tasks
from registry.federated.api import shapes
from registry.federated.api.devices import DeviceView
from registry.federated.api.views import OneRoundView
from registry.federated.models import DeviceEvaluation, DeviceReport
from registry.federated.services import evaluations


class DeviceReportInput(Input):
    """A report to an evaluation: a signed manifest with counts of right answers."""

    columns = Columns(Column("manifest", kind=dict), Column("signature", max_length=100))


class DeviceReportOutput(Output[DeviceReport]):
    """Your report to an evaluation."""

    columns = Columns(
        Column("n", help_text="examples that both models answered"),
        Column("base_right", help_text="right answers of the base"),
        Column("candidate_right", help_text="right answers of the candidate"),
        Column("change", help_text="share of right answers of the candidate minus the base"),
        Column("problem", help_text="why it counts for nothing; empty if it counts"),
        "received_at",
    )


class ReporterOutput(DeviceReportOutput):
    """A report as maintainers see it: by pseudonym."""

    columns = Columns(Column("participant", "participant.pseudonym"), "group")


class DeviceEvaluationOutput(Output[DeviceEvaluation]):
    """An evaluation of a round's result on devices."""

    columns = Columns(
        Column("round", "round.number"),
        "state",
        Column("base", "base_sha256", field=Digest),
        Column("candidate", "candidate_sha256", field=Digest),
        "quorum",
        "target",
        Column("releases", help_text="whether the round becomes a version if it passes"),
        Column("least_change", help_text="least median change with which it passes, -1 to 1"),
        "opened_at",
        "deadline",
        "ended_at",
        Column("reports", help_text="number of reports that count"),
        Column(
            "scores",
            help_text="figures of all devices and of groups, with their intervals: reports, "
            "examples, base and candidate (share of right answers, weighted by examples), change "
            "(median over devices) and worse (share of devices whose share fell); null before it "
            "ends. Names of groups and groups of few devices are for maintainers",
        ),
    )

    def get_least_change(self, row: DeviceEvaluation) -> float:
        return row.round.training.typed_rules.least_change

    def get_reports(self, row: DeviceEvaluation) -> int:
        return row.reports.filter(problem="").count()

    def get_scores(self, row: DeviceEvaluation) -> dict[str, Any] | None:
        may_manage = self.context["view"].may_manage
        scores = row.typed_scores if may_manage else history.open_scores(row)
        return scores.to_json() if scores else None


class Evaluations(OneRoundView):
    """The evaluation of a round on devices."""

    evaluation = resource(selectors.evaluation, "of", needs_actor=False)

    @extend_schema(operation_id="rounds_evaluation", responses=DeviceEvaluationOutput)
    def read(self, request: Request, **_: Any) -> Response:
        """Read what devices report of the result of a round.

        Maintainers also get the reports, by pseudonym.
        """
        data = self.data(DeviceEvaluationOutput, self.evaluation)
        if reports := selectors.reports(request.user, self.evaluation):
            data["given"] = answers_of(ReporterOutput, reports)
        return etags.respond(request, data)

    create = command(
        "rounds_evaluate",
        evaluations.open_by_hand,
        "Have devices compare the result of a round with the weights released before it.",
        DeviceEvaluationOutput,
        status=201,
    )


class EvaluationTasks(DeviceView, OneRoundView):
    """What a device asks and reports."""

    @operation(
        "trainings_evaluation_task",
        targets=("device",),
        responses={200: OpenApiTypes.OBJECT, 204: None},
    )
    def task(self) -> Response:
        """Pull the task to compare two models on local data.

        Returns 304 if unchanged, 204 with Retry-After if there is none, and 410 after the
        training.
        """
        task, training = evaluations.task_of(self.device), self.device.training
        again = str(tasks.retry_after(training))
        if task is None:
            return Response(status=204, headers={"Retry-After": again, "Cache-Control": "no-store"})
        response = etags.respond(
            self.request, tasks.evaluation_json(task, shapes.address(training))
        )
        response["Retry-After"] = again
        return response

    @operation(
        "rounds_report",
        DeviceReportOutput,
        targets=("device", "of"),
        reads=DeviceReportInput,
        responses={200: DeviceReportOutput, 201: DeviceReportOutput},
    )
    def report(self, manifest: dict[str, Any], signature: str) -> Stored:
        """Report how many answers of both models are right. Repeating it returns 200."""
        signed = federated.EvaluationManifest.from_json(manifest)
        return Stored(
            *evaluations.report(self.device, of=self.of, manifest=signed, signature=signature)
        )
