"""Models split for training, contributions judged, rounds aggregated, all inside the sandbox."""

from __future__ import annotations

import hashlib
import shutil

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from hub.protocol import federated, safetensors
from hub.protocol.federated import Part
from hub.protocol.training_rules import Rules
from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes

PARTS = [
    Part("w", "F32", (40, 300), "trainable"),
    Part("b", "F32", (300,), "trainable"),
    Part("mean", "F32", (300,), "statistic"),
    Part("var", "F32", (300,), "statistic", 0.0),
    Part("frozen", "F64", (3,), "frozen"),
]
RNG = np.random.default_rng(8)
KINDS = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I8": "i1", "U32": "<u4", "I64": "<i8"}


def pack(tensors):
    """Write (values, dtype) by name as a safetensors file."""
    first, header = safetensors.make_header(
        (name, dtype, np.shape(values)) for name, (values, dtype) in tensors.items()
    )
    return first + b"".join(
        np.asarray(tensors[one.name][0], KINDS[one.dtype]).tobytes() for one in header.tensors
    )


def unpack(content):
    header = safetensors.parse(
        content[8 : 8 + safetensors.header_bytes(content, len(content))], len(content)
    )
    return {
        one.name: np.frombuffer(
            content, KINDS[one.dtype], one.elements, header.data_start + one.start
        ).reshape(one.shape)
        for one in header.tensors
    }


BASE = {
    part.name: (RNG.standard_normal(part.shape) ** (2 if part.name == "var" else 1), part.dtype)
    for part in PARTS
}
BASE_BYTES = pack(BASE)


def change(seed, scale=1e-2):
    rng = np.random.default_rng(seed)
    return {
        part.name: (rng.standard_normal(part.shape) * scale).astype("f4")
        for part in federated.exchanged(PARTS)
    }


def delta(made):
    return pack({name: (values, "F32") for name, values in made.items()})


def full(made):
    return pack(
        {name: (BASE[name][0].astype("f4") + values, "F32") for name, values in made.items()}
    )


@pytest.fixture
def ask(sandbox, tmp_path):
    """Run a task of a training on contributions; gives the report and the files that it made."""

    def run(task, rows, contents, *, base=BASE_BYTES, files=(), parts=PARTS, **options):
        made = tmp_path / "made"
        shutil.rmtree(made, ignore_errors=True)
        places = {}
        for path, content in {"base": base, **dict(contents), **dict(files)}.items():
            place = tmp_path / hashlib.sha256(content).hexdigest()
            place.write_bytes(content)
            places[path] = str(place)

        def keep(report, folder):
            shutil.copytree(folder, made)
            return report

        options |= {"tensors": [part.to_json() for part in parts], "contributions": rows}
        report = sandbox.run(Request(task, "base", places, SUBJECT, options, SMALL), keep=keep)
        found = {path.name: path.read_bytes() for path in made.iterdir()} if made.exists() else {}
        return report, found

    return run


def judge(ask, content, encoding="delta/f32", **others):
    row = {
        "id": "a",
        "path": "1",
        "encoding": encoding,
        "sha256": hashlib.sha256(content).hexdigest(),
        **others,
    }
    report, _ = ask("federated-check", [row], {"1": content})
    (answer,) = report.facts["contributions"]
    return answer


def aggregate(ask, contents, rules=None, *, ns=(), encodings=(), order=None, **others):
    rows = [
        {
            "id": f"p{place}",
            "path": str(place),
            "encoding": encodings[place] if encodings else "delta/f32",
            "n": ns[place] if ns else 1,
        }
        for place in range(len(contents))
    ]
    rows = [rows[place] for place in order or range(len(rows))]
    rules = Rules.from_json({"clip_multiple": None, **(rules or {})}).to_json()
    contents = {str(place): content for place, content in enumerate(contents)}
    return ask("federated-aggregate", rows, contents, rules=rules, **others)


# --- splitting a model ---------------------------------------------------------------------------


