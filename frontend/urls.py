"""The addresses of pages. A page of a thing lives at the name of the thing."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import RedirectView

from frontend import receiving
from frontend.caching import page
from frontend.query_page import DOWNLOADS
from frontend.views import (
    access,
    account,
    addresses,
    benchmarks,
    carbon,
    compare,
    conformance,
    datasets,
    documentation,
    drafts,
    endings,
    graphs,
    home,
    jobs,
    lineage,
    lists,
    network,
    people,
    provenance,
    query,
    refused_cards,
    scoreboard,
    things,
    trainings,
    tryouts,
    uploads,
    variants,
    versions,
    viewing,
)
from metadata.entities import KINDS
from metadata.negotiation import FORMATS
from registry.api import converters  # noqa: F401 - registers `number`


class Name(StringConverter):
    """A namespace or model name, as hub.protocol.refs has it."""

    regex = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"


class Ending(StringConverter):
    """The ending of an address that asks for RDF, as metadata.negotiation has them."""

    regex = "|".join(FORMATS)


class Place(StringConverter):
    """The kinds of things that graphs name, as metadata.entities has them."""

    regex = "|".join(KINDS)


class DownloadEnding(StringConverter):
    """The ending of a result that is taken away, as frontend.query_page has them."""

    regex = "|".join(DOWNLOADS)


register_converter(DownloadEnding, "download")
register_converter(Place, "place")
register_converter(Name, "name")
register_converter(Ending, "ending")

MODEL = "models/<name:namespace>/<name:name>"
VERSION = f"{MODEL}/v/<number:number>"
NAMESPACE = "account/namespaces/<name:slug>"

urlpatterns = [
    path("", page(home.home), name="home"),
    path("help", page(home.guide), name="help"),
    path("docs", page(documentation.show), name="documentation"),
    path("docs/<path:name>", page(documentation.show), name="document"),
    path("help/keys", RedirectView.as_view(url="/help#keys"), name="help-keys"),
    path("health", home.health, name="health"),
    path("theme", home.theme, name="theme"),
    path("keys", home.keys, name="keys"),
    path("problems/<slug:slug>", home.problem, name="problem"),
    path("models", page(lists.models), name="models"),
    path("models/suggest", page(lists.suggest), name="suggest"),
    path("compare", page(compare.show), name="compare"),
    path("compare.csv", page(compare.table), name="compare-csv"),
    path(f"{MODEL}.<ending:ending>", page(graphs.model), name="model-graph"),
    path(MODEL, page(graphs.model_page), name="model"),
    path(f"{MODEL}/linkset", page(graphs.model_links), name="model-links"),
    path(f"{MODEL}/settings", access.settings, name="model-settings"),
    path(f"{MODEL}/refused-cards", refused_cards.show, name="refused-cards"),
    path(f"{MODEL}/delete", endings.model, name="model-delete"),
    path(f"{MODEL}/access", page(access.show), name="model-access"),
    path(f"{MODEL}/access/ask", access.ask, name="access-ask"),
    path(f"{MODEL}/access/withdraw", access.withdraw, name="access-withdraw"),
    path(f"{MODEL}/access/decide", access.decide, name="access-decide"),
    path(f"{MODEL}/access/grant", access.grant, name="access-grant"),
    path(f"{MODEL}/trainings", page(trainings.of_model), name="model-trainings"),
    path(f"{MODEL}/trainings/new", trainings.new, name="training-new"),
    path(f"{MODEL}/fleets/<str:fleet>", page(trainings.fleet), name="fleet"),
    path(f"{MODEL}/trainings/<number:number>", page(trainings.show), name="training"),
    path(f"{MODEL}/trainings/<number:number>/act", trainings.act, name="training-act"),
    path(f"{MODEL}/trainings/<number:number>/invite", trainings.invite, name="training-invite"),
    path(
        f"{MODEL}/trainings/<number:number>/rounds/<number:round_number>",
        page(trainings.round_),
        name="training-round",
    ),
    path(f"{MODEL}/versions", page(versions.every), name="model-versions"),
    path(f"{MODEL}/upload", uploads.new_version, name="upload-version"),
    path(f"{VERSION}.<ending:ending>", page(graphs.version), name="version-graph"),
    path(VERSION, page(graphs.version_page), name="version"),
    path(f"{VERSION}/linkset", page(graphs.version_links), name="version-links"),
    path(f"{VERSION}/export/<str:filename>", page(graphs.export), name="version-export"),
    path(f"{VERSION}/files", page(versions.files), name="version-files"),
    path(f"{VERSION}/files/<path:path>", versions.content, name="version-file"),
    path(f"{VERSION}/view/<path:path>", page(viewing.show), name="version-view"),
    path(f"{VERSION}/provenance", page(provenance.show), name="version-provenance"),
    path(f"{VERSION}/carbon", page(carbon.show), name="version-carbon"),
    path(f"{VERSION}/lineage", page(lineage.show), name="version-lineage"),
    path(f"{VERSION}/benchmarks", page(benchmarks.tab), name="version-benchmarks"),
    path(f"{VERSION}/benchmarks/again", benchmarks.again, name="benchmarks-again"),
    path(f"{VERSION}/benchmarks/<number:pk>", page(benchmarks.one), name="benchmark"),
    path(f"{VERSION}/try", page(tryouts.show), name="version-try"),
    path(f"{VERSION}/try/ask", receiving.limited(tryouts.ask), name="version-try-ask"),
    path(f"{VERSION}/try/code", tryouts.code, name="version-try-code"),
    path(f"{VERSION}/try/contribute", tryouts.contribute, name="version-try-contribute"),
    path(f"{VERSION}/try/<uuid:uuid>", tryouts.state, name="version-run"),
    path(f"{VERSION}/try/<uuid:uuid>/<str:filename>", tryouts.output, name="version-run-output"),
    path("runtime/<str:version>/<str:filename>", tryouts.runtime_file, name="browser-runtime"),
    path(f"{VERSION}/graph", page(network.show), name="network"),
    path(f"{VERSION}/graph/make", network.make, name="network-make"),
    path(f"{VERSION}/graph/skeleton.onnx", network.skeleton, name="network-skeleton"),
    path(f"{VERSION}/graph/frame/", network.frame, name="network-frame"),
    path(f"{VERSION}/graph/frame/<str:filename>", network.viewer_file, name="network-viewer"),
    path(f"{VERSION}/graph/diff/<number:earlier>", network.difference, name="network-difference"),
    path(f"{VERSION}/checks", page(versions.checks), name="version-checks"),
    path(f"{VERSION}/conformance", page(conformance.matrix), name="version-conformance"),
    path(f"{VERSION}/conformance/again", conformance.again, name="conformance-again"),
    path(f"{VERSION}/conformance/<number:pk>", page(conformance.result), name="conformance"),
    path(f"{VERSION}/variants", page(variants.show), name="version-variants"),
    path(f"{VERSION}/variants/annotate", variants.annotate, name="variant-annotate"),
    *(
        path(f"{VERSION}/{act}", endings.version, {"act": act}, name=f"version-{act}")
        for act in endings.ACTS
    ),
    path(f"{VERSION}/draft", drafts.show, name="draft"),
    path(f"{VERSION}/draft/files", drafts.add, name="draft-add"),
    path(f"{VERSION}/draft/remove", drafts.remove, name="draft-remove"),
    path(f"{VERSION}/draft/card", drafts.card, name="draft-card"),
    path(f"{VERSION}/draft/submit", drafts.submit, name="draft-submit"),
    path(f"{VERSION}/draft/publish", drafts.publish, name="draft-publish"),
    path(f"{VERSION}/draft/delete", drafts.delete, name="draft-delete"),
    path("benchmarks", page(benchmarks.across), name="benchmarks"),
    path("devices/<slug:name>", page(benchmarks.device), name="device"),
    path("runtimes/<slug:name>", page(benchmarks.runtime), name="runtime"),
    path("ns", page(things.terms), name="ns"),
    path("ns.<ending:ending>", page(things.terms_graph), name="ns-graph"),
    path("ns/shapes.ttl", page(things.shapes), name="ns-shapes"),
    path("ns/context.jsonld", page(things.context), name="ns-context"),
    path("catalog", page(things.catalog), name="catalog"),
    path("catalog.<ending:ending>", page(things.catalog_graph), name="catalog-graph"),
    path("catalog.nq.gz", things.dumped, name="catalog-dump"),
    path(".well-known/void", page(things.void), name="void"),
    path("<place:place>/<path:name>.<ending:ending>", page(things.thing_graph), name="thing-graph"),
    path("<place:place>/<path:name>", page(things.thing), name="thing"),
    path("trainings", page(trainings.every), name="trainings"),
    path("datasets", page(datasets.every), name="datasets"),
    path("datasets/new", datasets.new, name="dataset-new"),
    path("datasets/<slug:slug>.<ending:ending>", page(datasets.graph), name="dataset-graph"),
    path("datasets/<slug:slug>", page(datasets.show), name="dataset"),
    path("datasets/<slug:slug>/edit", datasets.edit, name="dataset-edit"),
    path("datasets/<slug:slug>/withdraw", datasets.withdraw, name="dataset-withdraw"),
    path("datasets/<slug:slug>/restore", datasets.restore, name="dataset-restore"),
    path("upload", uploads.new_model, name="upload"),
    path("query", page(query.ask), name="query"),
    path("query/result.<download:ending>", query.result, name="query-result"),
    path("scoreboard", page(scoreboard.board), name="scoreboard"),
    path("scoreboard/start", scoreboard.start, name="scoreboard-start"),
    path("scoreboard/<str:runtime>/<str:version>", page(scoreboard.score), name="score"),
    path("jobs", jobs.queue, name="jobs"),
    path("jobs/<uuid:uuid>", page(jobs.job), name="job"),
    path("jobs/<uuid:uuid>/events", jobs.events, name="job-events"),
    path("jobs/<uuid:uuid>/cancel", jobs.cancel, name="job-cancel"),
    path("jobs/<uuid:uuid>/lift", jobs.lift, name="job-lift"),
    path("login", account.login, name="login"),
    path("logout", account.logout, name="logout"),
    path("account", account.show, name="account"),
    path("account/password", account.password, name="password"),
    path("account/namespaces/new", people.new_namespace, name="namespace-new"),
    path(NAMESPACE, people.namespace, name="namespace"),
    path(f"{NAMESPACE}/quota", people.quota, name="namespace-quota"),
    path(f"{NAMESPACE}/members/<str:username>", people.remove_member, name="member-remove"),
    path("admin", people.admin, name="admin"),
    path("admin/accounts", people.accounts, name="accounts"),
    path("admin/accounts/<str:username>/password", people.new_password, name="account-password"),
    path("admin/accounts/<str:username>/close", people.close_account, name="account-close"),
    path("account/tokens", account.tokens, name="tokens"),
    path("account/tokens/<number:token_id>/revoke", account.revoke, name="token-revoke"),
    # As clients of the Hub protocol print them; last, since they are as short as others.
    path("<name:namespace>/<name:name>", addresses.model),
    path("<name:namespace>/<name:name>/tree/<path:rest>", addresses.tree),
    path("<name:namespace>/<name:name>/blob/<path:rest>", addresses.blob),
    path("<name:namespace>/<name:name>/commits/<path:rest>", addresses.commits),
]
