"""Making and deleting branches and tags."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.models import Ref, RegisteredModel
from registry.protocols.huggingface import errors, revisions, writing
from registry.protocols.huggingface.views import HubView
from registry.versions import history
from registry.versions.lifecycle import BRANCH
from registry.versions.services import branches, commits, refs, squashing


class RefView(HubView):
    """A route that names a branch or a tag."""

    parser_classes = [writing.AnyJson]


class BranchDetail(RefView):
    """One branch."""

    def post(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Begin a branch at a commit, or without one; 409 if it exists."""
        body: dict[str, Any] = writing.body(request)
        start = None
        if not body.get("emptyBranch"):
            start = _at(
                request, self.writable, writing.text(body, "startingPoint", BRANCH) or BRANCH
            )
        branches.create(
            request.user,
            model=self.writable,
            name=rest,
            start=start,
            overwrite=bool(body.get("overwrite")),
        )
        return Response({}, status=201)

    def delete(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Forget a branch; the versions on it stay."""
        try:
            branches.delete(request.user, model=self.writable, name=rest)
        except problems.NotFound as error:
            raise errors.no_revision(self.writable.ref, rest) from error
        return Response({})


class Squash(RefView):
    """The history of a branch as one commit."""

    def post(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Squash a branch that was never published; 400 for any other."""
        message = writing.text(writing.body(request), "message")
        try:
            squashing.squash(request.user, model=self.writable, branch=rest, message=message)
        except problems.StateConflict as error:
            raise errors.Refused(error.detail, status=400) from error
        except commits.BranchMissing as error:
            raise errors.no_revision(self.writable.ref, rest) from error
        return Response({})


class TagDetail(RefView):
    """One tag; for making it the address names what it is put on."""

    def post(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Put a tag on a commit; 409 if it exists: tags never move."""
        head = _at(request, self.writable, rest)
        tag = writing.text(writing.body(request), "tag")
        if head is None:
            raise errors.Refused(
                f"{self.writable.ref} has no commits yet. Tag the first one.", status=400
            )
        refs.put_tag(request.user, model=self.writable, name=tag, head=head)
        return Response({}, status=201)

    def delete(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Delete a tag."""
        if not Ref.objects.filter(model=self.writable, name=rest, kind=Ref.Kind.TAG).exists():
            raise errors.no_revision(self.writable.ref, rest)
        refs.delete(request.user, model=self.writable, name=rest)
        return Response({})


def _at(request: Request, model: RegisteredModel, rest: str) -> history.Head | None:
    """The commit that a revision names; None for the empty one before the first."""
    if history.has_branch(model, rest):
        return history.head(model, rest)
    revision = revisions.find(request.user, model, rest)
    if revision.version is None:
        return None
    return history.find(model, revision.commit_id) or history.Head(
        revision.commit_id, revision.version
    )
