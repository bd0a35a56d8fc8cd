"""In which version of its model a file first stood as it is now."""

from __future__ import annotations

from django.db.models import Min

from registry.core.permissions import Actor
from registry.models import File, Version
from registry.versions import selectors


def first_versions(actor: Actor, of: Version) -> dict[str, int]:
    """Path of each uploaded file -> the first version, of those the actor sees, that has it so.

    The same path with the same bytes; one query, whatever the number of versions.
    """
    mine = {file.path: file.blob_id for file in of.files.all() if not file.derived}
    if not mine:
        return {}
    visible = selectors.versions(actor, of.model).filter(number__lte=of.number)
    rows = (
        File.objects.filter(version__in=visible.order_by().values("pk"), derived=False)
        .filter(path__in=mine, blob__in=set(mine.values()))
        .order_by()
        .values("path", "blob")
        .annotate(first=Min("version__number"))
    )
    first = {(row["path"], row["blob"]): row["first"] for row in rows}
    return {path: first[path, blob] for path, blob in mine.items() if (path, blob) in first}