def normalised(**others):
    """Conv, BatchNormalization and Gemm, as an exporter that keeps names writes them."""
    names = {"mean": "b.running_mean", "var": "b.running_var", **others}
    tensors = [
        samples.tensor("c.weight", (4, 1, 3, 3)),
        *(samples.tensor(f"b.{name}", (4,), seed=2) for name in ("weight", "bias")),
        *(samples.tensor(f"b.running_{name}", (4,), seed=3) for name in ("mean", "var")),
        samples.tensor("f.weight", (144, 3)),
        numpy_helper.from_array(np.array([0, 144], np.int64), "shape"),
        numpy_helper.from_array(np.float32(2), "scale"),
    ]
    nodes = [
        samples.node("Conv", ["x", "c.weight"], ["c"]),
        samples.node(
            "BatchNormalization", ["c", "b.weight", "b.bias", names["mean"], names["var"]], ["n"]
        ),
        samples.node("Reshape", ["n", "shape"], ["r"]),
        samples.node("Mul", ["r", "scale"], ["s"]),
        samples.node("MatMul", ["s", "f.weight"], ["y"]),
    ]
    return samples.model(
        nodes,
        [samples.value("x", shape=("N", 1, 8, 8))],
        [samples.value("y", shape=("N", 3))],
        tensors,
    )


@pytest.fixture
def split(sandbox, stored, tmp_path):
    def run(files, **options):
        files = {"m.onnx": files} if isinstance(files, bytes) else files
        entry = next(iter(files))
        made = tmp_path / "out"
        shutil.rmtree(made, ignore_errors=True)

        def keep(report, folder):
            shutil.copytree(folder, made)
            return report

        request = Request("federated-schema", entry, stored(files), SUBJECT, options, SMALL)
        report = sandbox.run(request, keep=keep)
        return report, {one.name: (made / one.name).read_bytes() for one in report.outputs}

    return run


def roles(report):
    return {part["name"]: part["role"] for part in report.facts["tensors"]}


def test_a_model_is_split_and_means_the_same(split, run, tmp_path):
    proto = normalised()
    report, files = split(proto.SerializeToString())
    assert (report.outcome, report.findings) == ("passed", ())
    trainable = dict.fromkeys(("c.weight", "b.weight", "b.bias", "f.weight"), "trainable")
    assert roles(report) == {
        **trainable,
        "b.running_mean": "statistic",
        "b.running_var": "statistic",
        "shape": "frozen",
        "scale": "frozen",
    }
    assert report.facts["parameters"] == 36 + 8 + 432
    weights = unpack(files["weights.safetensors"])
    for tensor in proto.graph.initializer:
        if tensor.name in weights:
            np.testing.assert_array_equal(weights[tensor.name], numpy_helper.to_array(tensor))
    checked = run("check", files)
    assert checked.outcome == "passed", checked.findings
    again, same = split(files)
    assert (again.facts, same) == (report.facts, files)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    back = onnx.load(tmp_path / "model.onnx")
    for tensor in back.graph.initializer:
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")
    assert back == proto


def test_the_graph_digest_is_of_everything_but_values(split):
    proto = normalised()
    first, _ = split(proto.SerializeToString())
    proto.graph.initializer[0].raw_data = bytes(len(proto.graph.initializer[0].raw_data))
    other, _ = split(proto.SerializeToString())
    assert other.facts["graph_digest"] == first.facts["graph_digest"]
    assert other.facts["weights_digest"] != first.facts["weights_digest"]
    proto.graph.node[0].name = "other"
    other, _ = split(proto.SerializeToString())
    assert other.facts["graph_digest"] != first.facts["graph_digest"]


def test_a_maintainer_may_freeze(split):
    report, _ = split(
        normalised().SerializeToString(), roles={"frozen": ["c.*", "b.*"], "trainable": ["scale"]}
    )
    trained = {name for name, role in roles(report).items() if role == "trainable"}
    assert trained == {"f.weight", "scale"}


def test_a_maintainer_may_train_a_few_alone(split):
    report, _ = split(
        normalised().SerializeToString(), roles={"frozen": ["*"], "trainable": ["f.*"]}
    )
    trained = {name for name, role in roles(report).items() if role != "frozen"}
    assert trained == {"f.weight"}


