"""Which names a branch, tag, alias or label may have: each means one thing in its model."""

from __future__ import annotations

import re

from hub.protocol import problems, refs
from registry.models import Branch, Ref, RegisteredModel, RetiredTag, Version
from registry.versions.lifecycle import BRANCH

LATEST = "latest"
LONGEST = 100
_COMMIT = re.compile(r"[0-9a-f]{40}")


def check(name: str, number: int | None = None, *, pointer: str = "/name") -> None:
    """Raise InvalidName for what could be taken for a commit, for `latest`, or for a version.

    The name of the version ``number`` may be `v` and its number.
    """
    refs.check_label(name)
    meaning = refs.version_number(name)
    if meaning is not None and meaning != number:
        raise problems.InvalidName.at(
            pointer, f"{name} already means version {meaning}. Choose another name."
        )
    if _COMMIT.fullmatch(name) or name == LATEST or "+" in name or len(name) > LONGEST:
        raise problems.InvalidName.at(
            pointer,
            f"{name!r} could be confused with a commit or `{LATEST}`, has more than {LONGEST} "
            "characters, or contains a '+'. Choose another name.",
        )


def expect_free(
    model: RegisteredModel,
    name: str,
    kind: str,
    version: Version | None = None,
    commit_id: str = "",
) -> Ref | None:
    """Raise NameTaken where a name in a locked model means something else already.

    It may be the label of ``version``, and as a tag the name of a deleted tag of ``commit_id``. An
    alias that there is already may be moved; it is returned.
    """
    existing = Ref.objects.filter(model=model, name=name).first()
    if existing and existing.kind == kind == Ref.Kind.ALIAS:
        return existing
    labelled = Version.objects.filter(model=model, label=name)
    if version is not None:
        labelled = labelled.exclude(pk=version.pk)
    meaning = existing.kind if existing else ""
    if name in (BRANCH, "HEAD") or Branch.objects.filter(model=model, name=name).exists():
        meaning = Ref.Kind.BRANCH
    elif not meaning and labelled.exists():
        meaning = "label of another version"
    if meaning:
        rule = "Tags never move. " if meaning == Ref.Kind.TAG else ""
        raise problems.NameTaken(
            f"{name} is already a {meaning} of {model.ref}. {rule}Choose another name."
        )
    expect_unretired(model, name, commit_id if kind == Ref.Kind.TAG else "")
    return None


def expect_unretired(model: RegisteredModel, name: str, commit_id: str = "") -> None:
    """Raise NameTaken for the name of a deleted tag, unless of this commit."""
    retired = RetiredTag.objects.filter(model=model, name=name).exclude(commit_id=commit_id)
    for tag in retired:
        version = Version.objects.filter(model=model, commit_id=tag.commit_id).first()
        meaning = f"version {version.number}" if version else f"commit {tag.commit_id[:7]}"
        raise problems.NameTaken(
            f"{name} was a tag of {meaning} of {model.ref}, and names of tags are never reused. "
            "Choose another name."
        )
