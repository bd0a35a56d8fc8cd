"""The addresses of pages. A page of a thing lives at the name of the thing."""

from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from frontend.pages.cards import refused_views
from frontend.pages.catalogue import feeds, find_views
from frontend.pages.catalogue import views as catalogue_views
from frontend.pages.compare import views as compare_views
from frontend.pages.datasets import publish_views
from frontend.pages.datasets import views as dataset_views
from frontend.pages.documentation import console
from frontend.pages.documentation import views as documentation_views
from frontend.pages.drafts import upload_views
from frontend.pages.drafts import views as draft_views
from frontend.pages.graphs import file_views
from frontend.pages.graphs import views as network
from frontend.pages.linked_data import converters  # noqa: F401 - registers `ending`
from frontend.pages.models import (
    deprecation_views,
    origin_views,
    variant_views,
    version_list,
    withdrawal_views,
)
from frontend.pages.models import (
    views as model_views,
)
from frontend.pages.people import (
    access_views,
    account_views,
    deletion_views,
    service_account_views,
    views,
)
from frontend.pages.proofs import conformance_views, evaluation_views, suite_views
from frontend.pages.queue import views as queue_views
from frontend.pages.queue import workers as worker_views
from frontend.pages.site import client_addresses, crawlers
from frontend.pages.site import views as site_views
from frontend.parts import client_wheel
from frontend.parts.caching import page
from frontend.parts.patterns import MODEL, VERSION
from registry.api.guests import for_guests

NAMESPACE = "account/namespaces/<name:slug>"