def test_a_device_gets_every_parameter_by_name(split, run):
    proto = normalised()
    large = numpy_helper.from_array(np.arange(1 << 14, dtype=np.int64), "index")
    proto.graph.initializer.append(large)
    report, files = split(proto.SerializeToString(), roles={"frozen": ["*"], "trainable": ["f.*"]})
    weights = unpack(files["weights.safetensors"])
    tensors = {one.name: numpy_helper.to_array(one) for one in proto.graph.initializer}
    assert weights.keys() == tensors.keys() == roles(report).keys()
    for name, values in tensors.items():
        np.testing.assert_array_equal(weights[name], values)
    # Small frozen ones are in the skeleton too, where shape inference reads them.
    skeleton = onnx.ModelProto.FromString(files["model.onnx"])
    outside = {one.name for one in skeleton.graph.initializer if one.external_data}
    assert outside == {"f.weight", "index"}
    assert run("check", files).outcome == "passed"


def test_what_a_normalisation_counts_is_never_trained(split):
    report, _ = split(normalised().SerializeToString(), roles={"trainable": ["*"]})
    assert roles(report)["b.running_var"] == "statistic"
    assert roles(report)["c.weight"] == "trainable"


@pytest.mark.parametrize(
    "asked", [{"frozen": ["none.*"]}, {"trainable": ["b.running_*"]}, {"statistic": ["C.weight"]}]
)
def test_a_pattern_that_gives_no_role_is_refused(split, asked):
    report, files = split(normalised().SerializeToString(), roles=asked)
    (finding,) = report.findings
    assert (report.outcome, finding.code, files) == ("failed", "training-role-unmatched", {})
    assert finding.where == next(iter(asked.values()))[0]
    assert "'c.weight'" in finding.message


def folded():
    proto = normalised()
    entry = proto.graph.node[0].metadata_props.add()
    entry.key, entry.value = "pkg.onnxscript.rewriter.rule_name", "FuseBatchNormIntoConv"
    return proto


def copied():
    proto = normalised(mean="copy")
    proto.graph.node.insert(0, samples.node("Identity", ["b.bias"], ["copy"]))
    return proto


def copied_weight():
    proto = normalised()
    proto.graph.node.insert(0, samples.node("Identity", ["b.bias"], ["copy"]))
    return proto


def renamed():
    proto = normalised()
    proto.graph.initializer[0].name = proto.graph.node[0].input[1] = "onnx::Conv_30"
    return proto


def halved():
    proto = normalised()
    values = numpy_helper.to_array(proto.graph.initializer[-3]).astype(np.float16)
    proto.graph.initializer[-3].CopyFrom(numpy_helper.from_array(values, "f.weight"))
    proto.graph.node[-1].input[0] = "h"
    proto.graph.node[-1].output[0] = "k"
    proto.graph.node.insert(4, samples.node("Cast", ["s"], ["h"], to=10))
    proto.graph.node.append(samples.node("Cast", ["k"], ["y"], to=1))
    return proto


def constant():
    values = numpy_helper.from_array(np.ones((4, 32), np.float32), "v")
    return samples.model(
        [
            samples.node("Constant", [], ["v"], value=values),
            samples.node("MatMul", ["x", "v"], ["y"]),
        ],
        [samples.value("x", shape=("N", 4))],
    )


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (folded, "training-folded"),
        (copied, "training-statistics-aliased"),
        (lambda: normalised(mean="b.bias"), "training-statistics-aliased"),
        (copied_weight, "training-weights-aliased"),
        (renamed, "training-weights-renamed"),
        (halved, "training-not-float32"),
        (lambda: onnx.ModelProto.FromString(samples.quantised()), "training-quantised"),
        (constant, "training-nothing-trainable"),
    ],
)
def test_what_a_device_would_not_recognise_is_refused(split, make, code):
    report, files = split(make().SerializeToString())
    assert report.outcome == "failed"
    assert code in codes(report)
    assert not files


def test_weights_elsewhere_are_told_of(split):
    proto = normalised()
    values = numpy_helper.from_array(np.ones((3, 64), np.float32), "v")
    proto.graph.node.append(samples.node("Constant", [], ["v"], value=values))
    report, _ = split(proto.SerializeToString())
    assert (report.outcome, codes(report)) == ("passed", ["training-not-exchangeable"])
    assert report.facts["not_exchangeable"] == ["v"]


