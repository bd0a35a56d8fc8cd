"""What the pages of a version share: the context of their head, and who may have its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse

from frontend.presenters import version_head
from hub.protocol import problems
from hub.protocol.benchmark_metrics import CARBON
from registry.core.permissions import Actor, can
from registry.models import RegisteredModel, Variant, Version
from registry.versions import deprecations, selectors
from runners.benchmarks import timelines

View = Callable[..., HttpResponseBase]

VERSIONS_SHOWN = 100


def _resolving(select: Callable[[Actor, str, str, int], Version]) -> Callable[[View], View]:
    """A decorator that hands a view the version of its address in place of the parts of it."""

    def decorate(view: View) -> View:
        @wraps(view)
        def call(
            request: HttpRequest, namespace: str, name: str, number: int, **more: Any
        ) -> HttpResponseBase:
            return view(request, select(request.user, namespace, name, number), **more)

        return call

    return decorate


of_version = _resolving(selectors.version)
# With its files, variants and checks.
of_whole_version = _resolving(selectors.whole_version)


def context(
    request: HttpRequest, version: Version, tab: str, variant: Variant | None = None
) -> dict[str, Any]:
    """What the head of every page of a version needs; its variant is the one of the address."""
    model = version.model
    versions = selectors.newest_named(request.user, model, VERSIONS_SHOWN)
    count = len(versions)
    if count == VERSIONS_SHOWN:
        count = selectors.named_versions(request.user, model).count()
    newest = selectors.latest_of(versions) or selectors.latest(request.user, model)
    variant = variant or version_head.chosen_variant(version, request.GET.get("variant", ""))
    head = version_head.head(
        version,
        tab,
        # What is shown can be told in the list, however old it is.
        versions if version in versions else [*versions, version],
        selectors.all_refs(request.user, model),
        newest.number if newest else None,
        variant,
        {tab.name: tab.count(request.user, version) for tab in version_head.tabs if tab.count}
        | {"versions": count},
    ) | {"deprecations": deprecations.of_version(request.user, version)}
    emitting = timelines.with_energy(variant)
    if emitting is not None and variant is not None:
        # Its version is here, so that no address asks for it anew.
        emitting.variant, variant.version = variant, version
    return {
        "section": "models",
        "head": head,
        "emitting": emitting,
        "emissions": emitting.figure(CARBON) if emitting else None,
        "version": version,
        "model": model,
        "variant": variant,
        "may_edit": can(request.user, "model.edit", model),
        "may_have": selectors.may_have_files(request.user, model),
    }


def redirect_to_request(request: HttpRequest, model: RegisteredModel) -> HttpResponse | None:
    """The redirect to the page that requests access; None for readers who may have the files.

    Raises AccessNeeded for programs.
    """
    try:
        selectors.require_files(request.user, model)
    except problems.AccessNeeded:
        if "text/html" not in request.headers.get("Accept", ""):
            raise
        place = [model.namespace.slug, model.name]
        return HttpResponseRedirect(reverse("model-access", args=place))
    return None
