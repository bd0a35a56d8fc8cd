"""What publishing a version would do, and everything that would refuse it; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hub.protocol import manifests, problems
from hub.protocol.splits import parse as parse_splits
from registry.core.permissions import Actor, require, require_user
from registry.datasets import selectors, services
from registry.models import Dataset, Namespace, User
from registry.people import selectors as people_selectors
from registry.storage.bundles import Bundle, Preflight

# How many files at fault an answer names.
MOST_FILES = 20


@dataclass(slots=True)
class _Findings:
    """The refusals of one push; ``pointer`` is where those without a field of their own belong."""

    refusals: list[problems.Problem] = field(default_factory=list)

    @contextmanager
    def at(self, pointer: str) -> Iterator[None]:
        try:
            yield
        except problems.Problem as problem:
            self.add(pointer, problem)

    def add(self, pointer: str, problem: problems.Problem) -> None:
        if not problem.errors:
            problem.errors = ({"pointer": pointer, "detail": problem.detail},)
        self.refusals.append(problem)

    def expect_none(self) -> None:
        """Raise the first problem with the errors of all of them."""
        if self.refusals:
            first = self.refusals[0]
            first.errors = tuple(error for refusal in self.refusals for error in refusal.errors)
            raise first


def check(
    actor: Actor,
    *,
    slug: str,
    namespace: str,
    files: Mapping[str, str],
    splits: Any,
    sizes: Mapping[str, int] | None,
    **_: Any,
) -> Preflight:
    """Return what ``services.publish`` would do with the same arguments.

    Raises the first problem that it would run into; its `errors` are those of all problems:
    NotAuthenticated, InvalidName, NameReserved, NotFound, NotAllowed, StateConflict,
    InvalidRequest, PathInvalid, TooLarge and QuotaExceeded. Quotas are for those who may publish.
    """
    require_user(actor, any_namespace=True)
    findings = _Findings()
    dataset, owner = _place(slug, namespace, findings)
    user: User | None = None
    if owner is not None:
        with findings.at("/namespace"):
            user = require(actor, "dataset.edit" if dataset else "dataset.create", owner)
    sha256s, faults = services.parse_files(files)
    for fault in faults[:MOST_FILES]:
        findings.add("/files", fault)
    identical = None
    with findings.at("/splits"):
        parsed = parse_splits(splits, frozenset(files))
        if dataset and not faults:
            digest = manifests.dataset_digest(sha256s, parsed)
            identical = dataset.versions.filter(sha256=digest).first()
    missing = selectors.missing(actor, set(sha256s.values()))
    bundle = Bundle(sha256s, sizes or {})
    if user and owner and identical is None:
        excess = services.find_excess(user, owner, bundle=bundle, missing=missing)
        for fault in list(excess)[-MOST_FILES:]:  # the quota comes last
            findings.add("/sizes", fault)
    findings.expect_none()
    return bundle.preflight(
        missing, creates=dataset is None, identical_to=identical.number if identical else None
    )


def _place(
    slug: str, namespace: str, findings: _Findings
) -> tuple[Dataset | None, Namespace | None]:
    """The data set and its namespace, or that in which a push would make it."""
    try:
        dataset = selectors.dataset(slug)
    except problems.NotFound as missing:
        with findings.at("/slug"):
            services.check_slug(slug)
        if not namespace:
            findings.add("/slug", missing)
            return None, None
        with findings.at("/namespace"):
            return None, people_selectors.namespace(namespace)
        return None, None
    with findings.at("/slug"):
        services.check_state(dataset)
    return dataset, dataset.namespace
