"""The commands of trainings and fleets for maintainers; devices use `hub.training`."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from hub.cli.control import simulation
from hub.cli.control.verbs import Noun, Task, Verb
from hub.client import api
from hub.terminal import DONE, plain

if TYPE_CHECKING:
    from hub.client.fleet_device import FleetDevice

_TRAINING = "zoo/digits/trainings/7"

TRAINING = Noun(
    "training",
    "create, open, pause, finish and follow federated trainings",
    (
        Verb(
            "list",
            "trainings.list",
            "list the trainings of a model",
            ("hub training list zoo/digits",),
            columns=("number", "title", "state", "base", "created_at=created"),
        ),
        Verb("show", "trainings.read", "show a training", (f"hub training show {_TRAINING}",)),
        Verb(
            "create",
            "trainings.create",
            "create a training from a published version",
            ("""hub training create zoo/digits@1 --rules '{"rule": "median"}'""",),
            pinned=True,
            version_parameter="version",
            texts={"title": "title of the training"},
        ),
        Verb(
            "edit",
            "trainings.edit",
            "change a training",
            (f"hub training edit {_TRAINING} --title Digits",),
        ),
        Verb("open", "trainings.open", "open a training", (f"hub training open {_TRAINING}",)),
        Verb("pause", "trainings.pause", "pause a training", (f"hub training pause {_TRAINING}",)),
        Verb(
            "finish",
            "trainings.finish",
            "finish a training",
            (f"hub training finish {_TRAINING} --yes",),
            question="Finish {model}/trainings/{number}? It accepts no more rounds. This cannot be "
            "undone.",
        ),
        Verb(
            "cancel",
            "trainings.cancel",
            "cancel a training",
            (f"hub training cancel {_TRAINING} --reason 'Wrong base' --yes",),
            question="Cancel {model}/trainings/{number}? Its open round is lost. This cannot be "
            "undone.",
        ),
        Verb(
            "schema",
            "trainings.schema",
            "show the tensors of a training: name, type, shape and role",
            (f"hub training schema {_TRAINING}",),
        ),
        Verb(
            "skeleton",
            "trainings.skeleton",
            "download the graph without its weights",
            (f"hub training skeleton {_TRAINING} --to model.onnx",),
        ),
        Verb(
            "invites",
            "invites.list",
            "list invitations; for maintainers",
            (f"hub training invites {_TRAINING}",),
            columns=("id", "group", "uses", "used", "expires_at=expires", "revoked_at=revoked"),
        ),
        Verb(
            "invite",
            "invites.create",
            "create an invitation and print its code; it is shown only once",
            (f"hub training invite {_TRAINING} --uses 10 --group hospitals",),
            show=lambda invite: print(invite.code),
        ),
        Verb(
            "revoke-invite",
            "invites.revoke",
            "revoke an invitation",
            (f"hub training revoke-invite {_TRAINING} 4 --yes",),
            names={"key": "id"},
            texts={"key": "id of the invitation"},
            question="Revoke invitation {key}? Devices that have not joined can no longer use it.",
            message="Revoked invitation {key}",
        ),
        Verb(
            "participants",
            "participants.list",
            "list participants by pseudonym; for maintainers",
            (f"hub training participants {_TRAINING}",),
            columns=("participant", "group", "state", "runtime", "joined_at=joined"),
        ),
        Verb(
            "edit-participant",
            "participants.edit",
            "suspend, reactivate or revoke a participant",
            (f"hub training edit-participant {_TRAINING} p-1 --state suspended",),
            texts={"state": "new state"},
        ),
        Task(
            "simulate",
            "run a training on this machine, with any rules, splits and attackers",
            ("hub training simulate digits.onnx --data digits.npz --code device.py",),
            arguments=simulation.add_arguments,
            run=simulation.run,
        ),
    ),
)

ROUNDS = Noun(
    "rounds",
    "open, close, score and release the rounds of a training",
    (
        Verb(
            "list",
            "rounds.list",
            "list rounds, newest first",
            (f"hub rounds list {_TRAINING}",),
            columns=("number=round", "state", "opened_at=opened", "deadline", "score", "version"),
        ),
        Verb("show", "rounds.read", "show a round", (f"hub rounds show {_TRAINING} 3",)),
        Verb(
            "open",
            "rounds.open",
            "open a round, for all participants or some",
            (f"hub rounds open {_TRAINING}", f"hub rounds open {_TRAINING} --participant p-1"),
            names={"participants": "participant"},
            texts={
                "participants": "pseudonym of a participant to ask (default: as the rules say); "
                "repeatable"
            },
        ),
        Verb(
            "close",
            "rounds.close",
            "close a round and aggregate its contributions",
            (f"hub rounds close {_TRAINING} 3",),
        ),
        Verb(
            "release",
            "rounds.release",
            "make a version of the result of a round",
            (f"hub rounds release {_TRAINING} 3",),
        ),
        Verb(
            "score",
            "rounds.score",
            "record a score of the result of a round",
            (f"hub rounds score {_TRAINING} 3 0.97",),
            positional=("score",),
        ),
        Verb(
            "evaluate",
            "rounds.evaluate",
            "have devices compare the result of a round with the weights released before",
            (f"hub rounds evaluate {_TRAINING} 3",),
        ),
        Verb(
            "evaluation",
            "rounds.evaluation",
            "show what devices report of the result of a round",
            (f"hub rounds evaluation {_TRAINING} 3",),
        ),
        Verb(
            "aggregate",
            "rounds.aggregate",
            "show the rule, figures and result of a round",
            (f"hub rounds aggregate {_TRAINING} 3",),
        ),
        Verb(
            "provenance",
            "rounds.provenance",
            "print who contributed what to a round, as N-Quads",
            (f"hub rounds provenance {_TRAINING} 3",),
        ),
        Verb(
            "base",
            "rounds.base",
            "download the weights that a round starts from, as safetensors",
            (f"hub rounds base {_TRAINING} 3 --to base.safetensors",),
        ),
        Verb(
            "result",
            "rounds.result",
            "download the weights that a round made, as safetensors",
            (f"hub rounds result {_TRAINING} 3 --to result.safetensors",),
        ),
    ),
)


def _device_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a model, such as zoo/digits")
    parser.add_argument("fleet", help="name of the fleet")
    parser.add_argument("device", help="name of this device")


def _enrol_arguments(parser: argparse.ArgumentParser) -> None:
    _device_arguments(parser)
    parser.add_argument("code", help="code of the invitation; - reads it from standard input")


def _pull_arguments(parser: argparse.ArgumentParser) -> None:
    _device_arguments(parser)
    parser.add_argument("--to", required=True, help="folder for the files of the version")


def _device(options: argparse.Namespace) -> FleetDevice:
    return api.fleet_device(options.model, options.fleet, device=options.device)


def _enrol(options: argparse.Namespace) -> int:
    code = sys.stdin.readline().strip() if options.code == "-" else options.code
    _device(options).enrol(code)
    return _answer(options, "enrolled")


def _pull(options: argparse.Namespace) -> int:
    folder = _device(options).pull(options.to)
    return _answer(options, f"files are in {folder}" if folder else "no version is assigned")


def _rotate(options: argparse.Namespace) -> int:
    _device(options).rotate()
    return _answer(options, "key and token are replaced")


def _answer(options: argparse.Namespace, text: str) -> int:
    if options.json:
        print(json.dumps({"device": options.device, "result": text}))
    else:
        print(f"{plain(options.device)}: {plain(text)}")
    return DONE


FLEET = Noun(
    "fleet",
    "create fleets of devices and roll out versions",
    (
        Verb(
            "list",
            "fleets.list",
            "list the fleets of a model",
            ("hub fleet list zoo/digits",),
            columns=(
                "name",
                "stable",
                "desired",
                "percent=%",
                "desired_state=state",
                "is_halted=halted",
            ),
        ),
        Verb(
            "show",
            "fleets.read",
            "show the progress of a rollout",
            ("hub fleet show zoo/digits cameras",),
        ),
        Verb(
            "create",
            "fleets.create",
            "create a fleet and print the token of its devices, only once",
            ("hub fleet create zoo/digits cameras --halt-percent 10",),
            positional=("name",),
            texts={"name": "name of the fleet"},
        ),
        Verb(
            "rollout",
            "fleets.desire",
            "roll out a version to a percentage of the devices",
            ("hub fleet rollout zoo/digits@3 cameras --percent 20",),
            pinned=True,
            version_parameter="version",
        ),
        Verb(
            "desired",
            "fleets.desired",
            "show the version that a device should run",
            ("hub fleet desired zoo/digits cameras --device cam-7",),
            texts={"device": "name of the device"},
            message="No version is desired",
        ),
        Verb(
            "report",
            "fleets.report",
            "report the version that a device runs",
            ("hub fleet report zoo/digits cameras cam-7 --running sha256:5ace5eba... --result ok",),
            texts={
                "device": "name of the device",
                "running": "manifest digest of the version that the device runs, as in `desired`",
                "detail": "what went wrong",
            },
            message="Reported {result} for {device}",
        ),
        Verb(
            "invite",
            "fleets.invite",
            "create an invitation to enrol and print its code; it is shown only once",
            ("hub fleet invite zoo/digits cameras --uses 10",),
            show=lambda invite: print(invite.code),
        ),
        Verb(
            "invites",
            "fleets.invites",
            "list invitations to enrol; for maintainers",
            ("hub fleet invites zoo/digits cameras",),
            columns=("id", "uses", "used", "expires_at=expires", "revoked_at=revoked"),
        ),
        Verb(
            "revoke-invite",
            "fleets.revoke_invite",
            "revoke an invitation to enrol",
            ("hub fleet revoke-invite zoo/digits cameras 4 --yes",),
            names={"key": "id"},
            texts={"key": "id of the invitation"},
            question="Revoke invitation {key}? Devices can no longer enrol with it.",
            message="Revoked invitation {key}",
        ),
        Verb(
            "devices",
            "fleets.devices",
            "list enrolled devices; for maintainers",
            ("hub fleet devices zoo/digits cameras",),
            columns=("device", "enrolled_at=enrolled", "rotated_at=rotated", "revoked_at=revoked"),
        ),
        Verb(
            "revoke-device",
            "fleets.revoke_device",
            "revoke an enrolled device permanently",
            ("hub fleet revoke-device zoo/digits cameras camera-7 --yes",),
            texts={"device": "name of the device"},
            question="Revoke {device}? It gets no more versions. This cannot be undone.",
            message="Revoked {device}",
        ),
        Verb(
            "revoke-token",
            "fleets.revoke_token",
            "revoke the token that all devices share; enrolled devices are not affected",
            ("hub fleet revoke-token zoo/digits cameras --yes",),
            question="Revoke the shared token? Devices that did not enrol get no more versions. "
            "This cannot be undone.",
            message="Revoked the shared token",
        ),
        Task(
            "enrol",
            "enrol this machine as a device of a fleet, with a key that stays here",
            ("hub fleet enrol zoo/digits cameras camera-7 fe_code",),
            arguments=_enrol_arguments,
            run=_enrol,
        ),
        Task(
            "pull",
            "download the version that this device should run, with its own token",
            ("hub fleet pull zoo/digits cameras camera-7 --to model",),
            arguments=_pull_arguments,
            run=_pull,
        ),
        Task(
            "rotate",
            "replace the key and the token of this device",
            ("hub fleet rotate zoo/digits cameras camera-7",),
            arguments=_device_arguments,
            run=_rotate,
        ),
    ),
)
