"""Rows of federated learning: who takes part, what they sent, and what became of it."""

from registry.federated.models.contributions import Aggregate, Contribution
from registry.federated.models.evaluations import DeviceEvaluation, DeviceReport
from registry.federated.models.fleets import EnrolledDevice, Fleet, FleetDevice, FleetInvite
from registry.federated.models.participants import Invite, Participant
from registry.federated.models.rounds import Round
from registry.federated.models.trainings import Training

__all__ = [
    "Aggregate",
    "Contribution",
    "DeviceEvaluation",
    "DeviceReport",
    "EnrolledDevice",
    "Fleet",
    "FleetDevice",
    "FleetInvite",
    "Invite",
    "Participant",
    "Round",
    "Training",
]
