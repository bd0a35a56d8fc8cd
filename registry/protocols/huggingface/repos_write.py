"""Making, changing, moving and deleting models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import digests, problems
from registry.core.permissions import require_user
from registry.models import RegisteredModel
from registry.people import selectors as people_selectors
from registry.protocols.huggingface import addresses, errors, revisions, shapes, writing
from registry.protocols.huggingface.views import HubView
from registry.storage.services import uploads
from registry.versions.lifecycle import BRANCH
from registry.versions.services import commits, registered_models

FIRST_MESSAGE = "initial commit"


class RepoView(HubView):
    """A route that names its repository in the body."""

    parser_classes = [writing.AnyJson]


class CreateRepo(RepoView):
    """Where models are made."""

    def post(self, request: Request) -> Response:
        """Make a model, perhaps with first files; 409, with the same answer, if it exists."""
        body = writing.body(request)
        user = require_user(request.user, "write", any_namespace=True)
        _models_only(body)
        owner = writing.text(body, "organization") or user.username
        namespace = people_selectors.namespace(owner)
        name = writing.text(body, "name")
        items = body.get("files") or []
        if not isinstance(items, list):
            raise problems.InvalidRequest("files must be a list.")
        files = [_file(item) for item in items]
        try:
            model = registered_models.create(
                user,
                namespace=namespace,
                name=name,
                visibility=_visibility(body) or RegisteredModel.Visibility.PUBLIC,
                license=writing.text(body, "license")[:64],
            )
        except problems.NameTaken:
            model = revisions.repo(request.user, namespace.slug, name)
            message = f"You already created this model repo: {model.ref}"
            return Response(_repo_json(request, model) | {"error": message}, status=409)
        except problems.NameRetired as error:
            # Not 409: clients would take that for a model that is there.
            raise errors.Refused(error.detail, status=400) from error
        if files:
            _commit(request, model, files)
        return Response(_repo_json(request, model))


class DeleteRepo(RepoView):
    """Where models are deleted."""

    def delete(self, request: Request) -> Response:
        """Take a model out of sight; its name is not given again if it was ever published."""
        model = _named(request, writing.body(request))
        registered_models.delete(request.user, model=model)
        return Response({})


class MoveRepo(RepoView):
    """Where models get other names."""

    def post(self, request: Request) -> Response:
        """Give a model another name; the old one leads to it from then on."""
        body = writing.body(request)
        _models_only(body)
        model = revisions.repo(request.user, *_parts(writing.text(body, "fromRepo")))
        namespace, name = _parts(writing.text(body, "toRepo"))
        registered_models.move(
            request.user, model=model, namespace=people_selectors.namespace(namespace), name=name
        )
        return Response({})


class RepoSettings(RepoView):
    """What may be changed about a model."""

    def put(self, request: Request, namespace: str, name: str) -> Response:
        """Make a model public or private, and set who may have its files."""
        model = revisions.repo(request.user, namespace, name)
        body = writing.body(request)
        changes = {"visibility": _visibility(body), "gate": _gate(body)}
        changed = {field: value for field, value in changes.items() if value}
        if changed:
            model = registered_models.edit(request.user, model=model, **changed)
        return Response(
            {
                "visibility": model.visibility,
                "private": model.visibility == "private",
                "gated": shapes.gated(model.gate),
            }
        )


def _repo_json(request: Request, model: RegisteredModel) -> dict[str, Any]:
    return {
        "url": addresses.absolute(request, f"/{model.ref}"),
        "name": model.ref,
        "id": str(model.pk),
    }


def _models_only(body: Mapping[str, Any]) -> None:
    if writing.text(body, "type", "model") != "model":
        raise errors.Refused("This hub keeps models only.", status=400)


def _named(request: Request, body: Mapping[str, Any]) -> RegisteredModel:
    _models_only(body)
    user = require_user(request.user, any_namespace=True)
    name = writing.text(body, "name")
    owner = writing.text(body, "organization")
    if not owner and "/" in name:
        owner, _, name = name.partition("/")
    return revisions.repo(request.user, owner or user.username, name)


def _parts(repo_id: str) -> tuple[str, str]:
    namespace, slash, name = repo_id.partition("/")
    if not slash:
        raise problems.InvalidRequest(f"{repo_id!r} must be written as namespace/name.")
    return namespace, name


def _visibility(body: Mapping[str, Any]) -> str:
    """What the body asks for, in the words of new clients or of old ones; empty for neither."""
    visibility = writing.text(body, "visibility")
    if visibility:
        if visibility not in RegisteredModel.Visibility.values:
            raise problems.InvalidRequest("visibility must be public or private.")
        return visibility
    private = body.get("private")
    if private is None:
        return ""
    if not isinstance(private, bool):
        raise problems.InvalidRequest("private must be true or false.")
    return "private" if private else "public"


def _gate(body: Mapping[str, Any]) -> str:
    """Who may have the files; empty where the body does not say."""
    gate = body.get("gated")
    if gate is None:
        return ""
    if gate is False:
        return RegisteredModel.Gate.OPEN
    if gate not in (RegisteredModel.Gate.AUTO, RegisteredModel.Gate.MANUAL):
        raise problems.InvalidRequest("gated must be auto, manual or false.")
    return str(gate)


def _file(item: Any) -> tuple[str, bytes]:
    if not isinstance(item, dict):
        raise problems.InvalidRequest("Each of files must have path, content and encoding.")
    return writing.file(item)


def _commit(request: Request, model: RegisteredModel, files: list[tuple[str, bytes]]) -> None:
    uploads.take_all(request.user, model=model, contents=[content for _, content in files])
    commits.make(
        request.user,
        model=model,
        branch=BRANCH,
        message=FIRST_MESSAGE,
        changes=[
            commits.Add(path, digests.hash_bytes(content), is_own=True) for path, content in files
        ],
    )
