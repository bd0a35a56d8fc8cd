"""Databases made before release 0.1.0, by migrations that are gone: none of them is upgraded."""

from __future__ import annotations

from collections.abc import Iterable

# Its first migration, a name that no release has.
_FIRST_MIGRATION = "registry.0001_initial"
_REFUSAL = (
    "This database was made before release 0.1.0 and cannot be upgraded. Start the version that "
    "made it and export each namespace with `hub mirror export NAMESPACE FOLDER`. Then start this "
    "version with a new data folder and database, and run `hub mirror import FOLDER`."
)


def refusal(migrations: Iterable[str]) -> str:
    """Why a database with these migrations (``app.name``) is not upgraded; empty if it is."""
    return _REFUSAL if _FIRST_MIGRATION in migrations else ""
