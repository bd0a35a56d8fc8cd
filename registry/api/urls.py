"""Addresses of the registry below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import (
    access,
    accounts,
    alias_rules,
    cards,
    converters,  # noqa: F401 - registers forms
    dataset_versions,
    datasets,
    deleted_models,
    download_counts,
    events,
    files,
    models,
    names,
    people,
    preflight,
    refs,
    refused_cards,
    schema,  # noqa: F401 - describes how requests sign in
    uploads,
    versions,
)

MODEL = "models/<str:namespace>/<str:name>"
VERSION = f"{MODEL}/versions/<number:number>"
DATASET = "datasets/<slug:slug>"

urlpatterns = [
    path("models", models.Models.as_view({"get": "index", "post": "create"})),
    path(MODEL, models.Models.as_view({"get": "read", "patch": "edit", "delete": "destroy"})),
    *[
        path(f"{MODEL}/{name}", models.Models.as_view({"post": name}))
        for name in ("move", "deprecate", "undeprecate")
    ],
    path(
        f"{MODEL}/access",
        access.Access.as_view({"get": "read", "post": "ask", "delete": "withdraw"}),
    ),
    path(f"{MODEL}/access/requests", access.Access.as_view({"get": "requests"})),
    path(f"{MODEL}/access/requests/<str:username>", access.Access.as_view({"put": "decide"})),
    path(f"{MODEL}/refused-cards", refused_cards.RefusedCards.as_view({"get": "index"})),
    path(
        f"{MODEL}/refused-cards/<number:card_id>",
        refused_cards.RefusedCards.as_view({"get": "read", "delete": "destroy"}),
    ),
    path(f"{MODEL}/preflight", preflight.Preflights.as_view({"post": "check"})),
    path(
        f"{MODEL}/names",
        names.Names.as_view({"get": "index", "put": "confirm", "delete": "withdraw"}),
    ),
    path(f"{MODEL}/versions", versions.Versions.as_view({"get": "index", "post": "create"})),
    path(VERSION, versions.Versions.as_view({"get": "read", "delete": "destroy"})),
    *[
        path(f"{VERSION}/{name}", versions.Versions.as_view({"post": name}))
        for name in (
            *("submit", "publish", "yank", "restore", "withdraw"),
            *("deprecate", "undeprecate"),
        )
    ],
    path(f"{VERSION}/dependents", versions.Versions.as_view({"get": "dependents"})),
    path("cards/check", cards.Cards.as_view({"post": "check"})),
    path(f"{VERSION}/card", files.Card.as_view({"get": "read", "put": "store"})),
    path(f"{VERSION}/card/import", cards.Cards.as_view({"post": "merge"})),
    path(f"{VERSION}/files", files.Files.as_view({"post": "put_all"})),
    path(
        f"{VERSION}/files/<path:path>",
        files.Files.as_view({"get": "read", "put": "store", "delete": "destroy"}),
    ),
    path("blobs/<sha256:sha256>", files.Files.as_view({"get": "read_blob"})),
    path(f"{MODEL}/downloads", download_counts.DownloadCounts.as_view({"get": "index"})),
    path(f"{MODEL}/refs", refs.Refs.as_view({"get": "index"})),
    path(f"{MODEL}/alias-rules", alias_rules.AliasRules.as_view({"get": "index"})),
    path(
        f"{MODEL}/alias-rules/<path:ref>",
        alias_rules.AliasRules.as_view({"put": "store", "delete": "destroy"}),
    ),
    path(f"{MODEL}/alias-history", refs.Refs.as_view({"get": "history"})),
    path(f"{MODEL}/refs/<path:ref>", refs.Refs.as_view({"put": "store", "delete": "destroy"})),
    path("resolve", refs.Refs.as_view({"get": "resolve"})),
    path("datasets", datasets.Datasets.as_view({"get": "index", "post": "create"})),
    path(DATASET, datasets.Datasets.as_view({"get": "read", "patch": "edit"})),
    path(f"{DATASET}/withdraw", datasets.Datasets.as_view({"post": "withdraw"})),
    path(f"{DATASET}/restore", datasets.Datasets.as_view({"post": "restore"})),
    path(
        f"{DATASET}/versions",
        dataset_versions.DatasetVersions.as_view({"get": "index", "post": "create"}),
    ),
    path(
        f"{DATASET}/versions/<number:number>",
        dataset_versions.DatasetVersions.as_view({"get": "read"}),
    ),
    path(
        f"{DATASET}/versions/<number:number>/files/<path:path>",
        dataset_versions.DatasetVersions.as_view({"get": "download"}),
    ),
    # Any text, so that the answer says why a name cannot be used.
    path(
        "datasets/<path:slug>/preflight",
        dataset_versions.DatasetVersions.as_view({"post": "check"}),
    ),
    path("uploads", uploads.Uploads.as_view({"post": "create", "options": "describe"})),
    path(
        "uploads/<uuid:uuid>",
        uploads.Uploads.as_view(
            {"get": "read", "head": "offset", "patch": "append", "delete": "destroy"}
        ),
    ),
    path("whoami", accounts.Account.as_view({"get": "read"})),
    path("tokens", accounts.Account.as_view({"get": "token_list", "post": "create_token"})),
    path("tokens/<number:token_id>", accounts.Account.as_view({"delete": "revoke_token"})),
    path("namespaces", people.Namespaces.as_view({"get": "index", "post": "create"})),
    path("namespaces/<str:slug>", people.Namespaces.as_view({"get": "read", "patch": "edit"})),
    path(
        "namespaces/<str:slug>/deleted-models",
        deleted_models.DeletedModels.as_view({"get": "index"}),
    ),
    path(
        "namespaces/<str:slug>/deleted-models/<number:model_id>",
        deleted_models.DeletedModels.as_view({"delete": "erase"}),
    ),
    path(
        "namespaces/<str:slug>/deleted-models/<number:model_id>/restore",
        deleted_models.DeletedModels.as_view({"post": "restore"}),
    ),
    path("namespaces/<str:slug>/members", people.Namespaces.as_view({"get": "members"})),
    path(
        "namespaces/<str:slug>/members/<str:username>",
        people.Namespaces.as_view({"put": "set_member", "delete": "remove_member"}),
    ),
    path(
        "namespaces/<str:slug>/service-accounts",
        people.ServiceAccounts.as_view({"get": "index", "post": "create"}),
    ),
    path(
        "namespaces/<str:slug>/service-accounts/<str:username>",
        people.ServiceAccounts.as_view({"patch": "edit", "delete": "close"}),
    ),
    path(
        "namespaces/<str:slug>/service-accounts/<str:username>/tokens",
        people.ServiceAccounts.as_view({"get": "tokens", "post": "create_token"}),
    ),
    path(
        "namespaces/<str:slug>/service-accounts/<str:username>/tokens/<number:token_id>",
        people.ServiceAccounts.as_view({"delete": "revoke_token"}),
    ),
    path("events", events.Events.as_view({"get": "index"})),
    path("users", people.Users.as_view({"get": "index", "post": "create"})),
    path("users/<str:username>", people.Users.as_view({"patch": "edit"})),
    path("users/<str:username>/dependents", people.Users.as_view({"get": "dependents"})),
    path("users/<str:username>/password", people.Users.as_view({"post": "reset_password"})),
]
