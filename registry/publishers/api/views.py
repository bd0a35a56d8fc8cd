"""Trusted publishers, for owners, and the exchange of identity tokens, for workflows."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.inputs import OPTIONAL_TEXT, Input
from registry.api.operations import View, command, operation, resource, rows
from registry.api.outputs import Column, Columns, Output
from registry.models import AccessToken
from registry.people import selectors as people
from registry.publishers import identities, selectors, services
from registry.publishers.models import TrustedPublisher


class PublisherInput(Input):
    """A workflow to trust."""

    columns = Columns(
        Column("issuer", kind=str, max_length=200, help_text="one that this hub trusts"),
        Column("repository", kind=str, max_length=200, help_text="such as acme/models"),
        Column("workflow", kind=str, max_length=200, help_text="its file, such as publish.yml"),
        Column("environment", max_length=100, help_text="environment to require", **OPTIONAL_TEXT),
        Column(
            "model", max_length=200, help_text="the only model, such as acme/net", **OPTIONAL_TEXT
        ),
        Column(
            "account",
            max_length=150,
            help_text="service account to act as (default: publisher, made if there is none)",
            **OPTIONAL_TEXT,
        ),
    )


class PublisherOutput(Output[TrustedPublisher]):
    """A trusted publisher."""

    columns = Columns(
        "id",
        "provider",
        "issuer",
        "repository",
        "workflow",
        "environment",
        Column("model", "model.ref"),
        Column("account", "account.username"),
        "created_at",
        "last_used_at",
    )


class IdentityInput(Input):
    """The identity token of a workflow."""

    columns = Columns(
        Column("token", kind=str, max_length=identities.LONGEST_TOKEN, help_text="JSON Web Token"),
        Column("model", max_length=200, help_text="the model to publish", **OPTIONAL_TEXT),
    )


class PublisherTokenOutput(Output[AccessToken]):
    """A token of minutes; only this response contains it."""

    columns = Columns("expires_at", Column("account", "user.username"))

    token = serializers.CharField()


class Publishers(View):
    """The trusted publishers of an organisation, for its owners."""

    targets = ("namespace",)
    namespace = resource(people.own_namespace, "slug")
    publisher = resource(selectors.publisher, "namespace", "key")

    index = rows(
        "publishers_list",
        selectors.publishers,
        "List the trusted publishers of an organisation; for owners.",
        PublisherOutput,
        by="id",
    )
    create = command(
        "publishers_create",
        services.create,
        "Trust a workflow, which then gets tokens of minutes without a stored secret; for owners.",
        PublisherOutput,
        reads=PublisherInput,
        status=201,
    )
    delete_publisher = command(
        "publishers_delete",
        services.delete,
        "Trust a workflow no longer; for owners.",
        targets=("publisher",),
    )


class PublisherTokens(View):
    """The exchange of identity tokens; who has one needs nothing else."""

    authentication_classes: list[Any] = []
    serves_guests = True  # the identity token is the credential

    @operation(
        "publishers_exchange",
        PublisherTokenOutput,
        reads=IdentityInput,
        status=201,
        headers={"Cache-Control": "no-store"},
    )
    def exchange(self, token: str, model: str) -> Any:
        """Exchange the identity token of a workflow for a token of 15 minutes."""
        row: Any
        row, row.token = services.exchange(identities.verify(token), model=model)
        return row
