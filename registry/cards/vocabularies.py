"""Words that cards use, and finding the one that somebody meant.

Licence ids beyond SPDX's, and tasks, are those of Hugging Face (hub-docs, 2026-08).
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

_LICENCES = """
    apache-2.0 mit openrail openrail++ bigscience-openrail-m creativeml-openrail-m
    bigscience-bloom-rail-1.0 bigcode-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause
    bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0
    cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
    cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0
    cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1
    eupl-1.2 agpl-3.0 agpl-3.0-only gfdl gpl gpl-2.0 gpl-2.0-only gpl-3.0 gpl-3.0-only
    gpl-3.0-or-later lgpl lgpl-2.1 lgpl-3.0 lgpl-3.0-only isc h-research intel-research lppl-1.3c
    ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl openmdw-1.0 osl-3.0 postgresql ofl-1.1 ncsa
    unlicense zlib pddl lgpl-lr deepfloyd-if-license fair-noncommercial-research-license llama2
    llama3 llama3.1 llama3.2 llama3.3 llama4 gemma unknown other
"""
LICENCES = tuple(_LICENCES.split())
_TASKS = """
    any-to-any audio-classification audio-text-to-text audio-to-audio automatic-speech-recognition
    depth-estimation document-question-answering feature-extraction fill-mask graph-ml
    image-classification image-feature-extraction image-segmentation image-text-to-text
    image-to-3d image-to-image image-to-text image-to-video keypoint-detection mask-generation
    multiple-choice object-detection other question-answering reinforcement-learning robotics
    sentence-similarity summarization table-question-answering table-to-text
    tabular-classification tabular-regression tabular-to-text text-classification text-generation
    text-ranking text-retrieval text-to-3d text-to-audio text-to-image text-to-speech
    text-to-video time-series-forecasting token-classification translation
    unconditional-image-generation video-classification video-text-to-text video-to-video
    visual-document-retrieval visual-question-answering voice-activity-detection
    zero-shot-classification zero-shot-image-classification zero-shot-object-detection
"""
TASKS = tuple(_TASKS.split())
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
RELATIONS = ("adapter", "finetune", "merge", "quantized")
PERSONAL = ("anonymised", "no", "unknown", "yes")
LANGUAGES = {
    "arabic": "ar", "chinese": "zh", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hindi": "hi", "italian": "it", "japanese": "ja", "korean": "ko", "norwegian": "no",
    "polish": "pl", "portuguese": "pt", "russian": "ru", "spanish": "es", "swedish": "sv",
    "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
}  # fmt: skip


def near(word: str, words: Iterable[str], likeness: float = 0.75) -> str:
    """The word that was probably meant, whatever its case and punctuation; empty if none is."""
    known = {_bare(one): one for one in words}
    found = difflib.get_close_matches(_bare(word)[:64], known, 1, likeness)
    return known[found[0]] if found else ""


def is_licence(name: str) -> bool:
    """Whether SPDX or Hugging Face knows this id or expression."""
    if name.strip().lower() in LICENCES:
        return True
    try:
        return bool(canonicalize_license_expression(name[:500]))
    except InvalidLicenseExpression:
        return False


def _bare(word: str) -> str:
    return re.sub(r"[^a-z0-9+]", "", word.lower())
