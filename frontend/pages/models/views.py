"""The pages of a model and of each of its versions."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.models import lineage
from frontend.parts import link_picture, live, markdown, slices
from frontend.parts.addresses import whole
from frontend.presenters import (
    code_snippets,
    comparison,
    comparison_facts,
    conformance,
    device_matrix,
    job_progress,
    typed_links,
    under_way,
    verdicts,
    version_evidence,
    version_head,
    version_page,
)
from frontend.presenters.version_page import context, of_version, of_whole_version
from hub.protocol import parts, stored
from metadata.exports import signposting
from metadata.graphs import withdrawals
from metadata.rdf.iris import Places
from metadata.validation import reports
from registry.api import downloads
from registry.api.parameters import accepts
from registry.cards import mentions, refused_cards, resolution
from registry.core.permissions import can
from registry.versions import deprecations, file_history, history, selectors
from registry.versions.lifecycle import BRANCH
from runners.graphs import networks, tensors
from runners.proofs import selectors as proof_selectors
from runners.proofs.results import EVIDENCE
from runners.queue import selectors as jobs

if TYPE_CHECKING:
    from registry.models import File, RegisteredModel, Variant, Version

DERIVED_SHOWN = 4
PAGE = 50
FILES = 200
# Group of files -> heading, what they are.
GROUPS = {
    "own": ("Files", ""),
    "derived": (
        "Derived by the hub",
        "Created by jobs from the files above; not part of the manifest.",
    ),
    "graph": ("Graph", "Graphs without weights and node tables, shown in the Graph tab."),
    "tensors": ("Tensors", "Tensor statistics, shown on the page of each file."),
    "evidence": ("Evidence", "Nodes with diverging outputs, extracted with their inputs."),
}


def newest(request: HttpRequest, model: RegisteredModel) -> HttpResponse:
    """The overview of the newest published version, or of the one the form on it asks for."""
    namespace, name = model.namespace.slug, model.name
    number = whole(request.GET.get("v", ""))
    if number is not None:
        version = selectors.whole_version(request.user, namespace, name, number)
        url = version_head.page_of(version, request.GET.get("tab", ""))
        choice = version_head.kept_choice(version, request.GET.get("variant", ""))
        return HttpResponseRedirect(url + choice)
    latest = (
        selectors.latest(request.user, model) or selectors.versions(request.user, model).first()
    )
    if latest is None:
        commit = history.readers_head(model, BRANCH)
        return render(
            request,
            "models/empty.html",
            {
                "section": "models",
                "model": model,
                "commit": commit,
                "files": commit.files.order_by("path")[:PAGE] if commit else (),
                "files_total": commit.files.count() if commit else 0,
                "may_have": selectors.may_have_files(request.user, model),
                "may_draft": can(request.user, "version.draft", model),
                "may_edit": can(request.user, "model.edit", model),
                "refused_cards": refused_cards.count(request.user, model),
                "deprecations": filter(None, [deprecations.of(request.user, model)]),
            },
        )
    return _overview(request, selectors.whole(latest))


@require_safe
def overview(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    return _overview(request, selectors.whole_version(request.user, namespace, name, number))


@require_safe
@of_whole_version
def picture(request: HttpRequest, version: Version) -> HttpResponse:
    """The picture that chats and social networks show beside a link to the version."""
    variant = version_head.chosen_variant(version, request.GET.get("variant", ""))
    may_have = selectors.may_have_files(request.user, version.model)
    evidence = version_evidence.read(version, variant, may_have=may_have)
    content = link_picture.draw(version_evidence.picture(version, variant, evidence))
    return HttpResponse(content, content_type="image/png")


@require_safe
@of_version
def live_mark(request: HttpRequest, version: Version) -> HttpResponseBase:
    """The mark of a version's state, which its pages follow."""
    return live.answer(request, under_way.read(request.user, version)["watch"])


def _overview(request: HttpRequest, version: Version) -> HttpResponse:
    template_context = context(request, version, "overview")
    variant = template_context["variant"]
    evidence = version_evidence.read(version, variant, may_have=template_context["may_have"])
    matrices = proof_selectors.matrices(version, evidence.measured.results)
    matrix = conformance.of_variant(version, variant, matrices)
    checked = verdicts.read(version.checks.all())
    card_check = verdicts.card(version.checks.all(), published=_was_published(version))
    model = version.model
    files_url = version_head.place(version, "version-file", "-")[:-1]
    datasets = resolution.datasets_of(model, mentions.dataset_names(version.typed_card))
    linked = typed_links.of_version(version, template_context["head"]["graph_url"])
    paths = frozenset(file.path for file in version.files.all())
    card = markdown.render(version.readme, files_url, paths)
    response = render(
        request,
        "models/overview.html",
        {
            **template_context,
            "checks": checked,
            "card_check": card_check,
            "needs_attention": verdicts.need_attention(checked, card_check),
            "report": reports.of_version(version),
            "card": "" if markdown.is_blank(card) else card,
            "matrix": matrix,
            "latency": evidence.latency,
            "devices": device_matrix.of(
                version,
                variant,
                evidence.latency["candidates"],
                may_run=version.is_served and can(request.user, "version.derive", model),
            ),
            "accuracy": evidence.accuracy,
            "evidence": evidence.sentence,
            "get": _get(version, variant),
            "withdrawals": withdrawals.sources_of(request.user, version),
            "datasets": sorted(set(datasets.values()), key=lambda entry: entry.slug),
            "refused_cards": refused_cards.count(request.user, model),
            "linked": linked,
            "origin": comparison_facts.origin(
                comparison.Column(
                    version.ref, version, variant, (), template_context["head"]["facts"]
                )
            ),
            "under_way": under_way.read(request.user, version),
            "made_from_it": lineage.variants(version)[:DERIVED_SHOWN],
        },
        status=410 if version.state == "withdrawn" else 200,
    )
    if linked is not None:
        response["Link"] = linked.header
    return response


