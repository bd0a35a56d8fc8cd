"""Addresses of the Hub protocol. They lie beside the pages', so they come before them."""

from __future__ import annotations

from django.urls import path

from registry.protocols.huggingface import (
    account,
    cards,
    converters,  # noqa: F401 - registers forms
    history,
    repos,
    resolve,
    trees,
    views,
    write_urls,
)

REPO = "<part:namespace>/<part:name>"
MODEL = f"api/models/{REPO}"
BARE = "api/models/<part:name>"

urlpatterns = [
    *write_urls.routes(),
    path("api/whoami-v2", account.Whoami.as_view()),
    path("api/validate-yaml", cards.ValidateYaml.as_view()),
    path("api/models", repos.ModelList.as_view()),
    path(f"{MODEL}", repos.ModelInfo.as_view()),
    path(f"{MODEL}/revision/<path:rest>", repos.ModelInfo.as_view()),
    path(f"{MODEL}/auth-check", repos.AuthCheck.as_view()),
    path(f"{MODEL}/auth-check/<str:action>", repos.AuthCheck.as_view()),
    path(f"{MODEL}/tree/<path:rest>", trees.Tree.as_view()),
    path(f"{MODEL}/paths-info/<path:rest>", trees.PathsInfo.as_view()),
    path(f"{MODEL}/commits/<path:rest>", history.Commits.as_view()),
    path(f"{MODEL}/refs", history.Refs.as_view()),
    path(f"{REPO}/resolve/<path:rest>", resolve.Resolve.as_view()),
    path(f"{REPO}/raw/<path:rest>", resolve.Raw.as_view()),
    # After the full names: a model may be called `tree`, but then it has a namespace.
    path(BARE, views.BareName.as_view()),
    *[
        path(f"{BARE}/{verb}/<path:rest>", views.BareName.as_view())
        for verb in ("revision", "tree", "paths-info", "commits")
    ],
    path("<part:name>/resolve/<path:rest>", views.BareName.as_view()),
    path("<part:name>/raw/<path:rest>", views.BareName.as_view()),
    path("api/<kind:kind>", views.OtherKind.as_view()),
    path("api/<kind:kind>/<path:rest>", views.OtherKind.as_view()),
    # Pages of data sets lie at shorter addresses.
    path("<kind:kind>/<str:space>/<str:name>/<path:rest>", views.OtherKind.as_view()),
]
