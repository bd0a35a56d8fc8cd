"""Facts without weights: exact for small models, cheap for large ones."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from onnx import helper, numpy_helper

from hub.protocol.facts import Facts
from runners.engine.onnx_files.describe import barcode
from runners.engine.onnx_files.vocabulary import CATEGORIES
from tests import samples
from tests.engine.conftest import codes


def test_facts_of_a_small_network(run):
    data = samples.mlp()
    report = run("describe", data)
    facts = report.facts
    assert (report.outcome, report.findings, report.task) == ("passed", (), "describe")
    assert set(report.versions) == {"engine", "python", "onnx", "onnxruntime"}
    assert {key: facts[key] for key in ("format", "ir_version", "opset", "opsets")} == {
        "format": "onnx",
        "ir_version": 8,
        "opset": 17,
        "opsets": {"ai.onnx": 17},
    }
    assert facts["producer"] == {"name": "samples", "version": "1"}
    assert facts["graph"] == {"name": "mlp", "doc": ""}
    assert facts["inputs"] == [
        {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 4]}
    ]
    assert facts["outputs"] == [
        {"name": "y", "type": "tensor", "dtype": "float32", "shape": ["N", 3]}
    ]
    assert facts["nodes"] == {"total": 4, "graph": 4, "subgraphs": 0, "functions": 0}
    assert facts["operators"][0] == {"domain": "ai.onnx", "name": "Gemm", "count": 2}
    assert [CATEGORIES[cell] for cell in facts["barcode"]["cells"]] == [
        "matmul",
        "activation",
        "matmul",
        "activation",
    ]
    assert facts["parameters"] == 4 * 8 + 8 + 8 * 3 + 3
    assert facts["precision"] == "fp32"
    assert facts["initializers"]["by_dtype"] == {
        "float32": {"count": 4, "elements": 67, "bytes": 268}
    }
    assert facts["size"] == {"entry": len(data), "external": 0}
    assert not facts["control_flow"]
    assert not facts["training_info"]
    assert facts["custom_domains"] == []


def test_inputs_of_old_models_leave_out_their_weights(run):
    made = samples.mlp_proto()
    made.graph.input.extend([samples.value("w1", shape=(4, 8)), samples.value("b1", shape=(8,))])
    facts = run("describe", made.SerializeToString()).facts
    assert [value["name"] for value in facts["inputs"]] == ["x"]


def test_functions_and_branches(run):
    facts = run("describe", samples.with_functions()).facts
    assert facts["functions"] == [{"domain": "local", "name": "Leak", "overload": "", "nodes": 1}]
    assert facts["nodes"] == {"total": 3, "graph": 2, "subgraphs": 0, "functions": 1}
    assert facts["custom_domains"] == []
    facts = run("describe", samples.with_branches()).facts
    assert facts["control_flow"]
    assert facts["nodes"] == {"total": 3, "graph": 1, "subgraphs": 2, "functions": 0}
    assert facts["barcode"]["nodes"] == 3


def test_external_files(run):
    facts = run("describe", samples.with_external_data()).facts
    assert facts["external_files"] == [
        {"path": "weights.bin", "size": 64, "tensors": 1, "bytes": 64, "first": 0, "end": 64}
    ]
    assert facts["parameters"] == 16
    assert facts["size"]["external"] == 64


@pytest.mark.parametrize("task", ["describe", "check"])
def test_external_data_that_is_a_git_lfs_pointer_is_named_so(run, task):
    files = samples.with_external_data() | {"weights.bin": samples.lfs_pointer()}
    report = run(task, files)
    assert report.outcome == "failed"
    assert report.findings[0].code == "git-lfs-pointer"
    assert "External data 'weights.bin' is a Git LFS pointer" in report.findings[0].message


@pytest.mark.parametrize(
    ("offset", "size", "words"),
    [
        (0, 64, ""),
        (0, 32768, "reads 32,704 of 32,768 bytes of 'weights.bin': bytes 64 to 32,767."),
        (0, 4096, ""),  # filled up to a page
        (0, 4100, "reads 4,036 of 4,100 bytes of 'weights.bin': bytes 64 to 4,099."),
        (4000, 4064, "reads 4,000 of 4,064 bytes of 'weights.bin': bytes 0 to 3,999."),
        (131072, 131136, "reads 131,072 of 131,136 bytes of 'weights.bin': bytes 0 to 131,071."),
        (100, 300, "reads 236 of 300 bytes of 'weights.bin': bytes 0 to 99, 164 to 299."),
    ],
)
def test_bytes_of_external_data_that_nothing_reads_are_named(run, offset, size, words):
    files = samples.with_external_data(offset=offset)
    weights = files["weights.bin"]
    files["weights.bin"] = bytes(offset) + weights + bytes(size - offset - len(weights))
    findings = run("describe", files).findings
    assert [finding.code for finding in findings] == (["external-data-unread"] if words else [])
    assert words in "".join(finding.message for finding in findings)


def test_bytes_that_another_model_of_the_version_may_read_are_none(run):
    files = samples.with_external_data()
    files |= {"weights.bin": files["weights.bin"] + bytes(9999), "other.onnx": samples.mlp()}
    assert run("describe", files).findings == ()


def test_a_model_without_a_default_operator_set_says_so(run):
    made = samples.model(
        [samples.node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])],
        domains=[("ai.onnx.ml", 3)],
    )
    del made.opset_import[0]
    report = run("describe", made.SerializeToString())
    assert report.facts["opset"] is None
    assert [finding.code for finding in report.findings] == ["no-default-opset"]
    assert report.findings[0].message.startswith("The model imports ai.onnx.ml 3 and no set of ")


def test_every_external_file_is_listed(run):
    files = samples.with_files_for_each_tensor(300)
    facts = run("describe", files).facts
    paths = [row["path"] for row in facts["external_files"]]
    assert paths == sorted(path for path in files if path != "model.onnx")
    assert {one.path for one in Facts.read(facts).external_files} == set(paths)


def test_types_other_than_tensors(run):
    outputs = run("describe", samples.zip_map()).facts["outputs"]
    assert outputs[1] == {
        "name": "z",
        "type": "sequence",
        "element": {
            "type": "map",
            "key": "int64",
            "value": {"type": "tensor", "dtype": "float32", "shape": None},
        },
    }


@pytest.mark.parametrize(
    ("block", "word", "layout", "elements"),
    [
        (0, "int8", {"layout": "channel", "block_size": 0, "weights": 1}, {"int8": 256, "fp32": 4}),
        (32, "int4", {"layout": "block", "block_size": 32, "weights": 1}, {"int4": 256, "fp32": 8}),
    ],
)
def test_precision_of_quantised_weights(run, block, word, layout, elements):
    facts = run("describe", samples.quantised(block=block)).facts
    assert facts["precision"] == word
    assert facts["precision_profile"]["forms"] == ["weight-only"]
    assert facts["precision_profile"]["scales"] == [layout]
    assert facts["precision_profile"]["elements"] == elements


@pytest.mark.parametrize(("bits", "columns"), [(4, 16), (2, 8), (8, 32)])
def test_packed_weights_count_as_the_values_they_stand_for(run, bits, columns):
    attributes = {"K": 64, "N": 8, "bits": bits, "block_size": 32}
    made = samples.model(
        [samples.node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes)],
        initializers=[
            samples.tensor("w", (8, 2, columns), dtype="uint8"),
            samples.tensor("s", (16,)),
        ],
        domains=[("com.microsoft", 1)],
    )
    facts = run("describe", made.SerializeToString()).facts
    assert (facts["parameters"], facts["constants"]) == (64 * 8, 16)


@pytest.mark.parametrize(
    ("dtype", "word"),
    [("float16", "fp16"), ("float64", "fp64"), ("float32", "fp32"), ("int8", "int8")],
)
def test_precision_of_plain_weights(run, dtype, word):
    made = samples.model(
        [samples.node("Identity", ["w"], ["y"])],
        initializers=[samples.tensor("w", (9,), dtype=dtype)],
    )
    assert run("describe", made.SerializeToString()).facts["precision"] == word


def test_two_formats_are_mixed(run):
    weights = [samples.tensor("a", (50,)), samples.tensor("b", (50,), dtype="float16")]
    made = samples.model([samples.node("Identity", ["a"], ["y"])], initializers=weights)
    facts = run("describe", made.SerializeToString()).facts
    assert facts["precision"] == "mixed"
    assert facts["initializers"]["unused"] == {"count": 1, "bytes": 100, "names": ["b"]}


def test_shared_and_duplicate_weights(run):
    weights = [samples.tensor("a", (50,)), samples.tensor("b", (50,))]
    nodes = [
        samples.node("Add", ["x", "a"], ["h"]),
        samples.node("Add", ["h", "a"], ["i"]),
        samples.node("Add", ["i", "b"], ["y"]),
    ]
    made = samples.model(nodes, initializers=weights)
    kept = run("describe", made.SerializeToString()).facts["initializers"]
    assert kept["shared"] == 1
    assert kept["duplicates"] == {"groups": 1, "bytes": 200}


def test_unknown_operators_are_named(run):
    report = run("describe", samples.unknown_domain())
    assert codes(report) == ["needs-operator-set"]
    assert report.outcome == "passed"
    assert report.facts["custom_domains"] == [
        {
            "domain": "com.acme",
            "version": 1,
            "operators": ["Frobnicate"],
            "nodes": 1,
            "provided_by": "",
        }
    ]


def test_names_fit_any_database(run):
    made = samples.add_one().replace(b"samples", b"sam\x00\xffes")
    report = run("describe", made)
    assert report.facts["producer"]["name"] == "sam\ufffd\ufffdes"


@pytest.mark.parametrize("count", [0, 1, 199, 200, 201, 5000])
def test_a_barcode_has_at_most_two_hundred_cells(count):
    made = barcode(bytes([1]) * count)
    assert made["cells"] == [1] * min(count, 200)
    assert made["nodes"] == count


def test_a_bin_takes_its_commonest_category():
    assert barcode(bytes([0, 0, 1] * 200))["cells"] == [0] * 200


def test_refused_files_have_no_facts(run):
    report = run("describe", samples.lfs_pointer())
    assert (report.outcome, codes(report), report.facts) == ("failed", ["git-lfs-pointer"], {})


def test_describing_imports_no_library():
    program = (
        "import runners.engine.onnx_files.describe, sys;"
        "sys.exit(bool({'onnx', 'onnxruntime', 'numpy', 'django'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_memory_and_time_do_not_grow_with_the_weights(tmp_path):
    """Half a gigabyte of weights, sparse on disk: under 0.1 s of CPU and 60 MB over the import."""
    size = 8 << 20
    tensor = samples.varint(1 << 3) + samples.varint(size // 4) + b"\x10\x01" + b"\x4a"
    tensor += samples.varint(size)
    count = 64
    total = count * (len(samples.varint(len(tensor) + size)) + 1 + len(tensor) + size)
    path = tmp_path / "big.onnx"
    with path.open("wb") as file:
        file.write(b"\x08\x08\x42\x02\x10\x11\x3a")
        names = [samples.field(8, f"w{place:03}".encode()) for place in range(count)]
        file.write(samples.varint(total + sum(map(len, names))))
        for name in names:
            file.write(b"\x2a" + samples.varint(len(tensor) + size + len(name)))
            file.write(name + tensor)
            file.seek(size, 1)
        file.truncate()
    program = MEASURE.format(path=str(path))
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    seconds, kilobytes, unused, findings = done.stdout.split()
    assert findings == "0"
    assert int(unused) == count * size // 4
    assert float(seconds) < 0.1
    assert int(kilobytes) < 60_000


MEASURE = """
import os, time
from runners.engine.onnx_files.describe import describe
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
before, handle, taken = peak(), os.open({path!r}, os.O_RDONLY), []
for _ in range(3):  # the best of three: the machine may be busy with other tests
    started = time.process_time()
    said = describe(handle, "m.onnx", {{"m.onnx": os.fstat(handle).st_size}})
    taken.append(time.process_time() - started)
