"""Addresses of the registry below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import (
    access,
    accounts,
    cards,
    converters,  # noqa: F401 - registers forms
    dataset_versions,
    datasets,
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
    path("models", models.ModelList.as_view()),
    path(MODEL, models.ModelDetail.as_view()),
    path(f"{MODEL}/move", access.ModelMove.as_view()),
    path(f"{MODEL}/access", access.OwnAccess.as_view()),
    path(f"{MODEL}/access/requests", access.AccessList.as_view()),
    path(f"{MODEL}/access/requests/<str:username>", access.AccessDetail.as_view()),
    path(f"{MODEL}/refused-cards", refused_cards.RefusedCardList.as_view()),
    path(f"{MODEL}/refused-cards/<number:card_id>", refused_cards.RefusedCardDetail.as_view()),
    path(f"{MODEL}/preflight", preflight.PreflightDetail.as_view()),
    path(f"{MODEL}/names", names.NameList.as_view()),
    path(f"{MODEL}/versions", versions.VersionList.as_view()),
    path(VERSION, versions.VersionDetail.as_view()),
    path("cards/check", cards.CardCheck.as_view()),
    path(f"{VERSION}/card", files.CardDetail.as_view()),
    path(f"{VERSION}/card/import", cards.CardImport.as_view()),
    path(f"{VERSION}/files", files.FileList.as_view()),
    path(f"{VERSION}/files/<path:path>", files.FileDetail.as_view()),
    *[path(f"{VERSION}/{name}", view.as_view()) for name, view in versions.ACTIONS.items()],
    path(f"{MODEL}/refs/<path:ref>", refs.RefDetail.as_view()),
    path("datasets", datasets.DatasetList.as_view()),
    path(DATASET, datasets.DatasetDetail.as_view()),
    path(f"{DATASET}/withdraw", datasets.DatasetWithdraw.as_view()),
    path(f"{DATASET}/restore", datasets.DatasetRestore.as_view()),
    path(f"{DATASET}/versions", dataset_versions.DatasetVersionList.as_view()),
    path(f"{DATASET}/versions/<number:number>", dataset_versions.DatasetVersionDetail.as_view()),
    path(
        f"{DATASET}/versions/<number:number>/files/<path:path>",
        dataset_versions.DatasetFileDetail.as_view(),
    ),
    # Any text, so that the answer says why a name cannot be used.
    path("datasets/<path:slug>/preflight", dataset_versions.DatasetPreflight.as_view()),
    path("resolve", refs.Resolve.as_view()),
    path("blobs/<sha256:sha256>", files.BlobDetail.as_view()),
    path("uploads", uploads.UploadList.as_view()),
    path("uploads/<uuid:uuid>", uploads.UploadDetail.as_view()),
    path("whoami", accounts.Whoami.as_view()),
    path("namespaces", people.NamespaceList.as_view()),
    path("namespaces/<str:slug>", people.NamespaceDetail.as_view()),
    path("namespaces/<str:slug>/members", people.MemberList.as_view()),
    path("namespaces/<str:slug>/members/<str:username>", people.MemberDetail.as_view()),
    path("users", people.UserList.as_view()),
    path("users/<str:username>", people.UserDetail.as_view()),
    path("users/<str:username>/password", people.UserPassword.as_view()),
    path("tokens", accounts.TokenList.as_view()),
    path("tokens/<number:token_id>", accounts.TokenDetail.as_view()),
]
