"""The addresses that `git clone` and `git fetch` ask, and the refusal that `git push` gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from dulwich.refs import Ref as GitRef
from dulwich.refs import check_ref_format
from rest_framework.request import Request

from hub.protocol import problems
from registry.api.authentication import BasicTokenAuthentication, TokenAuthentication
from registry.api.uploads import RawParser
from registry.core import security_log
from registry.core.security_log import Kind
from registry.models import Ref, RegisteredModel, Version
from registry.protocols.git import upload_pack, wire
from registry.protocols.huggingface import errors, revisions
from registry.protocols.huggingface.views import HubView
from registry.versions import selectors
from registry.versions.git_objects import Repository, Target

READ, WRITE = "git-upload-pack", "git-receive-pack"
NO_PUSH = (
    "This hub does not accept git pushes. Upload files with huggingface_hub (`hf upload {ref} "
    ".`) or with `hub push`.\n"
)


class GitView(HubView):
    """What git is answered; it sends a token as the password of any user."""

    authentication_classes = [BasicTokenAuthentication, TokenAuthentication]
    parser_classes = [RawParser]

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        """Errors as plain text, which git shows."""
        return _handle


class InfoRefs(GitView):
    """Where git begins."""

    def get(self, request: Request, namespace: str, name: str) -> HttpResponseBase:
        """Refs, or what can be asked in protocol 2."""
        service = request.query_params.get("service", "")
        if service == WRITE:
            return _no_push(namespace, name)
        if service != READ:
            raise errors.Refused("Only git 1.6.6 or newer can read here.", status=400)
        refs, repo = _open(request, namespace, name)
        content = (
            upload_pack.introduce() if _speaks_2(request) else upload_pack.advertise(refs, repo)
        )
        begin = [wire.line(f"# service={READ}"), wire.FLUSH]
        return _answer([*begin, *content], f"application/x-{READ}-advertisement")


class UploadPack(GitView):
    """Where git fetches."""

    def post(self, request: Request, namespace: str, name: str) -> HttpResponseBase:
        """Refs, acknowledgments or a pack, as the body asks."""
        refs, repo = _open(request, namespace, name)
        lines = wire.read(_body(request))
        if not _speaks_2(request):
            _report(request, repo.model)
            wish = upload_pack.read_wish(lines)
            return _stream(upload_pack.answer(repo, wish))
        command, arguments = _command(lines)
        if command == "ls-refs":
            return _stream(upload_pack.list_refs(refs, arguments))
        if command == "fetch":
            _report(request, repo.model)
            return _stream(upload_pack.fetch(repo, upload_pack.read_wish(arguments)))
        raise problems.InvalidRequest(f"This hub does not support the command {command[:40]!r}.")


class ReceivePack(GitView):
    """Where git would push."""

    def post(self, request: Request, namespace: str, name: str) -> HttpResponseBase:
        """No, and how else."""
        return _no_push(namespace, name)


def _open(request: Request, namespace: str, name: str) -> tuple[dict[str, str], Repository]:
    """The refs of a model, and the commits that they lead to, as far as the caller sees them."""
    model = revisions.repo(request.user, namespace, name)
    selectors.require_files(request.user, model)
    reader = revisions.Reader(request.user, model)
    repo = Repository(model, reader.versions.select_related("parent"), not reader.writes)
    named = {f"refs/heads/{name}": at for name, at in reader.branches().items()}
    versions = reader.versions.filter(state__in=Version.SERVED)
    for version in versions.order_by("number"):
        at = revisions.Revision(model, version, str(version.commit_id))
        named[f"refs/tags/v{version.number}"] = at
        for ref in reader.refs.filter(kind=Ref.Kind.TAG, version=version):
            named[f"refs/tags/{ref.name}"] = at
    for tag in reader.commit_tags:
        named[f"refs/tags/{tag.name}"] = reader.find(tag.name)
    refs = {}
    for ref_name, at in named.items():
        is_withdrawn = at.version is not None and at.version.state == Version.State.WITHDRAWN
        if is_withdrawn or not check_ref_format(GitRef(ref_name.encode())):
            continue
        if repo.add(Target(at.commit_id, at.version, at.commit)):
            refs[ref_name] = at.commit_id
    return refs, repo


def _report(request: Request, model: RegisteredModel) -> None:
    if model.is_protected:
        of = ("model", model.pk)
        security_log.report(Kind.DOWNLOAD, actor=request.user, subject=of, model_id=model.pk)


def _body(request: Request) -> bytes:
    plain = request._request  # noqa: SLF001 - DRF's own
    if int(plain.headers.get("Content-Length") or 0) > wire.LONGEST_REQUEST:
        raise problems.TooLarge("The request names too many commits.")
    body = plain.read(wire.LONGEST_REQUEST + 1)
    if len(body) > wire.LONGEST_REQUEST:
        raise problems.TooLarge("The request names too many commits.")
    if plain.headers.get("Content-Encoding", "") in ("gzip", "x-gzip"):
        body = wire.unpacked(body)
    return body


def _command(lines: list[str | None]) -> tuple[str, list[str]]:
    """The command of protocol 2 and its arguments; its abilities need no answer."""
    texts = [line for line in lines if line is not None]
    command = texts[0].removeprefix("command=") if texts else ""
    return command, texts[texts.index("") + 1 :] if "" in texts else []


def _speaks_2(request: Request) -> bool:
    return "version=2" in request.headers.get("Git-Protocol", "").split(":")


def _answer(parts: Iterable[bytes], media_type: str) -> HttpResponse:
    response = HttpResponse(b"".join(parts), content_type=media_type)
    response["Cache-Control"] = "no-cache"
    return response


def _stream(parts: Iterable[bytes]) -> StreamingHttpResponse:
    """An answer that begins once its first part is there, so that errors are answers too."""
    waiting = iter(parts)
    first = next(waiting, b"")

    def whole() -> Any:
        yield first
        yield from waiting

    response = StreamingHttpResponse(whole(), content_type=f"application/x-{READ}-result")
    response["Cache-Control"] = "no-cache"
    return response


def _no_push(namespace: str, name: str) -> HttpResponse:
    ref = f"{namespace}/{name.removesuffix('.git')}"
    return HttpResponse(NO_PUSH.format(ref=ref), status=403, content_type="text/plain")


def _handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    answer = errors.handle(error, context)
    if "Location" in answer:
        return answer
    response = HttpResponse(
        f"{answer['X-Error-Message']}\n", status=answer.status_code, content_type="text/plain"
    )
    for name, value in answer.headers.items():
        if name not in ("Content-Type", "Content-Length", "WWW-Authenticate"):
            response[name] = value
    if response.status_code == 401:
        response["WWW-Authenticate"] = 'Basic realm="hub: any user, a token as the password"'
    return response
