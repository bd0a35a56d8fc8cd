"""The API of preflights: what a push would do, asked before a byte of it is sent."""

from __future__ import annotations

from typing import Any

from registry.api.inputs import FilesParser, Input, Items
from registry.api.operations import View, operation
from registry.api.outputs import Column, Columns, Output
from registry.models import Version
from registry.people import selectors as people_selectors
from registry.storage.bundles import Preflight
from registry.versions.services import preflight


class AnnouncedFileInput(Input):
    """A file that is about to be sent."""

    columns = Columns(
        Column("path", max_length=512),
        "blob",
        Column("size", kind=int, min_value=0, max_value=2**63 - 1),
    )


class PreflightInput(Input):
    """The content of a push: its files without the card, the card's text, and a label."""

    columns = Columns(
        Column("files", field=Items, child=AnnouncedFileInput(), max_length=5000),
        Column("card", kind=str | None, default=None, allow_blank=True, trim_whitespace=False),
        "label",
        of=Version,
    )


class PreflightOutput(Output[Preflight]):
    """The effects of a push."""

    columns = Columns(
        Column("creates", help_text="whether the model does not exist yet"),
        Column("missing", help_text="paths whose content the hub needs"),
        Column("missing_bytes", help_text="size of that content; equal files once"),
        Column(
            "identical_to",
            help_text="number of the newest version, if it has the same files, card and label",
        ),
    )


class Preflights(View):
    """A push that is not made."""

    parser_classes = [FilesParser]

    @operation(
        "models_preflight",
        PreflightOutput,
        reads=PreflightInput,
        headers={"Cache-Control": "no-store"},
    )
    def check(self, files: list[dict[str, Any]], card: str | None, label: str) -> Any:
        """Check the names, permissions, card and quota of a push. Nothing is stored."""
        return preflight.check(
            self.request.user,
            namespace=people_selectors.namespace(self.kwargs["namespace"]),
            name=self.kwargs["name"],
            digests_of={row["path"]: row["blob"] for row in files},
            sizes={row["path"]: row["size"] for row in files},
            card=card,
            label=label,
        )
