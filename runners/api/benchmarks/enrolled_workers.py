"""Workers of other people whose signed records this hub trusts, over HTTP."""

from __future__ import annotations

from registry.api.inputs import Input
from registry.api.operations import View, command, rows
from registry.api.outputs import Column, Columns
from runners.api.benchmarks.measurements import EnrolledWorkerOutput
from runners.benchmarks import enrolment
from runners.models import EnrolledWorker


class EnrolmentInput(Input):
    """A new enrolled worker."""

    columns = Columns(
        "name",
        Column(
            "owner",
            kind=str,
            max_length=150,
            help_text="user who contributes the records it signs",
        ),
        Column("public_key", help_text="Ed25519, base64url"),
        of=EnrolledWorker,
    )


class EnrolledWorkers(View):
    """The enrolled workers."""

    index = rows(
        "enrolled_workers_list",
        enrolment.every,
        "List the enrolled workers, revoked ones included; for administrators.",
        EnrolledWorkerOutput,
    )
    enrol = command(
        "enrolled_workers_enrol",
        enrolment.enrol,
        "Enrol a machine by its public key; for administrators.\n\n"
        "Records that it signs are trusted.",
        EnrolledWorkerOutput,
        reads=EnrolmentInput,
        status=201,
    )
    revoke = command(
        "enrolled_workers_revoke",
        enrolment.revoke,
        "Revoke a worker; for administrators. Its earlier signatures become invalid.",
        targets=("name",),
    )
