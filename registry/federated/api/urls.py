"""Addresses of trainings, below those of their model."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers forms
from registry.federated.api import devices, evaluations, fleets, views

_TRAININGS = "models/<str:namespace>/<str:name>/trainings"
_TRAINING = f"{_TRAININGS}/<number:number>"
_ROUND = f"{_TRAINING}/rounds/<number:round_number>"
_EVALUATION = f"{_ROUND}/evaluation"

_FLEETS = "models/<str:namespace>/<str:name>/fleets"
_FLEET = f"{_FLEETS}/<str:fleet>"

urlpatterns = [
    path(_FLEETS, fleets.Fleets.as_view({"get": "index", "post": "create"})),
    path(_FLEET, fleets.Fleets.as_view({"get": "read"})),
    path(f"{_FLEET}/desired", fleets.Fleets.as_view({"get": "desired", "put": "desire"})),
    path(f"{_FLEET}/token", fleets.Fleets.as_view({"delete": "revoke_token"})),
    path(f"{_FLEET}/invites", fleets.Fleets.as_view({"get": "invites", "post": "invite"})),
    path(f"{_FLEET}/invites/<number:key>", fleets.Fleets.as_view({"delete": "revoke_invite"})),
    path(f"{_FLEET}/enrolments", fleets.Enrolments.as_view({"post": "enrol"})),
    path(f"{_FLEET}/key", fleets.Fleets.as_view({"put": "rotate"})),
    path(f"{_FLEET}/files", fleets.Fleets.as_view({"get": "files"})),
    path(f"{_FLEET}/files/<path:path>", fleets.Fleets.as_view({"get": "read_file"})),
    path(f"{_FLEET}/devices", fleets.Fleets.as_view({"get": "devices"})),
    path(
        f"{_FLEET}/devices/<str:device>",
        fleets.Fleets.as_view({"put": "report", "delete": "revoke_device"}),
    ),
    path(_TRAININGS, views.Trainings.as_view({"get": "index", "post": "create"})),
    path(_TRAINING, views.Trainings.as_view({"get": "read", "patch": "edit"})),
    *[
        path(f"{_TRAINING}/{step}", views.Trainings.as_view({"post": step}))
        for step in views.ACTIONS
    ],
    path(f"{_TRAINING}/schema", views.Trainings.as_view({"get": "schema_read"})),
    path(f"{_TRAINING}/skeleton", devices.Downloads.as_view({"get": "skeleton"})),
    path(f"{_TRAINING}/task", devices.Tasks.as_view({"get": "read"})),
    path(f"{_TRAINING}/evaluation-task", evaluations.EvaluationTasks.as_view({"get": "task"})),
    path(f"{_TRAINING}/invites", views.Invites.as_view({"get": "index", "post": "create"})),
    path(f"{_TRAINING}/invites/<number:key>", views.Invites.as_view({"delete": "revoke"})),
    path(
        f"{_TRAINING}/participants",
        views.Participants.as_view({"get": "index", "post": "join"}),
    ),
    path(
        f"{_TRAINING}/participants/<str:pseudonym>",
        views.Participants.as_view({"patch": "edit"}),
    ),
    path(f"{_TRAINING}/uploads", devices.Uploads.as_view({"post": "create"})),
    path(
        f"{_TRAINING}/uploads/<uuid:uuid>",
        devices.Uploads.as_view(
            {"get": "read", "head": "offset", "patch": "append", "delete": "destroy"}
        ),
    ),
    path(f"{_TRAINING}/rounds", views.Rounds.as_view({"get": "index", "post": "create"})),
    path(_ROUND, views.Rounds.as_view({"get": "read"})),
    path(f"{_ROUND}/base", devices.Downloads.as_view({"get": "base"})),
    path(f"{_ROUND}/result", devices.Downloads.as_view({"get": "result"})),
    path(f"{_ROUND}/close", views.Rounds.as_view({"post": "close"})),
    path(f"{_ROUND}/release", views.Rounds.as_view({"post": "release"})),
    path(f"{_ROUND}/score", views.Rounds.as_view({"put": "give_score"})),
    path(_EVALUATION, evaluations.Evaluations.as_view({"get": "read", "post": "create"})),
    path(f"{_EVALUATION}/base", devices.Downloads.as_view({"get": "compared_base"})),
    path(f"{_EVALUATION}/candidate", devices.Downloads.as_view({"get": "compared_candidate"})),
    path(f"{_EVALUATION}/report", evaluations.EvaluationTasks.as_view({"put": "report"})),
    path(f"{_ROUND}/aggregate", views.Rounds.as_view({"get": "aggregate"})),
    path(
        f"{_ROUND}/contribution",
        devices.Contributions.as_view({"get": "read", "put": "store", "delete": "withdraw"}),
    ),
]