@accepts("q", "page", "variant")
@require_safe
@of_whole_version
def files(request: HttpRequest, version: Version) -> HttpResponse:
    """The files of a version in their groups; of many, those of a page, or with a text."""
    every = version.files.all()
    totals = Counter(map(_group, every))
    order = list(GROUPS)
    in_order = sorted(every, key=lambda file: order.index(_group(file)))
    page = slices.of(request, in_order, lambda file: file.path, FILES)
    added = file_history.first_versions(request.user, version)
    groups = [
        (
            *GROUPS[group],
            totals[group],
            [(file, None if file.derived else added.get(file.path)) for file in rows],
        )
        for group, rows in groupby(page.rows, _group)
    ]
    return render(
        request,
        "models/files.html",
        {
            **context(request, version, "files"),
            "groups": groups,
            "slice": page,
            "first": page.first,
            "next": page.next,
        },
    )


@require_safe
@of_version
def content(request: HttpRequest, version: Version, path: str) -> HttpResponseBase:
    """The bytes of one file, as an attachment that a browser never opens as a page."""
    if elsewhere := version_page.redirect_to_request(request, version.model):
        return elsewhere
    file = selectors.file(version, path)
    response = downloads.send(request, file.blob, path, immutable=False)
    model = version.model
    protected = model.pk if version.is_draft or model.is_protected else None
    downloads.count(request, response, version.pk, path, protected=protected)
    if version.is_served:
        places = Places(settings.HUB_PUBLIC_URL)
        page = places.version(model.namespace.slug, model.name, version.number)
        response["Link"] = signposting.back(page)
    return response


@require_safe
@of_whole_version
def checks(request: HttpRequest, version: Version) -> HttpResponse:
    return render(
        request,
        "models/checks.html",
        {
            **context(request, version, "checks"),
            "checks": verdicts.read(version.checks.all()),
            "card_check": verdicts.card(version.checks.all(), published=_was_published(version)),
            "report": reports.of_version(version),
            "report_url": f"/api/v1/models/{version.model.ref}/versions/{version.number}"
            "/checks/mldcat-ap",
            "jobs": [
                (job, job_progress.title(job))
                for job in jobs.of_version(request.user, version, kinds=("describe", "check"))
            ],
        },
    )


def _was_published(version: Version) -> bool:
    return version.published_at is not None


def _group(file: File) -> str:
    if not file.derived:
        return "own"
    folder = file.path.split("/", 1)[0]
    return folder if folder in (EVIDENCE, networks.FOLDER, tensors.FOLDER) else "derived"


def _get(version: Version, variant: Variant | None) -> dict[str, Any]:
    files = list(version.files.all())
    entries = [file for file in files if file.path.lower().endswith(".onnx")]
    entry = variant.entry if variant else next(iter(entries), None)
    ref = version.ref
    if variant and version_head.choice_of(version, variant):
        ref = f"{version.ref}:{variant.name}"
    if entry is None or version.state == "withdrawn":
        return {"ref": ref}
    file = next(file for file in files if file.pk == entry.pk)
    model = version.model
    own = version_head.own_model(version, variant) or [file]
    target = code_snippets.Target(
        ref=ref,
        repository=model.ref,
        number=version.number or 0,
        paths=tuple(file.path for file in own),
        inputs=variant.typed_facts.inputs if variant else (),
        hub=settings.HUB_PUBLIC_URL,
        is_open=model.visibility == "public" and not model.is_gated,
        is_derived=file.derived,
        names=frozenset(row.path.rpartition("/")[2] for row in files),
        declared=parts.of(stored.mapping(version.card), variant.uploaded_path).inputs
        if variant
        else (),
    )
    return {
        "ref": ref,
        "path": file.path,
        "url": version_head.place(version, "version-file", file.path),
        "size": file.blob.size,
        "sha256": file.blob_id,
        "others": len(version_head.own_files(version, variant)) - 1,
        "snippets": code_snippets.of(target),
    }
