"""The bytes of files: named by git's ids, or by SHA-256 where git would hold an LFS pointer."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.request import Request

from hub.protocol import problems
from registry.api import downloads
from registry.models import Blob, CommitFile, File, Variant, Version
from registry.protocols.huggingface import errors, eval_results, published, revisions
from registry.protocols.huggingface.revisions import Revision
from registry.protocols.huggingface.views import HubView
from registry.versions import git_names, selectors

# Where transformers.js looks, and which variant of ours it means.
LAYOUT = re.compile(r"onnx/model(_fp16|_int8|_quantized)?\.onnx")
VARIANTS = {"_fp16": "fp16", "_int8": "int8", "_quantized": "int8"}
ENTRY = "model.onnx"


@dataclass(frozen=True, slots=True)
class Content:
    """A file at a commit: its bytes, the names for them, and how long they may be kept.

    ``data`` are the bytes of a file that no commit has, where ``blob`` only has their digest;
    ``protected`` is the key of a model that only some may have.
    """

    version_id: int
    commit_id: str
    path: str
    blob: Blob
    git_oid: str
    is_lfs: bool
    is_immutable: bool
    warning: str = ""
    data: bytes | None = None
    protected: int | None = None


class Resolve(HubView):
    """One file of a commit, as people use it."""

    def get(self, request: Request, namespace: str, name: str, rest: str) -> HttpResponseBase:
        """The bytes, or a range of them; `HEAD` opens nothing."""
        content = _find(request, namespace, name, rest)
        plain = request._request  # noqa: SLF001 - DRF's own
        answer = _send(plain, content)
        downloads.count(
            plain, answer, content.version_id, content.path, protected=content.protected
        )
        return answer


class Raw(HubView):
    """One file of a commit, as git holds it."""

    def get(self, request: Request, namespace: str, name: str, rest: str) -> HttpResponseBase:
        """The bytes, or the pointer to them where they are a git-LFS object."""
        content = _find(request, namespace, name, rest)
        plain = request._request  # noqa: SLF001 - DRF's own
        if not content.is_lfs:
            answer = _send(plain, content)
            downloads.count(
                plain, answer, content.version_id, content.path, protected=content.protected
            )
            return answer
        pointer = git_names.pointer(content.blob.sha256, content.blob.size)
        part = downloads.answer(
            downloads.DownloadRequest.of(plain),
            Blob(sha256=hashlib.sha256(pointer).hexdigest(), size=len(pointer)),
            content.path,
            immutable=content.is_immutable,
            tag=content.git_oid,
        )
        answer = HttpResponse(status=part.status, headers=part.headers)
        if part.status != HTTPStatus.NOT_MODIFIED:
            answer["Content-Type"] = "text/plain; charset=utf-8"
            answer.content = pointer[part.start : part.start + part.length]
        answer["X-Repo-Commit"] = content.commit_id
        return answer


def _find(request: Request, namespace: str, name: str, rest: str) -> Content:
    """What an address means to the caller; raises Refused and Withdrawn."""
    at = published.place(request.user, namespace, name, rest)
    if at is not None and (row := published.file(at)):
        return Content(
            version_id=at.version_id,
            commit_id=at.commit_id,
            path=at.path,
            blob=Blob(sha256=row.sha256, size=row.size),
            git_oid=row.git_oid,
            is_lfs=row.is_lfs,
            is_immutable=at.is_fixed,
            protected=at.protected,
        )
    if at is not None and at.path != eval_results.PATH and not LAYOUT.fullmatch(at.path):
        raise errors.no_entry(at.ref, at.path, at.commit_id)
    return _find_out(request, namespace, name, rest)


def _find_out(request: Request, namespace: str, name: str, rest: str) -> Content:
    model = revisions.repo(request.user, namespace, name)
    at, path = revisions.split(request.user, model, rest)
    selectors.require_files(request.user, model)
    file = _file(at, path) if path else None
    if file is None and path == eval_results.PATH and (content := _measured(at)):
        return content
    if file is None or at.version is None:
        raise errors.no_entry(model.ref, path, at.commit_id)
    if at.version.state == Version.State.WITHDRAWN:
        raise problems.Withdrawn(f"{at.version.ref} was withdrawn: {at.version.reason}")
    return Content(
        version_id=at.version.pk,
        commit_id=at.commit_id,
        path=file.path,
        blob=file.blob,
        git_oid=file.git_oid,
        is_lfs=file.lfs,
        is_immutable=at.is_fixed and not model.is_protected and at.version.state in Version.VISIBLE,
        warning=at.warning(request.user),
        protected=model.pk
        if model.is_protected or at.version.state not in Version.VISIBLE
        else None,
    )


def _measured(at: Revision) -> Content | None:
    """The file of what this hub measured of a version; None without any."""
    data = eval_results.measured_file(at.version) if at.version else None
    if data is None or at.version is None:
        return None
    return Content(
        version_id=at.version.pk,
        commit_id=at.commit_id,
        path=eval_results.PATH,
        blob=Blob(sha256=hashlib.sha256(data).hexdigest(), size=len(data)),
        git_oid=git_names.blob_id(data),
        is_lfs=False,
        is_immutable=False,
        data=data,
    )


def _file(at: Revision, path: str) -> File | CommitFile | None:
    if at.version is None:
        return None
    if at.commit is not None:
        return at.files().filter(path=path).first()
    rows = File.objects.filter(version=at.version).select_related("blob")
    return rows.filter(path=path).first() or _laid_out(at.version, path)


def _laid_out(version: Version, path: str) -> File | None:
    """What transformers.js means by ``path`` where a version's only model is `model.onnx`.

    Only models of one file: the others name their weights by paths that would lead nowhere.
    """
    match = LAYOUT.fullmatch(path)
    if not match or version.files.filter(path__startswith="onnx/").exists():
        return None
    uploaded = Variant.objects.filter(version=version, origin=Variant.Origin.UPLOADED)
    entries = list(uploaded.values_list("entry__path", flat=True)[:2])
    if entries != [ENTRY]:
        return None
    candidates = uploaded
    if suffix := match.group(1):
        candidates = Variant.objects.filter(version=version, name=VARIANTS[suffix])
    variant = candidates.select_related("entry__blob").first()
    if variant is None or variant.typed_facts.external_files:
        return None
    return variant.entry


def _send(request: HttpRequest, content: Content) -> HttpResponseBase:
    data = content.data
    answer = downloads.send(
        request,
        content.blob,
        content.path,
        immutable=content.is_immutable,
        tag="" if content.is_lfs else content.git_oid,
        opened=None if data is None else lambda: io.BufferedReader(io.BytesIO(data)),
    )
    answer["X-Repo-Commit"] = content.commit_id
    if content.warning:
        answer["X-HF-Warning"] = content.warning
    if content.is_lfs:
        answer["X-Linked-Size"] = str(content.blob.size)
        answer["X-Linked-ETag"] = f'"{content.blob.sha256}"'
    return answer
