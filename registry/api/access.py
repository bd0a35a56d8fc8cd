"""Access to the files of a gated model, and to a private model."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter

from hub.protocol import problems
from registry.api.inputs import Input
from registry.api.operations import ModelView, command, listing, operation
from registry.api.outputs import Column, Columns, Output
from registry.models import AccessRequest, RegisteredModel
from registry.versions import gate_terms, selectors
from registry.versions.services import access


class AccessInput(Input):
    """Message to the maintainers."""

    columns = Columns(
        Column("message", max_length=access.LONGEST_MESSAGE, allow_blank=True, default=""),
        Column(
            "terms_sha256",
            max_length=64,
            allow_blank=True,
            default="",
            help_text="digest of the terms that you have read; 409 if they changed",
        ),
    )


class DecisionInput(Input):
    """The decision on a request; `pending` revokes an earlier decision."""

    columns = Columns(
        Column("status", required=True),
        Column("reason", max_length=access.LONGEST_REASON, help_text="reason for a rejection"),
        of=AccessRequest,
    )


class AccessRequestOutput(Output[AccessRequest]):
    """A request for access to a model's files, and its status."""

    columns = Columns(
        Column("user", "user.username"),
        "status",
        "message",
        "reason",
        "asked_at",
        "decided_at",
        Column("decided_by", "decided_by.username"),
        "covers_private",
    )


class OwnAccessOutput(Output[RegisteredModel]):
    """Your access to the files of a model, and your request."""

    columns = Columns(
        "gate",
        Column("may_download", kind=bool),
        Column(
            "terms",
            kind=str,
            help_text="text of the card for users who request access; may be empty",
        ),
        Column("terms_sha256", kind=str, help_text="digest of the terms in UTF-8"),
        Column("request", field=AccessRequestOutput, allow_null=True),
    )


class Access(ModelView):
    """Access to a model's files: the caller's, and everyone's for maintainers."""

    def own(self) -> dict[str, Any]:
        terms = gate_terms.current(self.request.user, self.model)
        return {
            "gate": self.model.gate,
            "terms": terms.text,
            "terms_sha256": terms.sha256,
            "may_download": selectors.may_have_files(self.request.user, self.model),
            "request": selectors.own_access_request(self.request.user, self.model),
        }

    @operation("access_read", OwnAccessOutput)
    def read(self) -> dict[str, Any]:
        """Read whether you can download files, and the status of your access request."""
        return self.own()

    @operation("access_ask", OwnAccessOutput, reads=AccessInput, body_optional=True)
    def ask(self, **words: str) -> dict[str, Any]:
        """Request access to the files of a gated model; its terms are recorded with the request."""
        access.ask(self.request.user, model=self.model, **words)
        return self.own()

    withdraw = command(
        "access_withdraw",
        access.withdraw,
        "Withdraw your access request and any access granted by it.",
    )

    @listing(
        "access_requests_list",
        AccessRequestOutput,
        OpenApiParameter("status", str, enum=AccessRequest.Status.values),
        by="id",
    )
    def requests(self) -> QuerySet[AccessRequest]:
        """List access requests, newest first; for maintainers."""
        status = self.request.query_params.get("status", "")
        if status and status not in AccessRequest.Status.values:
            statuses = ", ".join(AccessRequest.Status.values)
            raise problems.InvalidRequest.at("/status", f"status must be one of {statuses}.")
        return selectors.access_requests(self.request.user, self.model, status)

    @operation("access_requests_decide", AccessRequestOutput, reads=DecisionInput)
    def decide(self, **decision: str) -> AccessRequest:
        """Accept or reject a request; accepting a user without a request also grants access.

        A user who is granted access, or accepted while the model is private, sees it while it is
        private.
        """
        actor, username = self.request.user, self.kwargs["username"]
        requests = selectors.access_requests(actor, self.model)
        is_asked = requests.filter(user__username__iexact=username).exists()
        if decision["status"] == AccessRequest.Status.ACCEPTED and not is_asked:
            return access.grant(actor, model=self.model, username=username)
        return access.decide(actor, model=self.model, username=username, **decision)
