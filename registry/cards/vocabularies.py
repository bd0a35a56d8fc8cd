"""Words that cards use, and finding the one that was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from hub.protocol.vocabularies import LICENCE_OF

_PRECISIONS = """
    float32 float16 bfloat16 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 int4 uint4
    int2 uint2 bool float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0 float4e2m1
"""
PRECISIONS = tuple(_PRECISIONS.split())
OTHER_PRECISIONS = {
    "fp32": "float32",
    "f32": "float32",
    "float": "float32",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp64": "float64",
    "double": "float64",
    "fp8": "float8e4m3fn",
}
LANGUAGES = {
    "arabic": "ar", "chinese": "zh", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hindi": "hi", "italian": "it", "japanese": "ja", "korean": "ko", "norwegian": "no",
    "polish": "pl", "portuguese": "pt", "russian": "ru", "spanish": "es", "swedish": "sv",
    "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
}  # fmt: skip


def near(word: str, words: Iterable[str], likeness: float = 0.75) -> str:
    """The word that was probably meant, whatever its case and punctuation; empty if none is."""
    plain = {_bare(word): word for word in words}
    matches = difflib.get_close_matches(_bare(word)[:64], plain, 1, likeness)
    return plain[matches[0]] if matches else ""


def is_licence(name: str) -> bool:
    """Whether SPDX or Hugging Face knows this id or expression."""
    if name.strip().lower() in LICENCE_OF:
        return True
    try:
        return bool(canonicalize_license_expression(name[:500]))
    except InvalidLicenseExpression:
        return False


def _bare(word: str) -> str:
    return re.sub(r"[^a-z0-9+]", "", word.lower())
