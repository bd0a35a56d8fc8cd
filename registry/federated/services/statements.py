"""What a participant signed, against the task that it answers: nothing signed counts twice."""

from __future__ import annotations

from hub.protocol import federated, problems
from hub.protocol.federated import Statement
from registry.federated.models import DeviceEvaluation, Participant, Round

# Why what a suspended or revoked participant sent counts for nothing.
SENT_AWAY = "participant-sent-away"


def expect_answer(
    statement: Statement, participant: Participant, *, of: Round, task: Round | DeviceEvaluation
) -> None:
    """Raise ManifestReplayed, NonceWrong or StaleBase unless it answers this task of a round."""
    expected = {
        "training": str(of.training.uuid),
        "round": of.number,
        "participant": participant.pseudonym,
    }
    for name, value in expected.items():
        if getattr(statement, name) != value:
            raise problems.ManifestReplayed(
                f"The manifest names the {name} {getattr(statement, name)}; the hub expects "
                f"{value}. Sign a new manifest for each round.",
                errors=[{"pointer": f"/manifest/{name}", "detail": f"must be {value}"}],
            )
    if statement.nonce != task.nonce:
        raise problems.NonceWrong.at(
            "/manifest/nonce", "The nonce does not match this round's task. Pull the task again."
        )
    if statement.base != f"sha256:{task.base_sha256}":
        raise problems.StaleBase(
            f"The manifest is based on {statement.base}, but the task of round {of.number} on "
            f"sha256:{task.base_sha256}. Pull the task and start from its weights.",
            base=f"sha256:{task.base_sha256}",
        )


def expect_examples(count: int, of: Round) -> None:
    """Raise ExamplesLimit for more examples than a device may claim in a round."""
    if count > of.examples_cap:
        raise problems.ExamplesLimit.at(
            "/manifest/n", f"{count} examples exceed the maximum of {of.examples_cap}."
        )


def expect_signature(statement: Statement, signature: str, participant: Participant) -> None:
    """Raise SignatureInvalid unless the participant's key signed the canonical statement."""
    if not federated.verify(statement.canonical(), signature, participant.public_key):
        raise problems.SignatureInvalid.at(
            "/signature", "The signature does not match your key and the canonical manifest."
        )