urlpatterns = [
    path("", page(site_views.home), name="home"),
    path("help", page(site_views.guide), name="help"),
    path("api/docs", page(console.show), name="api-docs"),
    path("docs", page(documentation_views.show), name="documentation"),
    path("docs/<path:name>", page(documentation_views.show), name="document"),
    path("help/keys", RedirectView.as_view(url="/help#keys"), name="help-keys"),
    path("health", site_views.health, name="health"),
    path("theme", for_guests(site_views.theme), name="theme"),
    path("keys", site_views.keys, name="keys"),
    path("problems/<slug:slug>", site_views.problem, name="problem"),
    path("client", client_wheel.show, name="client-newest"),
    path(f"client/{client_wheel.NAME}", client_wheel.show, name="client"),
    path("robots.txt", page(crawlers.robots), name="robots"),
    path("sitemap.xml", page(crawlers.sitemap), name="sitemap"),
    path("sitemap-<str:name>.xml", page(crawlers.sitemap_page), name="sitemap-page"),
    path("models", page(catalogue_views.models), name="models"),
    path("find", page(find_views.find), name="find"),
    path("models.atom", page(feeds.models), name="models-feed"),
    path("models/suggest", page(catalogue_views.suggest), name="suggest"),
    path("compare", page(compare_views.show), name="compare"),
    path("compare.csv", page(compare_views.table), name="compare-csv"),
    path(f"{MODEL}/settings", access_views.settings, name="model-settings"),
    path(f"{MODEL}/refused-cards", refused_views.show, name="refused-cards"),
    path(f"{MODEL}/delete", withdrawal_views.model, name="model-delete"),
    *(
        path(f"{MODEL}/{act}", deprecation_views.model, {"act": act}, name=f"model-{act}")
        for act in deprecation_views.ACTS
    ),
    path(f"{MODEL}/access", page(access_views.show), name="model-access"),
    path(f"{MODEL}/access/ask", access_views.ask, name="access-ask"),
    path(f"{MODEL}/access/withdraw", access_views.withdraw, name="access-withdraw"),
    path(f"{MODEL}/access/decide", access_views.decide, name="access-decide"),
    path(f"{MODEL}/access/grant", access_views.grant, name="access-grant"),
    path(f"{MODEL}/versions.atom", page(feeds.versions), name="versions-feed"),
    path(f"{MODEL}/versions", page(version_list.every), name="model-versions"),
    path(f"{MODEL}/aliases", version_list.move_alias, name="alias-move"),
    path(f"{MODEL}/upload", upload_views.new_version, name="upload-version"),
    path(f"{VERSION}/picture.png", page(model_views.picture), name="version-picture"),
    path(f"{VERSION}/live", model_views.live_mark, name="version-live"),
    path(f"{VERSION}/files", page(model_views.files), name="version-files"),
    path(f"{VERSION}/files/<path:path>", model_views.content, name="version-file"),
    path(f"{VERSION}/view/<path:path>", page(file_views.show), name="version-view"),
    path(f"{VERSION}/carbon", page(origin_views.carbon), name="version-carbon"),
    path(f"{VERSION}/lineage", page(origin_views.lineage), name="version-lineage"),
    path(f"{VERSION}/graph", page(network.show), name="network"),
    path(f"{VERSION}/graph/make", network.make, name="network-make"),
    path(f"{VERSION}/graph/skeleton.onnx", network.skeleton, name="network-skeleton"),
    path(f"{VERSION}/graph/frame/", network.frame, name="network-frame"),
    path(f"{VERSION}/graph/frame/<str:filename>", network.viewer_file, name="network-viewer"),
    path(f"{VERSION}/graph/diff/<number:earlier>", network.difference, name="network-difference"),
    path(f"{VERSION}/checks", page(model_views.checks), name="version-checks"),
    path(f"{VERSION}/evaluate", evaluation_views.request_evaluation, name="version-evaluate"),
    path(f"{VERSION}/conformance", page(conformance_views.matrix), name="version-conformance"),
    path(f"{VERSION}/conformance/again", conformance_views.again, name="conformance-again"),
    path(f"{VERSION}/conformance/<number:pk>", page(conformance_views.result), name="conformance"),
    path(f"{VERSION}/variants", page(variant_views.show), name="version-variants"),
    path(f"{VERSION}/variants/annotate", variant_views.annotate, name="variant-annotate"),
    *(
        path(f"{VERSION}/{act}", withdrawal_views.version, {"act": act}, name=f"version-{act}")
        for act in withdrawal_views.ACTS
    ),
    *(
        path(f"{VERSION}/{act}", deprecation_views.version, {"act": act}, name=f"version-{act}")
        for act in deprecation_views.ACTS
    ),
    path(f"{VERSION}/draft", draft_views.show, name="draft"),
    path(f"{VERSION}/draft/files", draft_views.add, name="draft-add"),
    path(f"{VERSION}/draft/remove", draft_views.remove, name="draft-remove"),
    path(f"{VERSION}/draft/card", draft_views.card, name="draft-card"),
    path(f"{VERSION}/draft/submit", draft_views.submit, name="draft-submit"),
    path(f"{VERSION}/draft/publish", draft_views.publish, name="draft-publish"),
    path(f"{VERSION}/draft/delete", draft_views.delete, name="draft-delete"),
    path("datasets", page(dataset_views.every), name="datasets"),
    path("datasets/new", dataset_views.new, name="dataset-new"),
    path("datasets/<slug:slug>.<ending:ending>", page(dataset_views.graph), name="dataset-graph"),
    path("datasets/<slug:slug>", page(dataset_views.show), name="dataset"),
    path(
        "datasets/<slug:slug>/v<number:number>",
        page(dataset_views.show_version),
        name="dataset-version",
    ),
    path("datasets/<slug:slug>/publish", publish_views.publish, name="dataset-publish"),
    path("datasets/<slug:slug>/edit", dataset_views.edit, name="dataset-edit"),
    path("datasets/<slug:slug>/withdraw", dataset_views.withdraw, name="dataset-withdraw"),
    path("datasets/<slug:slug>/restore", dataset_views.restore, name="dataset-restore"),
    path("upload", upload_views.new_model, name="upload"),
    path("scoreboard", page(suite_views.board), name="scoreboard"),
    path("scoreboard/start", suite_views.start, name="scoreboard-start"),
    path("scoreboard/<str:runtime>/<str:version>", page(suite_views.score), name="score"),
    path("jobs", queue_views.queue, name="jobs"),
    path("jobs/live", queue_views.live_mark, name="jobs-live"),
    path("workers", worker_views.workers, name="workers"),
    path("jobs/<uuid:uuid>/events", queue_views.events, name="job-events"),
    path("jobs/<uuid:uuid>/cancel", queue_views.cancel, name="job-cancel"),
    path("jobs/<uuid:uuid>/lift", queue_views.lift, name="job-lift"),
    path("login", for_guests(account_views.login), name="login"),
    path("logout", account_views.logout, name="logout"),
    path("account", account_views.show, name="account"),
    path("account/password", account_views.password, name="password"),
    path("account/namespaces/new", views.new_namespace, name="namespace-new"),
    path(NAMESPACE, views.namespace, name="namespace"),
    path(f"{NAMESPACE}/quota", views.quota, name="namespace-quota"),
    path(f"{NAMESPACE}/deletions", deletion_views.setting, name="namespace-deletions"),
    path(
        f"{NAMESPACE}/deletions/<str:model_id>",
        deletion_views.deleted_model,
        name="deleted-model",
    ),
    path(f"{NAMESPACE}/members/<str:username>", views.remove_member, name="member-remove"),
    path(f"{NAMESPACE}/service-accounts", service_account_views.index, name="service-accounts"),
    path(
        f"{NAMESPACE}/service-accounts/<str:username>",
        service_account_views.show,
        name="service-account",
    ),
    path(
        f"{NAMESPACE}/service-accounts/<str:username>/close",
        service_account_views.close,
        name="service-account-close",
    ),
    path(
        f"{NAMESPACE}/service-accounts/<str:username>/tokens/<number:token_id>/revoke",
        service_account_views.revoke,
        name="service-token-revoke",
    ),
    path("admin", RedirectView.as_view(pattern_name="administration")),
    path("administration", views.administration, name="administration"),
    path("administration/accounts", views.accounts, name="accounts"),
    path("administration/accounts/<str:username>", views.user, name="user"),
    path(
        "administration/accounts/<str:username>/password",
        views.new_password,
        name="account-password",
    ),
    path("administration/accounts/<str:username>/close", views.close_account, name="account-close"),
    path("account/tokens", account_views.tokens, name="tokens"),
    path("account/tokens/<number:token_id>/revoke", account_views.revoke, name="token-revoke"),
    # As clients of the Hub protocol print them; last, since they are as short as others.
    path("<name:namespace>/<name:name>", client_addresses.model),
    path("<name:namespace>/<name:name>/tree/<path:rest>", client_addresses.tree),
    path("<name:namespace>/<name:name>/blob/<path:rest>", client_addresses.blob),
    path("<name:namespace>/<name:name>/commits/<path:rest>", client_addresses.commits),
]
