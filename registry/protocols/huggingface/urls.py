"""Addresses of the Hub protocol. They lie beside the pages', so they come before them."""

from __future__ import annotations

from django.urls import path

from registry.protocols.huggingface import (
    access,
    account,
    branches,
    commit,
    converters,  # noqa: F401 - registers forms
    history,
    lfs,
    preupload,
    repos,
    repos_write,
    resolve,
    trees,
    views,
)

REPO = "<part:namespace>/<part:name>"
MODEL = f"api/models/{REPO}"
BARE = "api/models/<part:name>"

NO_LFS_LIST = (
    "This hub keeps no list of Git LFS files apart from commits: list_repo_tree shows which files "
    "of a commit are such files. What no version needs is freed by itself."
)
NO_DUPLICATES = (
    "This hub does not duplicate repositories. Copy one with `hub import hf`, or download and "
    "upload its files."
)
NO_HEADERS = "This hub does not read safetensors headers. Read them with ranges from the files."
NO_PROFILES = (
    "This hub has no public profiles, followers or member lists. whoami shows your own user and "
    "organisations; list_models(author=…) shows the models of a user or an organisation."
)
NO_JOBS = "This hub runs no jobs of yours. It checks, proves and benchmarks each model by itself."
NO_TAGS = "This hub has no list of all tags. Filter list_models by tags, or see the page of models."
# What clients ask of a model and this hub does not have -> what it says.
OF_MODELS = {
    "lfs-files": NO_LFS_LIST,
    "lfs-files/<path:rest>": NO_LFS_LIST,
    "duplicate": NO_DUPLICATES,
    "safetensors-metadata/<path:rest>": NO_HEADERS,
}

urlpatterns = [
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
    path(f"{MODEL}/super-squash/<path:rest>", branches.Squash.as_view()),
    path(f"{MODEL}/tag/<path:rest>", branches.TagDetail.as_view()),
    path(f"{REPO}.git/info/lfs/objects/batch", lfs.Batch.as_view()),
    path("api/lfs/objects/<str:token>", lfs.ObjectUpload.as_view()),
    path("api/lfs/complete/<str:token>", lfs.Complete.as_view()),
    path("api/lfs/verify/<str:token>", lfs.Verify.as_view()),
    path("api/lfs/fetch/<str:token>", lfs.Fetch.as_view()),
    path("api/whoami-v2", account.Whoami.as_view()),
    path("api/validate-yaml", preupload.ValidateYaml.as_view()),
    path("api/models", repos.ModelList.as_view()),
    path(f"{MODEL}", repos.ModelInfo.as_view()),
    path(f"{MODEL}/revision/<path:rest>", repos.ModelInfo.as_view()),
    path(f"{MODEL}/auth-check", repos.AuthCheck.as_view()),
    path(f"{MODEL}/auth-check/<str:action>", repos.AuthCheck.as_view()),
    path(f"{MODEL}/tree/<path:rest>", trees.Tree.as_view()),
    path(f"{MODEL}/paths-info/<path:rest>", trees.PathsInfo.as_view()),
    path(f"{MODEL}/commits/<path:rest>", history.Commits.as_view()),
    path(f"{MODEL}/refs", history.Refs.as_view()),
    *[
        path(f"{MODEL}/{place}", views.Unsupported.as_view(words=words))
        for place, words in OF_MODELS.items()
    ],
    path("api/models-tags-by-type", views.Unsupported.as_view(words=NO_TAGS)),
    path("api/jobs/<path:rest>", views.Unsupported.as_view(words=NO_JOBS)),
    path("api/users/<str:username>/<path:rest>", views.Unsupported.as_view(words=NO_PROFILES)),
    path("api/organizations/<str:slug>/<path:rest>", views.Unsupported.as_view(words=NO_PROFILES)),
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