# --- judging contributions -----------------------------------------------------------------------


def trainable_norm(made):
    return float(np.sqrt(sum((made[name].astype(float) ** 2).sum() for name in ("w", "b"))))


def test_norms_are_of_what_changed(ask):
    made = change(1)
    for content, encoding in ((delta(made), "delta/f32"), (full(made), "full/f32")):
        answer = judge(ask, content, encoding)
        assert answer["accepted"], answer
        assert answer["norm"] == pytest.approx(trainable_norm(made), rel=1e-5)
        assert answer["statistic_norm"] > 0


def spoiled(value):
    made = change(1)
    made["b"][7] = value
    return delta(made)


@pytest.mark.parametrize(
    ("content", "others", "problem", "tensor"),
    [
        (spoiled(np.nan), {}, "non-finite", "b"),
        (spoiled(np.inf), {}, "non-finite", "b"),
        (delta(change(1)), {"norm_limit": 0.5}, "norm-limit", ""),
        (delta(change(1)), {"sha256": "1" * 64}, "digest-mismatch", ""),
        (delta(change(1)), {"encoding": "delta/f16"}, "tensor-mismatch", "w"),
        (delta({**change(1), "b": change(1)["w"]}), {}, "tensor-mismatch", "b"),
        (delta({**change(1), "more": np.ones(2)}), {}, "tensor-mismatch", "more"),
        (delta({"w": change(1)["w"]}), {}, "tensor-mismatch", "b"),
        (delta(change(1))[:-1], {}, "tensor-mismatch", ""),
        (b"", {}, "tensor-mismatch", ""),
    ],
)
def test_what_does_not_fit_is_refused_by_name(ask, content, others, problem, tensor):
    answer = judge(ask, content, **others)
    assert not answer["accepted"]
    assert (answer["problem"], answer["tensor"]) == (problem, tensor)
    assert answer["detail"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("n", None, "The n of a contribution must be a whole number from 1 on."),
        ("n", "missing", "The n of a contribution"),
        ("n", -1, "The n of a contribution"),
        ("n", True, "The n of a contribution"),
        ("n", 1.5, "The n of a contribution"),
        ("staleness", "1", "The staleness of a contribution"),
        ("norm", -1.0, "The norm of a contribution must be a finite number of at least 0."),
        ("norm", True, "The norm of a contribution"),
        ("norm_limit", "2", "The norm_limit of a contribution"),
        ("path", None, "A contribution has no path."),
        ("encoding", "missing", "A contribution has no encoding."),
    ],
)
def test_a_malformed_description_of_a_contribution_stops_the_round(ask, field, value, words):
    content = delta(change(1))
    row = {"id": "a", "path": "a", "encoding": "delta/f32", "n": 1, field: value}
    if value == "missing":
        del row[field]
    report, _ = ask("federated-aggregate", [row], {"a": content}, rules=Rules().to_json())
    assert report.outcome == "errored"
    assert words in report.findings[0].message


