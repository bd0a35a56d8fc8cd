"""Seeded splits of the data sets that scikit-learn bundles.

Nothing is downloaded. The held-out rows are never seen by a fit or a calibration: they are only
measured, once, and travel with the model so that anybody can measure them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20240901


@dataclass(frozen=True)
class Split:
    """Training and held-out rows of one data set, with the names of its columns and classes."""

    source: str
    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    held_x: NDArray[np.float32]
    held_y: NDArray[np.int64]
    features: tuple[str, ...]
    classes: tuple[str, ...]
    held_out_fraction: float

    def facts(self) -> dict[str, object]:
        """Return what training.json says about the rows and how they were divided."""
        return {
            "source": self.source,
            "rows": len(self.train_y) + len(self.held_y),
            "train_rows": len(self.train_y),
            "held_out_rows": len(self.held_y),
            "held_out_fraction": self.held_out_fraction,
            "split": "stratified by class, shuffled",
            "split_seed": SEED,
        }


def _split(loader: str, bunch: object, shape: tuple[int, ...], scale: float, part: float) -> Split:
    # float32 before any fit: a threshold learned between float64 values could fall on the other
    # side of the same value once the graph has rounded it.
    x = (np.asarray(bunch.data) / scale).astype(np.float32).reshape(-1, *shape)
    y = np.asarray(bunch.target).astype(np.int64)
    train_x, held_x, train_y, held_y = train_test_split(
        x, y, test_size=part, stratify=y, random_state=SEED
    )
    return Split(
        source=f"sklearn.datasets.{loader}",
        train_x=train_x,
        train_y=train_y,
        held_x=held_x,
        held_y=held_y,
        features=tuple(str(name) for name in bunch.feature_names),
        classes=tuple(str(name) for name in bunch.target_names),
        held_out_fraction=part,
    )


def digits() -> Split:
    """Handwritten digits: float32 [rows, 1, 8, 8], ink 0..16 divided by 16."""
    return _split("load_digits", load_digits(), (1, 8, 8), 16.0, 0.2)


def wine() -> Split:
    """Chemical analyses of wines: float32 [rows, 13] in the units of the data set."""
    return _split("load_wine", load_wine(), (13,), 1.0, 0.25)


def breast_cancer() -> Split:
    """Measurements of cell nuclei: float32 [rows, 30] in the units of the data set."""
    return _split("load_breast_cancer", load_breast_cancer(), (30,), 1.0, 0.25)
