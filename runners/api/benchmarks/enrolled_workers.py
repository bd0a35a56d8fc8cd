"""Workers of other people whose signed records this hub trusts, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import serializers

from registry.api.inputs import Input
from registry.api.operations import View, listing, operation
from runners.api.benchmarks.measurements import EnrolledWorkerOutput
from runners.benchmarks import enrolment

if TYPE_CHECKING:
    from runners.models import EnrolledWorker


class EnrolmentInput(Input):
    """A new enrolled worker."""

    name = serializers.CharField(max_length=64)
    owner = serializers.CharField(
        max_length=150, help_text="user who contributes the records it signs"
    )
    public_key = serializers.CharField(max_length=43, help_text="Ed25519, base64url")


class EnrolledWorkerList(View):
    """The enrolled workers."""

    @listing("enrolled_workers_list", EnrolledWorkerOutput)
    def get(self) -> list[EnrolledWorker]:
        """List the enrolled workers, revoked ones included; for administrators."""
        return list(enrolment.every(self.request.user))

    @operation("enrolled_workers_enrol", EnrolledWorkerOutput, reads=EnrolmentInput, status=201)
    def post(self, **fields: str) -> EnrolledWorker:
        """Enrol a machine by its public key; for administrators.

        Records that it signs are trusted.
        """
        return enrolment.enrol(self.request.user, **fields)


class EnrolledWorkerDetail(View):
    """One enrolled worker."""

    @operation("enrolled_workers_revoke")
    def delete(self) -> None:
        """Revoke a worker; for administrators. Its earlier signatures become invalid."""
        enrolment.revoke(self.request.user, name=self.kwargs["name"])
