"""Addresses of the Hub protocol that write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path

from registry.protocols.huggingface import (
    access,
    branches,
    commit,
    lfs,
    preupload,
    repos_write,
    xet,
)

if TYPE_CHECKING:
    from django.urls import URLPattern

REPO = "<part:namespace>/<part:name>"
MODEL = f"api/models/{REPO}"
STORE = "api/xet/<str:place>"


def routes() -> list[URLPattern]:
    """The routes; the forms of their parts are registered by then."""
    return [
        path("api/repos/create", repos_write.CreateRepo.as_view()),
        path("api/repos/delete", repos_write.DeleteRepo.as_view()),
        path("api/repos/move", repos_write.MoveRepo.as_view()),
        path(f"{MODEL}/settings", repos_write.RepoSettings.as_view()),
        path(f"{MODEL}/user-access-request/handle", access.Handle.as_view()),
        path(f"{MODEL}/user-access-request/grant", access.Grant.as_view()),
        path(f"{MODEL}/user-access-request/<str:status>", access.AccessRequests.as_view()),
        path(f"{MODEL}/ask-access", access.Ask.as_view()),
        path(f"{MODEL}/preupload/<path:rest>", preupload.Preupload.as_view()),
        path(f"{MODEL}/commit/<path:rest>", commit.MakeCommit.as_view()),
        path(f"{REPO}/commit/<str:commit_id>", commit.CommitPage.as_view()),
        path(f"{MODEL}/branch/<path:rest>", branches.BranchDetail.as_view()),
        path(f"{MODEL}/tag/<path:rest>", branches.TagDetail.as_view()),
        path(f"{MODEL}/xet-write-token/<path:rest>", xet.WriteToken.as_view()),
        path(f"{REPO}.git/info/lfs/objects/batch", lfs.Batch.as_view()),
        path(f"{REPO}.git/info/lfs/verify", lfs.Verify.as_view()),
        path("api/lfs/objects/<str:token>", lfs.Sent.as_view()),
        path("api/lfs/complete/<str:token>", lfs.Complete.as_view()),
        path("api/lfs/fetch/<str:token>", lfs.Fetch.as_view()),
        path(f"{STORE}/v1/xorbs/<str:prefix>/<str:name>", xet.Xorbs.as_view()),
        path(f"{STORE}/v1/shards", xet.Shards.as_view()),
        path(STORE, xet.Nothing.as_view()),
        path(f"{STORE}/<path:rest>", xet.Nothing.as_view()),
    ]
