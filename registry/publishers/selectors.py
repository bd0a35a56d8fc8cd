"""The trusted publishers of an organisation, for its owners."""

from __future__ import annotations

from django.db.models import QuerySet

from hub.protocol import problems
from registry.core.permissions import Actor, require
from registry.models import Namespace
from registry.publishers.models import TrustedPublisher


def publishers(actor: Actor, of: Namespace) -> QuerySet[TrustedPublisher]:
    """Newest first; raises NotAllowed."""
    require(actor, "member.edit", of)
    rows = TrustedPublisher.objects.filter(account__service_of=of)
    return rows.select_related("account", "model__namespace").order_by("-pk")


def publisher(actor: Actor, of: Namespace, key: int) -> TrustedPublisher:
    """One of them; raises NotAllowed, NotFound."""
    return problems.expect(
        publishers(actor, of).filter(pk=key).first(),
        problems.NotFound(f"{of.slug} has no such trusted publisher."),
    )
