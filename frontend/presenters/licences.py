"""Licences by what they ask of whoever uses a model; a way to group names, never advice.

Known are the names of SPDX and of Hugging Face cards; whatever has its own terms is among the
others.
"""

from __future__ import annotations

import re

PERMISSIVE, SHARE_ALIKE, NON_COMMERCIAL, OTHER = FAMILIES = (
    "Permissive",
    "Share-alike",
    "Non-commercial",
    "Other",
)
# Family -> beginnings of names, up to a hyphen or their end.
_BEGINNINGS = {
    NON_COMMERCIAL: "cc-by-nc fair-noncommercial h-research intel-research apple-amlr",
    SHARE_ALIKE: "gpl agpl lgpl gfdl cc-by-sa mpl epl eupl osl odbl cdla-sharing ofl lppl cecill",
    PERMISSIVE: "apache mit bsd 0bsd isc unlicense zlib cc0 bsl afl ecl wtfpl ncsa ms-pl pddl "
    "postgresql odc-by cdla-permissive etalab openmdw artistic-2.0 python-2.0",
}
_PLAIN_BY = re.compile(r"cc-by(-\d\.\d)?")


def family(name: str) -> str:
    """Which of the families a licence is of, by its name."""
    licence = name.strip().lower()
    if _PLAIN_BY.fullmatch(licence):
        return PERMISSIVE
    for group, beginnings in _BEGINNINGS.items():
        if any(
            licence == beginning or licence.startswith(f"{beginning}-")
            for beginning in beginnings.split()
        ):
            return group
    return OTHER
