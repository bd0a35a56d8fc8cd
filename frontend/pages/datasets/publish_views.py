"""Publishing a version of a data set: files, and the splits that models are evaluated on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.pages.datasets.publish_forms import SPLITS, PublishForm, SplitForm
from frontend.presenters import forms, multipart
from hub.protocol import problems, splits
from registry.core.permissions import require
from registry.datasets import selectors, services

if TYPE_CHECKING:
    from registry.models import Dataset, DatasetVersion


@multipart.limited
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, slug: str) -> HttpResponse:
    """The form for a version, and its publication."""
    dataset = selectors.dataset(slug)
    require(request.user, "dataset.edit", dataset.namespace)
    services.check_state(dataset)
    form = PublishForm(request.POST or None, request.FILES or None)
    split_forms = [SplitForm(request.POST or None, prefix=f"split{at}") for at in range(SPLITS)]
    if request.method == "POST" and all(part.is_valid() for part in (form, *split_forms)):
        version = _publish(request, dataset, form, split_forms)
        if version is not None:
            address = reverse("dataset-version", args=[dataset.slug, version.number])
            return HttpResponseRedirect(address)
    return forms.page(
        request,
        "datasets/publish.html",
        form,
        {
            "section": "datasets",
            "dataset": dataset,
            "splits": split_forms,
            "form_bytes": multipart.FORM_BYTES,
            "file_bytes": settings.HUB_LIMITS_FILE_BYTES,
        },
    )


def _publish(
    request: HttpRequest, dataset: Dataset, form: PublishForm, split_forms: list[SplitForm]
) -> DatasetVersion | None:
    """The version; None where the forms say why there is none."""
    sent = {file.name or "file": file for file in form.cleaned_data["file"]}
    stated = [split for split in split_forms if split.cleaned_data["name"]]
    documents = [split.document(list(sent)) for split in stated]
    try:
        _, faults = services.parse_files(dict.fromkeys(sent, f"sha256:{'0' * 64}"))
        if faults:
            raise faults[0]
        splits.parse(documents, frozenset(sent))  # before bytes are stored
        files = {path: multipart.keep(request.user, file) for path, file in sent.items()}
        version, _ = services.publish_version(
            request.user,
            dataset=dataset,
            files=files,
            splits=documents,
            message=form.cleaned_data["message"],
        )
    except (problems.NotAllowed, problems.NotAuthenticated):
        raise
    except problems.Problem as problem:
        _explain(form, stated, problem)
        return None
    return version


def _explain(form: PublishForm, stated: list[SplitForm], problem: problems.Problem) -> None:
    """Put each refusal beside the field of the split that its pointer leads to."""
    for error in problem.errors or [{"detail": problem.detail}]:
        _, *parts = error.get("pointer", "").split("/")
        if parts[:1] != ["splits"] or len(parts) == 1:
            form.add_error(None, error["detail"])
            continue
        split = stated[int(parts[1])]
        names = ["paths" if part == "files" else part for part in reversed(parts)]
        field = next((name for name in names if name in split.fields), None)
        split.add_error(field, error["detail"])
    if any(split.errors for split in stated):
        form.add_error(None, "Correct the marked fields, and choose the files again.")
