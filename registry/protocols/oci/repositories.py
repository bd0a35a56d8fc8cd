"""What a caller may pull of a model: tags, manifests and blobs, by name and by digest.

Nothing of an artifact is stored. One that is asked for by digest is found among those of the
model's versions; which version it was is remembered, so that the search is made once.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from django.core.cache import cache
from redis.exceptions import RedisError

from hub.protocol import digests, problems, refs
from registry.core.permissions import Actor
from registry.models import File, Ref, RegisteredModel, Version
from registry.protocols.oci import artifacts
from registry.protocols.oci.artifacts import Artifact, Document
from registry.protocols.oci.errors import Code, Refused
from registry.versions import deprecations, moves, selectors

LATEST = "latest"
# How many of a model's newest versions are searched for a digest that was not asked for before.
MOST_SEARCHED = 1_000
REMEMBERED_SECONDS = 24 * 3600
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True)
class Repository:
    """A model whose files the caller may have."""

    actor: Actor
    model: RegisteredModel

    @classmethod
    def open(cls, actor: Actor, namespace: str, name: str) -> Repository:
        """The model of this name, or that had it; raises NotFound and AccessNeeded."""
        try:
            model = selectors.model(actor, namespace, name)
        except moves.Moved as moved:
            model = selectors.model(actor, *moved.new.split("/"))
        selectors.require_files(actor, model)
        return cls(actor, model)

    @cached_property
    def _versions(self) -> list[Version]:
        """The published versions, newest first; drafts cannot be pulled."""
        rows = Version.objects.filter(model=self.model, state__in=Version.SERVED)
        return list(rows.defer("readme", "notes", "card").order_by("-number")[:MOST_SEARCHED])

    def tags(self) -> list[str]:
        """Every tag in lexical order: numbers of published versions, and names that fit."""
        published = selectors.versions(self.actor, self.model).filter(state=Version.State.PUBLISHED)
        numbers = [str(number) for number in published.values_list("number", flat=True)]
        names = set(published.exclude(label="").values_list("label", flat=True))
        named = selectors.refs_of(self.actor, self.model).filter(
            kind__in=(Ref.Kind.TAG, Ref.Kind.ALIAS), version__state=Version.State.PUBLISHED
        )
        names |= set(named.values_list("name", flat=True))
        if selectors.latest(self.actor, self.model) is not None:
            names.add(LATEST)
        fitting = {
            name for name in names if _TAG.fullmatch(name) and refs.version_number(name) is None
        }
        return sorted({*numbers, *fitting})

    def artifact(self, reference: str) -> Artifact:
        """The artifact of a tag, or the one whose manifest has a digest; raises Refused."""
        if reference.startswith(digests.PREFIX):
            for artifact in self._candidates(reference):
                if artifact.manifest.digest == reference:
                    return artifact
            raise self._unknown(reference)
        version = self._tagged(reference)
        artifact = _artifacts_of([version])[0]
        self._remember(artifact.manifest.digest, version)
        return artifact

    def warning(self, reference: str) -> str:
        """What to know before pulling a tag, or of the model for a digest; empty for most."""
        if reference.startswith(digests.PREFIX):
            notices = [deprecations.of(self.actor, self.model)]
        else:
            notices = [*deprecations.of_version(self.actor, self._tagged(reference))]
        return " ".join(notice.sentence for notice in notices if notice)

    def document(self, digest: str) -> Document | None:
        """A blob that the hub writes itself: a config, or a piece of evidence."""
        documents = (artifact.document(digest) for artifact in self._candidates(digest))
        return next((document for document in documents if document is not None), None)

    def file(self, digest: str) -> File | None:
        """A file of a published version, with its blob."""
        rows = File.objects.filter(
            version__model=self.model,
            version__state__in=Version.SERVED,
            derived=False,
            blob=digest.removeprefix(digests.PREFIX),
            blob__erased_at=None,
        )
        return rows.select_related("blob").order_by("path").first()

    def referrers(self, digest: str) -> list[Artifact]:
        """The evidence of the version whose manifest has a digest; none for any other digest."""
        for version, artifact in self._searched(digest):
            if artifact.manifest.digest == digest:
                evidence = artifacts.evidence_of(version, artifact.manifest)
                for item in evidence:
                    for document in (item.manifest, *item.blobs):
                        self._remember(document.digest, version)
                return evidence
        return []

    def _tagged(self, tag: str) -> Version:
        number = refs.version_number(tag)
        if not _TAG.fullmatch(tag):
            raise self._unknown(tag)
        name, space = self.model.name, self.model.namespace.slug
        ref = (
            refs.Ref(name, space, number=number)
            if number is not None
            else refs.Ref(name, space, label=tag)
        )
        try:
            version = selectors.find_version(self.actor, self.model, ref)
        except problems.NotFound as error:
            raise self._unknown(tag) from error
        except problems.Withdrawn as error:
            raise Refused(Code.MANIFEST_UNKNOWN, str(error)) from error
        if not version.is_served:
            raise self._unknown(tag)
        return version

    def _searched(self, digest: str) -> Iterator[tuple[Version, Artifact]]:
        """The versions that may have an artifact with a digest: one alone where it is known."""
        versions = self._versions
        with contextlib.suppress(RedisError):
            pk = cache.get(self._key(digest))
            versions = [version for version in versions if version.pk == pk] or versions
        yield from zip(versions, _artifacts_of(versions), strict=True)

    def _candidates(self, digest: str) -> Iterator[Artifact]:
        """Every artifact that may have a document with a digest, the cheapest first."""
        searched = []
        for version, artifact in self._searched(digest):
            if artifact.document(digest):
                self._remember(digest, version)
            yield artifact
            searched.append((version, artifact))
        for version, artifact in searched:
            for evidence in artifacts.evidence_of(version, artifact.manifest):
                if evidence.document(digest):
                    self._remember(digest, version)
                yield evidence

    def _remember(self, digest: str, version: Version) -> None:
        with contextlib.suppress(RedisError):  # the next call searches again
            cache.set(self._key(digest), version.pk, REMEMBERED_SECONDS)

    def _key(self, digest: str) -> str:
        return f"oci:{self.model.pk}:{digest.removeprefix(digests.PREFIX)}"

    def _unknown(self, reference: str) -> Refused:
        return Refused(
            Code.MANIFEST_UNKNOWN,
            f"{self.model.ref} has no published version {reference[:128]}. "
            f"/v2/{self.model.ref}/tags/list lists its tags.",
        )


def _artifacts_of(versions: Iterable[Version]) -> list[Artifact]:
    """The artifact of each version; the files of all are read at once."""
    versions = list(versions)
    rows = File.objects.filter(version__in=[version.pk for version in versions], derived=False)
    ordered = rows.order_by("version", "path").values_list("version", "path", "blob", "blob__size")
    files = {
        pk: [(path, blob, size) for _, path, blob, size in group]
        for pk, group in groupby(ordered, key=lambda row: row[0])
    }
    return [artifacts.of_version(version, files.get(version.pk, [])) for version in versions]
