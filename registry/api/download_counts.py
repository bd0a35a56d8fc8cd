"""The API of downloads by week and version."""

from __future__ import annotations

from registry.api.operations import ModelView, rows
from registry.api.outputs import Column, Columns, Output
from registry.core.usage import WEEKS_KEPT
from registry.models import DownloadWeek
from registry.versions import download_counts


class DownloadWeekOutput(Output[DownloadWeek]):
    """The downloads of a version in one week."""

    columns = Columns(
        Column("week", help_text="Monday of the week, in UTC"),
        Column("version", "version.number", kind=int, help_text="number of the version"),
        "downloads",
    )


class DownloadCounts(ModelView):
    """How often the versions of a model were downloaded."""

    index = rows(
        "models_downloads",
        download_counts.rows,
        "List downloads of ONNX files by week and version, newest first. The last "
        f"{WEEKS_KEPT} weeks are kept; the hub stores counts alone, no address and no account.",
        DownloadWeekOutput,
    )
