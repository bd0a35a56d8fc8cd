"""The commands that import models from other places: hf, starter, zoo."""

from __future__ import annotations

from typing import Any

from hub.cli import import_hf, import_starter, import_zoo


def add_to(commands: Any) -> None:
    """Add `hub import` with its sources."""
    importing = commands.add_parser("import", help="import models from other places")
    sources = importing.add_subparsers(metavar="source", required=True)
    import_hf.add_to(sources)
    import_starter.add_to(sources)
    import_zoo.add_to(sources)
