"""What the log does in the core: it follows events and results; versions link to proofs.

Mirrors copy signatures.
"""

from __future__ import annotations

from registry.core import outbox
from registry.core.periodic import HourlyTask, hourly_tasks
from registry.provenance import attestations, log, selectors
from registry.provenance.models import ATTESTING, CONSUMER
from registry.provenance.signatures import mirroring
from registry.versions.mirrored_documents import MirroredDocuments, mirrored_documents
from registry.versions.version_links import VersionLink, version_links


def register(package: str) -> None:
    """Plug into the ports of the core."""
    outbox.subscribe(CONSUMER, log.VERBS, log.on_event, each=True)
    outbox.subscribe(
        ATTESTING, attestations.verbs(), attestations.on_result, background=True, released=True
    )
    mirrored_documents.register(package, MirroredDocuments(mirroring.take))
    version_links.register(package, VersionLink(selectors.addresses))
    hourly_tasks.register(
        package,
        HourlyTask("log", "Events recorded in the transparency log", log.append_missing),
        HourlyTask("attestations", "Results signed", attestations.sign_missing),
    )