print(min(taken), peak() - before, said.facts["constants"],
      len(said.findings))
"""


def _half(names, value):
    """A branch of an If with 100 x 100 weights named ``w``."""
    return helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], [names])],
        names,
        [],
        [samples.value(names, shape=(1, 100))],
        [numpy_helper.from_array(np.full((100, 100), value, np.float32), "w")],
    )


def _model(nodes, inputs, outputs, *, functions=(), opsets=(("", 18),)):
    graph = helper.make_graph(list(nodes), "counted", list(inputs), list(outputs))
    imports = [helper.make_opsetid(*opset) for opset in opsets]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    made.ir_version = 9
    return made.SerializeToString()


def test_weights_of_one_name_in_two_branches_count_twice(run):
    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=_half("t", 1.0), else_branch=_half("e", 2.0)
    )
    inputs = [samples.value("x", shape=(1, 100)), samples.value("c", 9, ())]
    facts = run("describe", _model([node], inputs, [samples.value("y", shape=(1, 100))])).facts
    assert (facts["parameters"], facts["precision"]) == (20_000, "fp32")


def test_a_weight_is_used_where_its_own_graph_names_it(run):
    unused = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["e"])],
        "else",
        [],
        [samples.value("e", shape=(1, 100))],
        [numpy_helper.from_array(np.ones((100, 100), np.float32), "w")],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=_half("t", 1.0), else_branch=unused)
    inputs = [samples.value("x", shape=(1, 100)), samples.value("c", 9, ())]
    facts = run("describe", _model([node], inputs, [samples.value("y", shape=(1, 100))])).facts
    assert facts["initializers"]["unused"] == {"count": 1, "bytes": 40_000, "names": ["w"]}
    assert facts["initializers"]["shared"] == 0


def test_weights_of_one_name_in_two_functions_count_twice_and_calls_do_not(run):
    functions = [
        helper.make_function(
            "local",
            name,
            ["a"],
            ["b"],
            [
                helper.make_node(
                    "Constant", [], ["w"], value=numpy_helper.from_array(np.ones(50, np.float32))
                ),
                helper.make_node("Add", ["a", "w"], ["b"]),
            ],
            [helper.make_opsetid("", 18)],
        )
        for name in ("F", "G")
    ]
    calls = [("F", "x", "p"), ("F", "p", "q"), ("G", "q", "y")]
    nodes = [helper.make_node(name, [a], [b], domain="local") for name, a, b in calls]
    data = _model(
        nodes,
        [samples.value("x", shape=(50,))],
        [samples.value("y", shape=(50,))],
        functions=functions,
        opsets=(("", 18), ("local", 1)),
    )
    assert run("describe", data).facts["parameters"] == 100


_ML = (("", 18), ("ai.onnx.ml", 3))
_TREE = {
    "nodes_treeids": [0] * 5,
    "nodes_nodeids": list(range(5)),
    "nodes_featureids": [0, 1, 0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.25, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 2, 0, 0, 0],
    "nodes_falsenodeids": [4, 3, 0, 0, 0],
    "target_treeids": [0, 0, 0],
    "target_nodeids": [2, 3, 4],
    "target_ids": [0, 0, 0],
    "target_weights": [1.0, 2.0, 3.0],
    "n_targets": 1,
}


@pytest.mark.parametrize(
    ("operator", "attributes", "parameters"),
    [
        ("TreeEnsembleRegressor", _TREE, 2 + 3),
        ("LinearRegressor", {"coefficients": [1.0, 2.0], "intercepts": [3.0], "targets": 1}, 3),
        (
            "SVMRegressor",
            {
                "coefficients": [1.0, -1.0],
                "rho": [0.5],
                "support_vectors": [1.0, 2.0, 3.0, 4.0],
                "n_supports": 2,
                "kernel_params": [0.1, 0.0, 3.0],
                "kernel_type": "RBF",
            },
            7,
        ),
        ("Scaler", {"offset": [1.0, 2.0], "scale": [3.0, 4.0]}, 4),
    ],
)
def test_weights_in_attributes_are_counted(run, operator, attributes, parameters):
    node = helper.make_node(operator, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    data = _model(
        [node], [samples.value("x", shape=("N", 2))], [samples.value("y", shape=("N", "M"))],
        opsets=_ML,
    )  # fmt: skip
    facts = run("describe", data).facts
    assert (facts["parameters"], facts["precision"]) == (parameters, "fp32")


def test_weights_that_nobody_can_name_are_not_counted(run):
    node = helper.make_node("Forest", ["x"], ["y"], domain="com.acme", leaves=[1.0, 2.0, 3.0])
    data = _model(
        [node],
        [samples.value("x", shape=(1,))],
        [samples.value("y", shape=(1,))],
        opsets=(("", 18), ("com.acme", 1)),
    )
    report = run("describe", data)
    assert report.facts["parameters"] is None
    assert "parameters-not-counted" in codes(report)


def test_settings_of_operators_that_onnx_lacks_leave_the_count(run):
    node = helper.make_node(
        "Clamp", ["x"], ["y"], domain="com.acme", activation_params=[0.0, 6.0], mode="hard"
    )
    data = _model(
        [node],
        [samples.value("x", shape=(1,))],
        [samples.value("y", shape=(1,))],
        opsets=(("", 18), ("com.acme", 1)),
    )
    assert run("describe", data).facts["parameters"] == 0


def test_facts_name_tensors_and_hold_none_of_their_values(run):
    weights = np.full((4, 3), 31415.9265, np.float32)
    model = samples.model(
        [samples.node("MatMul", ["x", "secret.weight"], ["y"])],
        [samples.value("x", shape=("N", 4))],
        [samples.value("y", shape=("N", 3))],
        [numpy_helper.from_array(weights, "secret.weight")],
    )
    facts = run("describe", model.SerializeToString()).facts
    assert [row["name"] for row in facts["initializers"]["largest"]] == ["secret.weight"]
    assert "31415" not in json.dumps(facts)
