"""The capabilities beside the core, and the modules with which each plugs into it.

This table alone names them all. Rooms import what it lists lazily, when they start.
"""

from __future__ import annotations

import typing


class Capability(typing.NamedTuple):
    """What belongs to one capability.

    ``apps`` are the Django apps of its rooms, which register in ports when they are ready.
    ``client`` are the packages that plug into `import hub` and the command, ``engine`` modules of
    the engine with tasks of its own. ``documents`` are its own pages of `docs`, without `.md`.
    ``tables`` are apps that are there even if it is left out: their tables stay, and what their
    rows hold stays protected. ``libraries`` are Django apps of others that it needs, and
    ``middleware`` what requests pass for it, right before the view.
    """

    apps: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    middleware: tuple[str, ...] = ()


CAPABILITIES: typing.Final = {
    "git": Capability(apps=("registry.protocols.git", "frontend.pages.git"), documents=("git",)),
    "oci": Capability(apps=("registry.protocols.oci",), documents=("oci",)),
    "onnx_hub": Capability(apps=("registry.protocols.onnx_hub",), documents=("onnx-hub",)),
    "xet": Capability(apps=("registry.protocols.xet",)),
    "s3": Capability(apps=("registry.storage.s3",)),
    "backups": Capability(apps=("registry.storage.backups",)),
    "bridges": Capability(client=("hub.bridges",), documents=("bridges",)),
    "tryouts": Capability(apps=("frontend.pages.tryouts",)),
    "sparql": Capability(apps=("metadata.sparql", "frontend.pages.query"), documents=("sparql",)),
    "compliance": Capability(apps=("frontend.pages.compliance",), documents=("compliance",)),
    "mirrors": Capability(
        apps=("registry.mirrors", "runners.mirrors", "frontend.pages.mirrors"),
        documents=("mirrors",),
    ),
    "starter": Capability(
        apps=("runners.starter", "frontend.pages.starter"),
        engine=("runners.engine.starter.tasks",),
        documents=("starter",),
    ),
    "community": Capability(
        apps=("registry.community", "metadata.community", "frontend.pages.community"),
        documents=("discussions", "collections"),
    ),
    "federated": Capability(
        tables=("registry.federated",),
        apps=(
            "registry.federated.api",
            "runners.federated",
            "metadata.federated",
            "frontend.pages.federated",
        ),
        engine=("runners.engine.federated.tasks",),
        documents=("federated",),
    ),
    "identity": Capability(
        tables=("registry.identity",),
        apps=("registry.identity.api", "frontend.pages.identity"),
        libraries=(
            "allauth",
            "allauth.account",
            "allauth.mfa",
            "allauth.socialaccount",
            "allauth.socialaccount.providers.openid_connect",
            "allauth.socialaccount.providers.saml",
        ),
        middleware=(
            "allauth.account.middleware.AccountMiddleware",
            "registry.identity.api.middleware.SessionUseMiddleware",
            "registry.identity.api.middleware.RefusalMiddleware",
        ),
    ),
    "publishers": Capability(
        tables=("registry.publishers",),
        apps=("registry.publishers.api", "frontend.pages.publishers"),
        documents=("publishers",),
    ),
    "packages": Capability(
        tables=("registry.packages",),
        apps=("runners.packages", "metadata.packages", "frontend.pages.packages"),
        engine=("runners.engine.packages.tasks", "runners.engine.packages.generation_task"),
        documents=("packages",),
    ),
    "provenance": Capability(
        tables=("registry.provenance",),
        apps=(
            "registry.provenance.api",
            "metadata.signatures",
            "frontend.pages.provenance",
            "frontend.pages.signatures",
        ),
        documents=("provenance", "attestations"),
    ),
    # The last, since what others registered about events may be sent.
    "webhooks": Capability(
        tables=("registry.webhooks",),
        apps=("registry.webhooks.api", "runners.webhooks", "frontend.pages.webhooks"),
        documents=("webhooks",),
    ),
}


def offered(names: typing.Iterable[str]) -> dict[str, Capability]:
    """The capabilities of these names, in the order of the table; raises ValueError for others."""
    unknown = sorted(set(names) - set(CAPABILITIES))
    if unknown:
        raise ValueError(
            f"unknown capability {', '.join(unknown)}. Known: {', '.join(CAPABILITIES)}."
        )
    return {name: of for name, of in CAPABILITIES.items() if name in names}
