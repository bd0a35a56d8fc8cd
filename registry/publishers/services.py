"""Trusted publishers: declared by owners, and the tokens of minutes that workflows get by them.

Source: "Trusted Publishers" of the Python Package Index, whose checks these are.
"""

from __future__ import annotations

import re
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require
from registry.models import AccessToken, Namespace, RegisteredModel, User
from registry.people import selectors as people
from registry.people.services import service_accounts, tokens
from registry.publishers.identities import LEEWAY_SECONDS, Identity
from registry.publishers.models import (
    ENVIRONMENT,
    REPOSITORY,
    WORKFLOW,
    TrustedPublisher,
    UsedIdentity,
)

TOKEN_LIFETIME = timedelta(minutes=15)
# How long expired tokens of publishers stay in lists.
EXPIRED_LIFETIME = timedelta(days=1)
MOST_PUBLISHERS = 200
ACCOUNT = "publisher"


@transaction.atomic
def create(
    actor: Actor,
    *,
    namespace: Namespace,
    issuer: str,
    repository: str,
    workflow: str,
    environment: str = "",
    model: str = "",
    account: str = "",
) -> TrustedPublisher:
    """Let a workflow act as a service account, for ``model`` or for the whole organisation.

    Without ``account``, that is the service account `publisher`, made with the role maintainer if
    there is none. Raises NotAllowed, NotFound, InvalidRequest, NameTaken, StateConflict.
    """
    user = require(actor, "member.edit", namespace)
    provider = settings.HUB_PUBLISHER_ISSUERS.get(issuer)
    if provider is None:
        issuers = ", ".join(settings.HUB_PUBLISHER_ISSUERS) or "none"
        raise problems.InvalidRequest.at(
            "/issuer",
            f"This hub trusts the issuers {issuers}. HUB_PUBLISHER_ISSUERS adds others.",
        )
    for pointer, text, pattern, example in (
        ("/repository", repository, REPOSITORY, "acme/models"),
        ("/workflow", workflow, WORKFLOW, "publish.yml"),
        ("/environment", environment or "any", ENVIRONMENT, "release"),
    ):
        if not re.fullmatch(pattern, text):
            raise problems.InvalidRequest.at(pointer, f"Write it as {example}.")
    own = RegisteredModel.objects.filter(namespace=namespace, deleted_at=None)
    row = TrustedPublisher(
        account=_account(actor, namespace, account),
        model=tokens.model_of(own, model) if model else None,
        provider=provider,
        issuer=issuer,
        repository=repository,
        workflow=workflow,
        environment=environment,
        created_by=user,
    )
    if TrustedPublisher.objects.filter(account__service_of=namespace).count() >= MOST_PUBLISHERS:
        raise problems.StateConflict(f"{namespace.slug} has {MOST_PUBLISHERS} publishers already.")
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise problems.NameTaken("This publisher exists already.") from error
    events.record("publisher.created", row, actor=actor, model=row.model, **_words(row))
    return row


@transaction.atomic
def delete(actor: Actor, *, publisher: TrustedPublisher) -> None:
    """Trust a workflow no longer; tokens that it got end within minutes. Raises NotAllowed."""
    require(actor, "member.edit", service_accounts.of(publisher.account))
    events.record(
        "publisher.deleted", publisher, actor=actor, model=publisher.model, **_words(publisher)
    )
    publisher.delete()


@transaction.atomic
def exchange(identity: Identity, *, model: str = "") -> tuple[AccessToken, str]:
    """A token of minutes for the workflow of a verified identity; returned only once.

    ``model`` chooses where the workflow is a publisher of several. Raises NotAllowed where it is
    none, InvalidRequest where it is several, and NotAuthenticated for an identity that was used.
    """
    publisher = _find(identity, model)
    lives_until = identity.expires_at + timedelta(seconds=LEEWAY_SECONDS)
    _, is_first = UsedIdentity.objects.get_or_create(
        digest=identity.digest, defaults={"expires_at": lives_until}
    )
    if not is_first:
        raise problems.NotAuthenticated(
            "This identity token was used already. Request a new one in the workflow."
        )
    row = TrustedPublisher.objects.select_for_update().get(pk=publisher.pk)
    if row.owner_id not in ("", identity.owner_id):
        raise problems.NotAllowed(
            f"{identity.repository} belongs to another owner than when it was first used. If that "
            "is right, an owner of the organisation deletes this publisher and creates it again."
        )
    row.owner_id, row.last_used_at = identity.owner_id, timezone.now()
    row.save(update_fields=["owner_id", "last_used_at"])
    namespace = service_accounts.of(publisher.account)
    of = publisher.model or (_own_model(namespace, model) if model else None)
    events.record(
        "publisher.used", row, actor=row.account, model=of, run=identity.run, **_words(row)
    )
    return tokens.issue(
        row.account,
        name=f"{row} {identity.run}".strip(),
        scopes=["publish"],
        namespaces=() if of else (namespace,),
        models=(of,) if of else (),
        expires=TOKEN_LIFETIME,
    )


def clean() -> int:
    """Delete expired identities and tokens of publishers; returns how many."""
    now = timezone.now()
    count, _ = UsedIdentity.objects.filter(expires_at__lt=now).delete()
    accounts = TrustedPublisher.objects.order_by().values("account")
    old = AccessToken.objects.filter(user__in=accounts, expires_at__lt=now - EXPIRED_LIFETIME)
    return count + old.delete()[0]


def _account(actor: Actor, namespace: Namespace, name: str) -> User:
    if name:
        return people.service_account(actor, namespace, name)
    try:
        return people.service_account(actor, namespace, ACCOUNT)
    except problems.NotFound:
        return service_accounts.create(actor, namespace=namespace, name=ACCOUNT, role="maintainer")


def _find(identity: Identity, model: str) -> TrustedPublisher:
    """The publisher of an identity, for ``model`` if that is named."""
    rows = TrustedPublisher.objects.filter(
        issuer=identity.issuer,
        repository__iexact=identity.repository,
        workflow=identity.workflow,
        environment__in={"", identity.environment},
        account__is_active=True,
    )
    matching = [
        row
        for row in rows.select_related("account__service_of", "model__namespace")
        if _is_for(row, model)
    ]
    if not matching:
        place = f", environment {identity.environment}" if identity.environment else ""
        of = f" of {model}" if model else ""
        raise problems.NotAllowed(
            f"No trusted publisher{of} is {identity.repository}, workflow {identity.workflow}"
            f"{place}. An owner of the organisation adds it on its page."
        )
    if len(matching) > 1 and not model:
        raise problems.InvalidRequest.at(
            "/model", "This workflow publishes several models. Name the one that it is about."
        )
    # One that is declared for the model, and for the environment, comes first.
    return min(matching, key=lambda row: (row.model is None, row.environment == ""))


def _is_for(row: TrustedPublisher, model: str) -> bool:
    namespace = service_accounts.of(row.account)
    if row.model is not None:
        is_own = row.model.namespace_id == namespace.pk and row.model.deleted_at is None
        return is_own and model.lower() in ("", row.model.ref.lower())
    return not model or _own_model(namespace, model) is not None


def _own_model(namespace: Namespace, ref: str) -> RegisteredModel | None:
    slug, _, name = ref.partition("/")
    if slug.lower() != namespace.slug.lower():
        return None
    rows = RegisteredModel.objects.filter(namespace=namespace, deleted_at=None)
    return rows.filter(name__iexact=name).first()


def _words(row: TrustedPublisher) -> dict[str, str]:
    """What events say of a publisher."""
    names = ("issuer", "repository", "workflow", "environment")
    return {name: str(getattr(row, name)) for name in names}
