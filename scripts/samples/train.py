"""Make the sample models of the hub again: train, export, measure, write the cards.

    python -m venv samples-venv
    samples-venv/bin/pip install -r scripts/samples/requirements.txt
    samples-venv/bin/python scripts/samples/train.py            # all of them, ten seconds
    samples-venv/bin/python scripts/samples/train.py wine-gbt   # one
    samples-venv/bin/python scripts/samples/train.py --check    # train aside, compare with ours
    python scripts/samples/train.py --cards                     # only the cards; needs no packages
    python scripts/samples/train.py --datasets                  # only the data sets; needs onnx

The data sets are the ones scikit-learn bundles: nothing is downloaded. Every seed is fixed and one
thread does the work, so the same packages on the same kind of CPU give the same bytes; only the
measured seconds in training.json (and so in the card) differ from run to run. A CPU with other
vector instructions may change the last bits of learned weights: --check then says which files.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from pathlib import Path

import cards

SAMPLES = Path(__file__).resolve().parents[2] / "hub" / "server" / "samples"
# in this order: digits-cnn-int8 is made from digits-cnn
BUILDERS = {
    "digits-cnn": "digits_cnn",
    "digits-cnn-int8": "digits_cnn_int8",
    "wine-gbt": "wine_gbt",
    "breast-cancer-pipeline": "breast_cancer_pipeline",
}


def _build(names: list[str], root: Path) -> None:
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - --cards runs without packages

    # Builders compute intervals as the hub does.
    sys.path.insert(1, str(SAMPLES.parents[2]))
    for name in names:
        builder = importlib.import_module(BUILDERS[name])
        with threadpool_limits(limits=1):
            builder.build(root / name)
        cards.write(root / name)
        record = json.loads((root / name / "training.json").read_text(encoding="utf-8"))
        accuracy, seconds = record["metrics"]["accuracy"], record["training"]["wall_seconds"]
        print(f"{name}: accuracy {accuracy}, {seconds} s, {record['model']['bytes']} bytes")


def _check(names: list[str]) -> int:
    """Train in a scratch folder and compare every file but the ones that hold seconds."""
    differing = []
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        needed = list(names)
        if "digits-cnn-int8" in needed and "digits-cnn" not in needed:
            needed.insert(0, "digits-cnn")
        _build(needed, root)
        for name in names:
            ours = json.loads((SAMPLES / name / "training.json").read_text(encoding="utf-8"))
            record = json.loads((root / name / "training.json").read_text(encoding="utf-8"))
            paths = ours["files"].keys() | record["files"].keys()
            differing += [
                f"{name}/{path}"
                for path in sorted(paths)
                if ours["files"].get(path) != record["files"].get(path)
            ]
            if ours["metrics"] != record["metrics"]:
                differing.append(f"{name}: metrics")
    print("\n".join(f"differs: {entry}" for entry in differing) or "the same, byte for byte")
    return 1 if differing else 0


def _write_datasets() -> None:
    """Make the data sets of the hub from the held-out rows of its samples."""
    held_out = importlib.import_module("held_out")  # --cards runs without packages
    held_out.write(SAMPLES, SAMPLES / "datasets")


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the sample models of the hub.")
    parser.add_argument("names", nargs="*", metavar="sample", help=", ".join(BUILDERS))
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="compare a fresh training with ours")
    mode.add_argument("--cards", action="store_true", help="only write the cards")
    mode.add_argument("--datasets", action="store_true", help="only write the data sets")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BUILDERS]
    if unknown:
        parser.error(f"no such sample: {', '.join(unknown)}")
    names = [name for name in BUILDERS if name in options.names or not options.names]
    if options.check:
        return _check(names)
    if options.cards:
        for name in names:
            cards.write(SAMPLES / name)
        return 0
    if not options.datasets:
        _build(names, SAMPLES)
    _write_datasets()
    return 0


if __name__ == "__main__":
    sys.exit(main())
