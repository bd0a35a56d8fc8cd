"""Addresses of trainings, below those of their model."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers forms
from registry.federated.api import devices, fleets, views

_TRAININGS = "models/<str:namespace>/<str:name>/trainings"
_TRAINING = f"{_TRAININGS}/<number:number>"
_ROUND = f"{_TRAINING}/rounds/<number:round_number>"

_FLEETS = "models/<str:namespace>/<str:name>/fleets"

urlpatterns = [
    path(_FLEETS, fleets.FleetList.as_view()),
    path(f"{_FLEETS}/<str:fleet>", fleets.FleetDetail.as_view()),
    path(f"{_FLEETS}/<str:fleet>/desired", fleets.FleetDesired.as_view()),
    path(f"{_FLEETS}/<str:fleet>/devices/<str:device>", fleets.FleetDeviceDetail.as_view()),
    path(_TRAININGS, views.TrainingList.as_view()),
    path(_TRAINING, views.TrainingDetail.as_view()),
    *[
        path(f"{_TRAINING}/{action}", views.action_view(action).as_view())
        for action in views.ACTIONS
    ],
    path(f"{_TRAINING}/schema", views.SchemaDetail.as_view()),
    path(f"{_TRAINING}/skeleton", devices.SkeletonFile.as_view()),
    path(f"{_TRAINING}/task", devices.TaskDetail.as_view()),
    path(f"{_TRAINING}/invites", views.InviteList.as_view()),
    path(f"{_TRAINING}/invites/<number:key>", views.InviteDetail.as_view()),
    path(f"{_TRAINING}/participants", views.ParticipantList.as_view()),
    path(f"{_TRAINING}/participants/<str:pseudonym>", views.ParticipantDetail.as_view()),
    path(f"{_TRAINING}/uploads", devices.UploadList.as_view()),
    path(f"{_TRAINING}/uploads/<uuid:uuid>", devices.UploadDetail.as_view()),
    path(f"{_TRAINING}/rounds", views.RoundList.as_view()),
    path(_ROUND, views.RoundDetail.as_view()),
    path(f"{_ROUND}/base", devices.BaseFile.as_view()),
    path(f"{_ROUND}/result", devices.ResultFile.as_view()),
    path(f"{_ROUND}/close", views.RoundClose.as_view()),
    path(f"{_ROUND}/release", views.RoundRelease.as_view()),
    path(f"{_ROUND}/score", views.RoundScore.as_view()),
    path(f"{_ROUND}/aggregate", views.AggregateDetail.as_view()),
    path(f"{_ROUND}/contribution", devices.ContributionDetail.as_view()),
]
