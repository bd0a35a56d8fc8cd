"""The node tests of the installed onnx package, as files: a model, its values and its tolerance.

Importing a module of the package makes its cases, which costs most of the time; so a part of the
suite imports only its share of the modules.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import pkgutil
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from runners.engine.onnx_files import bodies, datasets
from runners.engine.onnx_files.datasets import DataSet

_INDEX = "index.json"
_EXPANDED = "_expanded"


@dataclass(frozen=True, slots=True)
class Case:
    """One case: its files lie in the folder of its number."""

    number: int
    name: str
    operator: str
    opset: int
    rtol: float
    atol: float
    # Why there are no files; such a case counts as not run.
    problem: str = ""


def modules() -> list[str]:
    """List the modules of node cases, in an order that depends only on the onnx package."""
    package = importlib.import_module("onnx.backend.test.case.node")
    modules_inside = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return sorted(module.name for module in modules_inside)


def write(folder: Path, part: int, parts: int) -> int:
    """Make this part's cases and write them, with an index; gives their number. For a child."""
    package = importlib.import_module("onnx.backend.test.case.node")
    node_cases = package._NodeTestCases  # noqa: SLF001 - the public way makes all 1,884
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in modules()[part::parts]:
            importlib.import_module(name)
    originals = {case.name: case.model.graph.node[0] for case in node_cases}
    cases = [_write_one(folder, number, case, originals) for number, case in enumerate(node_cases)]
    index = json.dumps([asdict(case) for case in cases])
    (folder / _INDEX).write_text(index, encoding="utf-8")
    return len(cases)


def _write_one(folder: Path, number: int, case: Any, originals: dict[str, Any]) -> Case:
    node = originals.get(case.name.split(_EXPANDED)[0], case.model.graph.node[0])
    domain = "" if node.domain in bodies.DEFAULT_DOMAINS else node.domain
    home = folder / str(number)
    home.mkdir()
    problem = ""
    try:
        (home / "model.onnx").write_bytes(case.model.SerializeToString())
        for k, (inputs, outputs) in enumerate(case.data_sets):
            graph = case.model.graph
            sides = [
                dict(zip([port.name for port in ports], map(_value, values), strict=False))
                for ports, values in ((graph.input, inputs), (graph.output, outputs))
            ]
            dataset = DataSet(f"test_data_set_{k}", "bundled", *sides)
            datasets.write(home, dataset, case.model)
    except (ValueError, TypeError, KeyError) as error:
        problem = f"the case cannot be written: {error}"
    operator = f"{domain}.{node.op_type}" if domain else str(node.op_type)
    return Case(
        number, case.name, operator, _opset(case.model, domain), case.rtol, case.atol, problem
    )


def _value(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return value


def _opset(model: onnx.ModelProto, domain: str) -> int:
    """Give the version of the operator's own domain, or of the default one."""
    versions = {
        ("" if opset.domain in bodies.DEFAULT_DOMAINS else opset.domain): opset.version
        for opset in model.opset_import
    }
    return int(versions.get(domain, versions.get("", 0)))


def read_index(folder: Path) -> list[Case]:
    """Read what `write` wrote."""
    with contextlib.suppress(FileNotFoundError):
        return [Case(**row) for row in json.loads((folder / _INDEX).read_text(encoding="utf-8"))]
    return []
