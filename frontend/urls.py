"""The addresses of pages. A page of a thing lives at the name of the thing."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from frontend.caching import page
from frontend.views import (
    account,
    conformance,
    drafts,
    graphs,
    home,
    jobs,
    lists,
    scoreboard,
    uploads,
    variants,
    versions,
)
from metadata.negotiation import FORMATS
from registry.api import converters  # noqa: F401 - registers `number`


class Name(StringConverter):
    """A namespace or model name, as hub.protocol.refs has it."""

    regex = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"


class Ending(StringConverter):
    """The ending of an address that asks for RDF, as metadata.negotiation has them."""

    regex = "|".join(FORMATS)


register_converter(Name, "name")
register_converter(Ending, "ending")

MODEL = "models/<name:namespace>/<name:name>"
VERSION = f"{MODEL}/v/<number:number>"

urlpatterns = [
    path("", page(home.home), name="home"),
    path("help", page(home.guide), name="help"),
    path("health", home.health, name="health"),
    path("theme", home.theme, name="theme"),
    path("keys", home.keys, name="keys"),
    path("problems/<slug:slug>", home.problem, name="problem"),
    path("models", page(lists.models), name="models"),
    path(f"{MODEL}.<ending:ending>", page(graphs.model), name="model-graph"),
    path(MODEL, page(versions.newest), name="model"),
    path(f"{MODEL}/versions", page(versions.every), name="model-versions"),
    path(f"{MODEL}/upload", uploads.new_version, name="upload-version"),
    path(f"{VERSION}.<ending:ending>", page(graphs.version), name="version-graph"),
    path(VERSION, page(versions.overview), name="version"),
    path(f"{VERSION}/files", page(versions.files), name="version-files"),
    path(f"{VERSION}/files/<path:path>", versions.content, name="version-file"),
    path(f"{VERSION}/checks", page(versions.checks), name="version-checks"),
    path(f"{VERSION}/conformance", page(conformance.matrix), name="version-conformance"),
    path(f"{VERSION}/conformance/again", conformance.again, name="conformance-again"),
    path(f"{VERSION}/conformance/<number:pk>", page(conformance.result), name="conformance"),
    path(f"{VERSION}/variants", page(variants.show), name="version-variants"),
    path(f"{VERSION}/draft", drafts.show, name="draft"),
    path(f"{VERSION}/draft/files", drafts.add, name="draft-add"),
    path(f"{VERSION}/draft/remove", drafts.remove, name="draft-remove"),
    path(f"{VERSION}/draft/card", drafts.card, name="draft-card"),
    path(f"{VERSION}/draft/submit", drafts.submit, name="draft-submit"),
    path(f"{VERSION}/draft/publish", drafts.publish, name="draft-publish"),
    path(f"{VERSION}/draft/delete", drafts.delete, name="draft-delete"),
    path("upload", uploads.new_model, name="upload"),
    path("scoreboard", page(scoreboard.board), name="scoreboard"),
    path("scoreboard/start", scoreboard.start, name="scoreboard-start"),
    path("scoreboard/<str:runtime>/<str:version>", page(scoreboard.score), name="score"),
    path("jobs", jobs.queue, name="jobs"),
    path("jobs/<uuid:uuid>", page(jobs.job), name="job"),
    path("jobs/<uuid:uuid>/cancel", jobs.cancel, name="job-cancel"),
    path("jobs/<uuid:uuid>/lift", jobs.lift, name="job-lift"),
    path("login", account.login, name="login"),
    path("logout", account.logout, name="logout"),
    path("account", account.show, name="account"),
    path("account/password", account.password, name="password"),
    path("account/tokens", account.tokens, name="tokens"),
    path("account/tokens/<number:token_id>/revoke", account.revoke, name="token-revoke"),
]