def test_one_bad_contribution_harms_no_other(ask):
    contents = {"1": delta(change(1)), "2": spoiled(np.nan), "3": delta(change(3))}
    rows = [
        {
            "id": path, "path": path, "encoding": "delta/f32",
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for path, content in contents.items()
    ]  # fmt: skip
    report, _ = ask("federated-check", rows, contents)
    assert [one["accepted"] for one in report.facts["contributions"]] == [True, False, True]


# --- encodings -----------------------------------------------------------------------------------


def lossy(made, encoding):
    tensors = {name: (made[name], "F32") for name in ("mean", "var")}
    for name in ("w", "b"):
        flat = made[name].reshape(-1)
        if encoding == "delta/f16":
            tensors[name] = (made[name], "F16")
        elif encoding == "delta/int8-b4096":
            blocks = [flat[at : at + 4096] for at in range(0, flat.size, 4096)]
            scales = np.array([np.abs(block).max() / 127 for block in blocks], "f4")
            whole = np.concatenate([np.rint(b / s) for b, s in zip(blocks, scales, strict=True)])
            tensors |= {
                name: (whole.reshape(made[name].shape), "I8"),
                f"{name}.scale": (scales, "F32"),
            }
        else:
            kept = np.sort(np.argsort(-np.abs(flat))[: flat.size // 2])
            tensors |= {f"{name}.index": (kept, "U32"), f"{name}.value": (flat[kept], "F16")}
    return pack(tensors)


@pytest.mark.parametrize(
    ("encoding", "error"),
    [("delta/f16", 1e-3), ("delta/int8-b4096", 0.02), ("delta/topk", 0.5)],
)
def test_short_encodings_come_back_as_they_were_meant(ask, encoding, error):
    made = change(4)
    content = lossy(made, encoding)
    assert judge(ask, content, encoding)["accepted"]
    report, files = aggregate(ask, [content], encodings=[encoding])
    assert report.outcome == "passed", report.findings
    found = unpack(files["weights.safetensors"])["w"] - BASE["w"][0].astype("f4")
    assert np.linalg.norm(found - made["w"]) < error * np.linalg.norm(made["w"])
    assert np.linalg.norm(found) > 0.5 * np.linalg.norm(made["w"])


def test_places_of_a_sparse_contribution_ascend(ask):
    made = lossy(change(4), "delta/topk")
    tensors = {name: (values, "F32") for name, values in unpack(made).items()}
    tensors = {
        name: (values, "U32" if name.endswith("index") else "F16" if "value" in name else "F32")
        for name, (values, _) in tensors.items()
    }
    tensors["b.index"] = (tensors["b.index"][0][::-1], "U32")
    answer = judge(ask, pack(tensors), "delta/topk")
    assert (answer["problem"], answer["tensor"]) == ("tensor-mismatch", "b.index")


# --- aggregates ----------------------------------------------------------------------------------


def test_a_mean_is_within_one_ulp_of_float64_in_whatever_order(ask):
    made = [change(seed) for seed in range(5)]
    ns = [7, 1000, 12, 3, 99]
    contents = [full(one) if at % 2 else delta(one) for at, one in enumerate(made)]
    encodings = ["full/f32" if at % 2 else "delta/f32" for at in range(5)]
    told = {"rules": {"examples_multiple": None}, "ns": ns, "encodings": encodings}
    report, files = aggregate(ask, contents, **told)
    assert report.outcome == "passed", report.findings
    other, same = aggregate(ask, contents, **told, order=[3, 0, 4, 1, 2])
    assert same == files
    assert other.facts == report.facts
    found = unpack(files["weights.safetensors"])
    assert files["weights.safetensors"][:100] == BASE_BYTES[:100]
    np.testing.assert_array_equal(found["frozen"], BASE["frozen"][0])
    for name in ("w", "b", "mean", "var"):
        base = BASE[name][0].astype("f4").astype(float)
        moved = np.array(
            [
                (base + values[name]).astype("f4").astype(float) if at % 2 else base + values[name]
                for at, values in enumerate(made)
            ]
        )
        if name in {"mean", "var"}:
            moved = np.clip(moved, *statistic_bounds(moved, name))
        wanted = sum(n * one for n, one in zip(ns, moved, strict=True)) / sum(ns)
        assert np.all(np.abs(found[name] - wanted) <= np.spacing(np.abs(wanted).astype("f4")))
    assert found["var"].min() >= 0
    figures = report.facts["contributions"]
    assert [one["id"] for one in figures] == [f"p{at}" for at in range(5)]
    assert figures[1]["cosine"] == pytest.approx(1, abs=0.01)
    assert (
        hashlib.sha256(files["weights.safetensors"]).hexdigest() == report.facts["weights_digest"]
    )


def statistic_bounds(values, name):
    """The least and the most that a statistic of one device counts as."""
    middle = np.median(values, axis=0)
    if name == "var":
        return np.maximum(middle, 0) / 2, np.maximum(middle, 0) * 2
    reach = 2 * np.median(np.abs(values - middle), axis=0)
    return middle - reach, middle + reach


LIES = {
    "raised": {"var": 1e6, "mean": 1e6},
    "lowered": {"var": -1e6, "mean": -1e6},
}
EVERY_RULE = ["fedavg", "fedadam", "median", "trimmed-mean", "multi-krum", "geometric-median"]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("rule", EVERY_RULE)
def test_three_of_ten_cannot_break_a_statistic(ask, rule, lie):
    """They lie about a tenth of the statistics, small ones, which no norm of the update shows."""
    small = slice(0, 30)
    start = BASE | {"var": (np.full(300, 9.0), "F32"), "mean": (np.zeros(300), "F32")}
    start["var"][0][small] = 0.1
    made = [change(seed, scale=1e-3) for seed in range(10)]
    for values in made:
        for name in ("var", "mean"):
            values[name][30:] *= 300
    for values in made[:3]:
        for name, value in LIES[lie].items():
            values[name][small] = value
    rules = {"rule": rule, "clip_multiple": 1.0}
    report, files = aggregate(ask, [delta(one) for one in made], rules, base=pack(start))
    assert report.outcome == "passed", report.findings
    found = unpack(files["weights.safetensors"])
    assert found["var"][small].max() <= 0.2
    assert found["var"][small].min() >= 0.05
    assert np.abs(found["mean"][small]).max() < 0.01


def test_statistics_go_through_the_rule(ask):
    made = [change(seed, scale=1e-3) for seed in range(9)]
    for values in made[:2]:
        values["mean"] += 0.5
        values["w"] += 1.0
    contents = [delta(one) for one in made]
    values = np.array([BASE["mean"][0].astype("f4").astype(float) + one["mean"] for one in made])
    bounded = np.clip(values, *statistic_bounds(values, "mean"))
    ordered = np.sort(bounded, axis=0)
    wanted = {
        "median": ordered[4],
        "trimmed-mean": ordered[1:-1].mean(axis=0),
        "multi-krum": bounded[2:].mean(axis=0),
    }
    for rule, expected in wanted.items():
        rules = {"rule": rule}
        if rule == "multi-krum":
            rules["parameters"] = {"attackers": 0.3}
        _, files = aggregate(ask, contents, rules)
        found = unpack(files["weights.safetensors"])["mean"]
        np.testing.assert_allclose(found, expected, atol=2e-7, err_msg=rule)


def test_no_claim_of_examples_decides_a_round(ask):
    contents = [delta(change(seed)) for seed in range(4)]
    claims = {None: [10, 12, 9, 10_000], 2.0: [10, 12, 9, 20], 1.0: [10, 10, 9, 10]}
    for multiple, examples in claims.items():
        rules = {"examples_multiple": multiple}
        report, _ = aggregate(ask, contents, rules, ns=[10, 12, 9, 10**6])
        assert [one["n"] for one in report.facts["contributions"]] == examples
    report, _ = aggregate(ask, contents, {}, ns=[10, 12, 9, 10**6])
    assert [one["n"] for one in report.facts["contributions"]] == claims[2.0]  # unless told


def test_of_two_devices_the_claim_of_one_decides_nothing(ask):
    report, _ = aggregate(ask, [delta(change(seed)) for seed in range(2)], {}, ns=[10, 10_000])
    assert [one["n"] for one in report.facts["contributions"]] == [10, 20]


@pytest.mark.parametrize(
    "rules",
    [
        {"clip_norm": 1.0},
        {"clip_norm": 1.0, "clip_multiple": 2.0},
        {"rule": "median"},
        {"rule": "median", "clip_norm": 1.0},
        {"rule": "multi-krum", "clip_norm": 1.0},
        {"clip_multiple": 1.0},
    ],
)
def test_a_statistic_out_of_all_measure_moves_nothing_far(ask, rules):
    made = [change(seed) for seed in range(9)]
    made[4]["mean"] = np.full_like(made[4]["mean"], 1e30)
    report, files = aggregate(ask, [delta(one) for one in made], rules)
    assert report.outcome == "passed", report.findings
    moved = unpack(files["weights.safetensors"])["mean"] - BASE["mean"][0].astype("f4")
    longest = max(np.linalg.norm(one["mean"]) for one in made if one is not made[4])
    assert np.linalg.norm(moved) < 2 * longest


def test_a_result_beyond_float32_fails_its_round(ask):
    made = [{name: np.full_like(v, 3e38) for name, v in change(1).items()} for _ in range(2)]
    base = {
        name: (np.full_like(v[0], 2e38), v[1]) for name, v in BASE.items() if name in {"w", "b"}
    }
    report, files = aggregate(ask, [delta(one) for one in made], base=pack({**BASE, **base}))
    assert (report.outcome, codes(report)) == ("failed", ["training-round-unfit"])
    assert "beyond what float32 can hold" in report.findings[0].message
    assert files == {}


def test_counts_are_capped_and_long_updates_shortened(ask):
    made = [change(1), change(2), change(3, scale=10.0)]
    rules = {"examples_cap": 2, "clip_multiple": 1.0}
    report, files = aggregate(ask, [delta(one) for one in made], rules, ns=[1, 2, 10**6])
    one, two, three = report.facts["contributions"]
    assert (one["n"], two["n"], three["n"]) == (1, 2, 2)
    assert three["clipped"]
    limit = report.facts["clip_limit"]
    assert limit == pytest.approx(sorted(trainable_norm(each) for each in made)[1], rel=1e-6)
    moved = unpack(files["weights.safetensors"])["w"] - BASE["w"][0].astype("f4")
    assert np.linalg.norm(moved) < limit
    report, _ = aggregate(
        ask, [delta(one) for one in made], rules,
        norm_history=[{"trainable": 1e-3, "statistic": 1e-3}] * 5,
    )  # fmt: skip
    assert report.facts["clip_limit"] == pytest.approx(1e-3)


@pytest.mark.parametrize("rule", ["median", "trimmed-mean", "multi-krum", "geometric-median"])
def test_robust_rules_bear_two_attackers_of_nine(ask, rule):
    honest = change(1)
    good = [
        {name: values + change(50 + at, 1e-3)[name] for name, values in honest.items()}
        for at in range(7)
    ]
    bad = [{name: -100 * values for name, values in honest.items()} for _ in range(2)]
    rules = {"rule": rule}
    if rule in {"trimmed-mean", "multi-krum"}:
        rules["parameters"] = {"trim" if rule == "trimmed-mean" else "attackers": 0.3}
    report, files = aggregate(ask, [delta(one) for one in good + bad], rules)
    assert report.outcome == "passed", report.findings
    moved = unpack(files["weights.safetensors"])["w"] - BASE["w"][0].astype("f4")
    assert np.linalg.norm(moved - honest["w"]) < 0.2 * np.linalg.norm(honest["w"])


def test_an_optimiser_remembers_the_rounds_before(ask):
    made = change(1)
    rules = {"rule": "fedavgm", "parameters": {"momentum": 0.5}}
    _, first = aggregate(ask, [delta(made)], rules)
    _, second = aggregate(
        ask, [delta(made)], rules, base=first["weights.safetensors"],
        files={"optimiser.safetensors": first["optimiser.safetensors"]},
    )  # fmt: skip
    moved = unpack(second["weights.safetensors"])["w"] - unpack(first["weights.safetensors"])["w"]
    np.testing.assert_allclose(moved, 1.5 * made["w"], atol=1e-6)


def test_noise_is_the_seeds_and_of_the_stated_size(ask):
    parts = [part for part in PARTS if part.role == "trainable"]
    base = pack({part.name: BASE[part.name] for part in parts})
    made = [
        delta({name: values for name, values in change(seed).items() if name in {"w", "b"}})
        for seed in range(4)
    ]
    rules = {"noise_multiplier": 2.0, "clip_norm": 1.0}
    same = {"base": base, "parts": parts, "seed": "ab" * 32}
    _, first = aggregate(ask, made, rules, **same)
    _, again = aggregate(ask, made, rules, **same)
    assert again == first
    _, silent = aggregate(ask, made, {"clip_norm": 1.0}, base=base, parts=parts)
    noise = unpack(first["weights.safetensors"])["w"] - unpack(silent["weights.safetensors"])["w"]
    assert noise.std() == pytest.approx(2.0 / 4, rel=0.05)
    refused, _ = aggregate(ask, [delta(change(1))], rules, seed="ab" * 32)
    assert (refused.outcome, codes(refused)) == ("failed", ["training-round-unfit"])
