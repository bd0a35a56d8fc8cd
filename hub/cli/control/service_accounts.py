"""The commands of service accounts and of trusted publishers."""

from __future__ import annotations

from hub.cli.control.verbs import Noun, Verb

_NAMES = {"slug": "namespace", "username": "account"}

SERVICE_ACCOUNTS = Noun(
    "service-accounts",
    "list, create and close the service accounts of an organisation, and their tokens",
    (
        Verb(
            "list",
            "service_accounts.list",
            "list the service accounts of an organisation",
            ("hub service-accounts list acme",),
            columns=("username=account", "role", "created_at=created"),
            names=_NAMES,
        ),
        Verb(
            "create",
            "service_accounts.create",
            "create a service account, such as acme+ci; for owners",
            ("hub service-accounts create acme ci --role maintainer",),
            positional=("name",),
            names=_NAMES,
            texts={"name": "name in the organisation", "role": "role of the service account"},
        ),
        Verb(
            "edit",
            "service_accounts.edit",
            "change the role of a service account; for owners",
            ("hub service-accounts edit acme ci --role writer",),
            names=_NAMES,
            texts={"role": "role of the service account"},
        ),
        Verb(
            "close",
            "service_accounts.close",
            "close a service account permanently and revoke its tokens; for owners",
            ("hub service-accounts close acme ci --yes",),
            question="Close {username} of {slug}? Its tokens stop working. This cannot be undone.",
            message="Closed {username} of {slug}",
            names=_NAMES,
        ),
        Verb(
            "tokens",
            "service_tokens.list",
            "list the tokens of a service account, without their secrets; for owners",
            ("hub service-accounts tokens acme ci",),
            columns=(
                "id",
                "name",
                "prefix=begins",
                "scopes",
                "models",
                "expires_at=expires",
                "last_used_at=used",
            ),
            names=_NAMES,
        ),
        Verb(
            "create-token",
            "service_tokens.create",
            "create a token of a service account and print it, only once; for owners",
            (
                "hub service-accounts create-token acme ci nightly --scope write",
                "hub service-accounts create-token acme ci r --scope publish --model acme/resnet50",
            ),
            positional=("name",),
            names=_NAMES | {"scopes": "scope", "models": "model"},
            texts={
                "name": "name shown in the list of tokens",
                "models": "limit the token to this model; repeatable",
            },
            show=lambda token: print(token.token),
        ),
        Verb(
            "revoke-token",
            "service_tokens.revoke",
            "revoke a token of a service account immediately; for owners",
            ("hub service-accounts revoke-token acme ci 3 --yes",),
            names=_NAMES | {"token_id": "id"},
            question="Revoke token {token_id} of {username}? This cannot be undone.",
            message="Revoked token {token_id}",
        ),
    ),
)

PUBLISHERS = Noun(
    "publishers",
    "list, add and delete trusted publishers; exchange the identity of a workflow for a token",
    (
        Verb(
            "list",
            "publishers.list",
            "list the trusted publishers of an organisation; for owners",
            ("hub publishers list acme",),
            columns=("id", "repository", "workflow", "environment", "model", "account"),
            names={"slug": "namespace"},
        ),
        Verb(
            "create",
            "publishers.create",
            "trust a workflow of GitHub or GitLab; for owners",
            ("hub publishers create acme --issuer URL --repository acme/zoo --workflow ci.yml",),
            names={"slug": "namespace"},
            texts={"model": "the only model that it may publish"},
        ),
        Verb(
            "delete",
            "publishers.delete",
            "trust a workflow no longer; for owners",
            ("hub publishers delete acme 3 --yes",),
            question="Delete publisher {key} of {slug}? Its workflow gets no more tokens.",
            message="Deleted publisher {key} of {slug}",
            names={"slug": "namespace", "key": "id"},
            texts={"key": "id of the publisher; see hub publishers list"},
        ),
        Verb(
            "exchange",
            "publishers.exchange",
            "exchange the identity token of a workflow for a token of 15 minutes, and print it",
            ('hub publishers exchange "$identity" --model acme/resnet50',),
            positional=("token",),
            texts={"model": "the model to publish"},
            show=lambda token: print(token.token),
        ),
    ),
)
