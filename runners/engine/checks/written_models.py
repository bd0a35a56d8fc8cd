"""Judges a written variant by the checker and the runtime's loader, and describes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from runners.engine.checks import check
from runners.engine.onnx_files import describe, whole_models

# What decides how 8-bit products are summed, and so what a quantised model's figures mean.
_TOLD_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm")
_FLAG_LINES = ("flags", "Features")


def judge(path: Path) -> dict[str, Any]:
    """Load a variant; gives its description, what scan and checker say, and processor flags.

    Raises what the runtime raises.
    """
    check.run_load(path)
    sizes = {file.name: file.stat().st_size for file in whole_models.family(path)}
    handle = os.open(path, os.O_RDONLY)
    try:
        scan = describe.describe(handle, path.name, sizes)
    finally:
        os.close(handle)
    return {
        "scan": scan,
        # Not the last word: the checker rejects some originals too.
        "checker": check.complaint(lambda: check.run_checker(path, {}), path),
        "cpu": processor_flags(),
    }


def processor_flags() -> list[str]:
    """List the flags of this processor that matter to 8-bit products."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    flags = {
        flag
        for line in lines
        if line.startswith(_FLAG_LINES)
        for flag in line.partition(":")[2].split()
    }
    return [flag for flag in _TOLD_FLAGS if flag in flags]
