"""Collections: their list, the page of one with its models, and the forms that change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.community.collections.forms import CollectionForm, NewCollectionForm
from frontend.pages.linked_data import graph_views
from frontend.parts import addresses
from frontend.presenters import forms, runtime_columns, speed_column
from hub.protocol import problems, refs
from metadata.community import graphs
from metadata.store import negotiation
from registry.api.parameters import accepts
from registry.catalogue import facets, speeds
from registry.catalogue import selectors as catalogue
from registry.catalogue.query import Query
from registry.community.collections import selectors, services
from registry.core.permissions import Actor, can, require
from registry.models import Collection, RegisteredModel
from registry.models.collections import LONGEST_NOTE, MOST_ENTRIES
from registry.people import selectors as people
from registry.versions import moves
from registry.versions import selectors as models

PAGE = 50


@accepts("namespace", "model", "before")
@require_safe
def every(request: HttpRequest) -> HttpResponse:
    """The collections that the reader sees, newest first: all, of a namespace, with a model."""
    space, named = request.GET.get("namespace", "")[:96], request.GET.get("model", "")[:200]
    before = addresses.whole(request.GET.get("before", ""))
    rows = selectors.collections(
        request.user,
        namespace=space,
        model=_model(request.user, named) if named else None,
    )
    if before is not None:
        rows = rows.filter(pk__lt=before)
    page = list(rows[: PAGE + 1])
    items, filters = page[:PAGE], {"namespace": space, "model": named}
    following = {**filters, "before": items[-1].pk} if len(page) > PAGE else {}
    return render(
        request,
        "collections/list.html",
        {
            "section": "collections",
            "collections": items,
            "namespace": space,
            "model": named,
            "first": addresses.join(request.path, filters) if before else "",
            "next": addresses.join(request.path, following) if following else "",
        },
    )


@require_safe
def show(request: HttpRequest, namespace: str, slug: str) -> HttpResponseBase:
    """A collection at its IRI: its page, or its graph."""
    collection = selectors.collection(request.user, namespace, slug)
    if collection.ref != f"{namespace}/{slug}":
        return HttpResponseRedirect(_address(collection))
    return graph_views.negotiated(
        request,
        page=lambda: _page(request, collection),
        nquads=lambda: graphs.of_collection(collection),
        address=request.path,
    )


@require_safe
def graph(request: HttpRequest, namespace: str, slug: str, ending: str) -> HttpResponse:
    """The graph of a collection that the reader sees."""
    collection = selectors.collection(request.user, namespace, slug)
    return graph_views.answer(graphs.of_collection(collection), ending, _address(collection))


def _page(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The models as the list of models shows them, in the order of the collection."""
    entries = selectors.entries(request.user, collection)
    keys = [entry.model_id for entry in entries]
    documents = catalogue.documents(request.user).filter(pk__in=keys)
    by_key = {row.pk: row for row in documents.select_related("model")}
    rows = [by_key[key] for key in keys if key in by_key]
    runtimes = [value for value, _ in facets.count(request.user, Query())["passes_on"]]
    return render(
        request,
        "collections/collection.html",
        {
            "section": "collections",
            "collection": collection,
            "count": len(entries),
            "rows": rows,
            "notes": {entry.model_id: entry.note for entry in entries},
            # A model that was made just now is not in the lists yet.
            "unlisted": [entry for entry in entries if entry.model_id not in by_key],
            "column": speed_column.of(Query(), speeds.offers(request.user), rows),
            "passing": runtime_columns.of(runtimes, rows),
            "may_edit": can(request.user, "collection.edit", collection.namespace),
            "formats": list(negotiation.FORMATS.values()),
        },
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form for a new collection; a model that the address names becomes its first."""
    mine = people.publishing_namespaces(request.user)
    named = request.GET.get("model", "")[:200]
    form = NewCollectionForm(request.POST or None, namespaces=mine)
    if request.method == "POST" and form.is_valid():
        fields = dict(form.cleaned_data)
        namespace = people.namespace(fields.pop("namespace"))
        with forms.explained(form):
            model = _model(request.user, named) if named else None
            collection = services.create(request.user, namespace=namespace, **fields)
            if model is not None:
                services.add(request.user, collection=collection, model=model)
            return HttpResponseRedirect(_address(collection))
    return _form(request, form, {"namespaces": mine, "model": named})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, namespace: str, slug: str) -> HttpResponse:
    """The form for what a collection says of itself, and those for each of its models."""
    collection = selectors.collection(request.user, namespace, slug)
    require(request.user, "collection.edit", collection.namespace)
    initial = {field: getattr(collection, field) for field in services.EDITABLE}
    form = CollectionForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            services.edit(request.user, collection=collection, **form.cleaned_data)
            return HttpResponseRedirect(_address(collection))
    more = {
        "collection": collection,
        "entries": selectors.entries(request.user, collection),
        "unavailable": selectors.unavailable(request.user, collection),
        "longest_note": LONGEST_NOTE,
        "most": MOST_ENTRIES,
        "may_delete": can(request.user, "collection.delete", collection.namespace),
    }
    return _form(request, form, more)


@login_required
@require_POST
def act(request: HttpRequest, namespace: str, slug: str) -> HttpResponse:
    """Change one entry of a collection, and come back to its form."""
    collection = selectors.collection(request.user, namespace, slug)
    action = request.POST.get("action", "")
    if action not in _ACTIONS:
        raise problems.InvalidRequest.at("/action", f"Valid actions: {', '.join(_ACTIONS)}.")
    kinds = problems.InvalidRequest, problems.NotFound, problems.StateConflict
    with forms.as_message(request, *kinds):
        model = _model(request.user, request.POST.get("model", ""))
        _ACTIONS[action](request.user, collection, model, request.POST.get("note", ""))
    return HttpResponseRedirect(reverse("collection-edit", args=[namespace, slug]) + "#models")


@login_required
@require_POST
def remove_unavailable(request: HttpRequest, namespace: str, slug: str) -> HttpResponse:
    """Remove the entries that the reader does not see."""
    collection = selectors.collection(request.user, namespace, slug)
    services.remove_unavailable(request.user, collection=collection)
    return HttpResponseRedirect(reverse("collection-edit", args=[namespace, slug]) + "#models")


@login_required
@require_POST
def delete(request: HttpRequest, namespace: str, slug: str) -> HttpResponse:
    """Delete a collection; its models stay."""
    collection = selectors.collection(request.user, namespace, slug)
    services.delete(request.user, collection=collection)
    messages.success(request, f"The collection {collection.ref} is deleted.")
    return HttpResponseRedirect(reverse("collections"))


@login_required
@require_POST
def collect(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Add a model to one of the reader's collections, from the page of the model."""
    model = models.model(request.user, namespace, name)
    space, _, slug = request.POST.get("collection", "").partition("/")
    collection = selectors.collection(request.user, space, slug)
    with forms.as_message(request, problems.StateConflict):
        services.add(request.user, collection=collection, model=model)
        messages.success(request, f"{model.ref} is now in {collection.title}.")
    return HttpResponseRedirect(reverse("model", args=[namespace, name]))


def _move(actor: Actor, collection: Collection, model: RegisteredModel, by: int) -> None:
    """Exchange a model with the one before or after it; at an end nothing changes."""
    order = [entry.model for entry in selectors.entries(actor, collection)]
    place = next((place for place, member in enumerate(order) if member.pk == model.pk), None)
    if place is None or not 0 <= place + by < len(order):
        return
    order[place], order[place + by] = order[place + by], order[place]
    services.reorder(actor, collection=collection, first=order)


_ACTIONS: dict[str, Callable[[Actor, Collection, RegisteredModel, str], object]] = {
    "add": lambda actor, collection, model, note: services.add(
        actor, collection=collection, model=model, note=note
    ),
    "note": lambda actor, collection, model, note: services.annotate(
        actor, collection=collection, model=model, note=note
    ),
    "remove": lambda actor, collection, model, _: services.remove(
        actor, collection=collection, model=model
    ),
    "first": lambda actor, collection, model, _: services.reorder(
        actor, collection=collection, first=[model]
    ),
    "up": lambda actor, collection, model, _: _move(actor, collection, model, -1),
    "down": lambda actor, collection, model, _: _move(actor, collection, model, 1),
}


def _model(actor: Actor, ref: str) -> RegisteredModel:
    """A model by `namespace/name`, also by a former one; raises InvalidRequest, NotFound."""
    try:
        named = refs.parse(ref.strip())
    except problems.InvalidReference as error:
        raise problems.InvalidRequest.at("/model", error.detail) from error
    try:
        return models.model(actor, named.namespace, named.model)
    except moves.Moved as moved:
        return models.model(actor, *moved.new.split("/"))


def _address(collection: Collection) -> str:
    return reverse("collection", args=[collection.namespace.slug, collection.slug])


def _form(request: HttpRequest, form: CollectionForm, more: dict[str, Any]) -> HttpResponse:
    return forms.page(request, "collections/form.html", form, {"section": "collections", **more})
