"""The commands of trainings and fleets for maintainers; devices use `hub.training`."""

from __future__ import annotations

from hub.cli.control.verbs import Noun, Verb

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
    ),
)
