"""The builds of ONNX Runtime that this release offers, and the newest models that each loads.

A model whose operator set and IR version no build exceeds is portable: it loads on CPU workers, on
GPU workers and in browsers alike. The limits were measured by loading a model of one node of each
operator set and IR version; tests repeat it for the build that is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest operator set and the highest IR version that a runtime loads."""

    opset: int
    ir_version: int

    def admits(self, opset: int | None, ir_version: int | None) -> bool:
        """Whether a model of this operator set and IR version is loaded; unknown ones may be."""
        return (opset or 0) <= self.opset and (ir_version or 0) <= self.ir_version


@dataclass(frozen=True, slots=True)
class Build:
    """A package of a runtime in one version; ``place`` is where it runs, such as "on GPU"."""

    package: str
    version: str
    place: str
    ceiling: Ceiling


CPU: Final = Build("onnxruntime", "1.32.0", "on CPU", Ceiling(28, 14))
GPU: Final = Build("onnxruntime-gpu", "1.31.1", "on GPU", Ceiling(26, 13))
BROWSER: Final = Build("onnxruntime-web", "1.30.0", "in browsers", Ceiling(26, 13))
BUILDS: Final = (CPU, GPU, BROWSER)
PORTABLE: Final = Ceiling(
    min(build.ceiling.opset for build in BUILDS), min(build.ceiling.ir_version for build in BUILDS)
)


def refusals(opset: int | None, ir_version: int | None) -> list[str]:
    """Where a model of this operator set and IR version does not load, in words."""
    return [
        f"{build.place} ({build.version})"
        for build in BUILDS
        if not build.ceiling.admits(opset, ir_version)
    ]
