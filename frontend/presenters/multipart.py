"""Files of a plain multipart form, into a draft: the way without scripts.

One refused file leaves the others alone. The request is measured before any of it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from frontend.parts import formatting
from hub.protocol import problems
from registry.core.permissions import Actor
from registry.models import Version
from registry.storage.services import uploads
from registry.versions.services import files

FORM_BYTES = 200 * 10**6
GUEST_FORM_BYTES = 10 * 10**6


def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Refuse a form over the limit, of users or guests, before the CSRF check reads all of it."""
    protected: Callable[..., HttpResponseBase] = csrf_protect(view)

    @wraps(view)
    def measured(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or "0"
        most = FORM_BYTES if request.user.is_authenticated else GUEST_FORM_BYTES
        if not length.isdigit() or int(length) > most:
            size = formatting.size(int(length) if length.isdigit() else 0)
            where = "JavaScript" if request.user.is_authenticated else "an account"
            raise problems.TooLarge(
                f"This form has {size}. The limit without {where} is {formatting.size(most)}."
            )
        return protected(request, *args, **kwargs)

    return csrf_exempt(measured)


def take(actor: Actor, version: Version, sent: Iterable[UploadedFile[bytes]]) -> list[str]:
    """Put each file into the draft; returns what was refused, in words."""
    refused = []
    for file in sent:
        name = file.name or "file"
        try:
            files.put(actor, version=version, path=name, digest=keep(actor, file))
        except problems.Problem as problem:
            refused.append(f"{name} was rejected: {problem.detail}")
    return refused


def keep(actor: Actor, file: UploadedFile[bytes]) -> str:
    """Store one file as an upload of the actor's own; returns its digest."""
    upload = uploads.create(actor, length=file.size or 0, filename=file.name or "file")
    if upload.length:
        upload = uploads.append(actor, upload=upload, offset=0, stream=file)
    return f"sha256:{upload.blob_id}"
