"""What a push would do and what would refuse it, before a byte is sent; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping

from hub.protocol import digests, problems, refs
from registry.cards import cards
from registry.core.permissions import Actor, require
from registry.models import Namespace, RegisteredModel, RetiredName, Version
from registry.storage.bundles import Bundle, Preflight
from registry.storage.services import quotas
from registry.versions import blob_selectors, selectors
from registry.versions.services import files as file_services


def check(
    actor: Actor,
    *,
    namespace: Namespace,
    name: str,
    digests_of: Mapping[str, str],
    sizes: Mapping[str, int],
    card: str | None,
    label: str,
) -> Preflight:
    """Return what a push would do with files of these digests (`sha256:…`) and sizes, by path.

    Raises what it would run into: NotAllowed, InvalidName, NameRetired, CardInvalid, PathInvalid,
    NameTaken for a label, and QuotaExceeded.
    """
    model = _model(actor, namespace, name)
    for action in ("version.draft", "version.edit", "version.submit"):
        user = require(actor, action, model or namespace)
    bundle = Bundle(
        {refs.check_path(path): digests.parse(digest) for path, digest in digests_of.items()}, sizes
    )
    digest_of = dict(bundle.digest_of)
    if card is not None:
        cards.accept(card)
        digest_of[cards.CARD_PATH] = digests.hash_bytes(card.encode())
    file_services.check_paths(digest_of)
    named = set(bundle.digest_of.values())
    missing = named.difference(blob_selectors.all_linkable(actor, named))
    identical = _identical(actor, model, digest_of, label) if model else None
    if identical is None:
        # A draft of that label may be the one that this push goes on with.
        others = Version.objects.filter(model=model, label=label).exclude(state="draft")
        if model and label and others.exists():
            raise problems.NameTaken.at("/label", f"{model.ref} already has a version {label!r}.")
        quotas.check(user, namespace, sum(bundle.sizes(missing).values()))
    return bundle.preflight(missing, creates=model is None, identical_to=identical)


def _model(actor: Actor, namespace: Namespace, name: str) -> RegisteredModel | None:
    """The model, or None where a push may make it."""
    try:
        return selectors.model(actor, namespace.slug, name)
    except problems.NotFound:
        require(actor, "model.create", namespace)
        refs.check_name(name)
        ref = f"{namespace.slug}/{name}"
        if RetiredName.objects.filter(RetiredName.FINAL, name=ref.lower()).exists():
            raise problems.NameRetired(
                f"{ref} was the name of another model, and names are never reused. Choose another "
                "name."
            ) from None
        return None


def _identical(
    actor: Actor, model: RegisteredModel, digest_of: dict[str, str], label: str
) -> int | None:
    """The number of the newest version that is or will be published, if its content is the same."""
    states = (Version.State.SUBMITTED, Version.State.PUBLISHED)
    rows = selectors.versions(actor, model).filter(state__in=states)
    newest = rows.order_by("-number").first()
    if newest is None or (label and newest.label != label):
        return None
    if newest.state == Version.State.SUBMITTED and not newest.publish_requested:
        return None
    held = dict(newest.files.filter(derived=False).values_list("path", "blob_id"))
    return newest.number if held == digest_of else None
