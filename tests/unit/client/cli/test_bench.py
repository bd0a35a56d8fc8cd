"""`hub bench`: its words, its files, and what it sends; the engine's own tests are elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hub.cli import command as cli_command
from hub.cli.bench import arguments, measurement
from hub.protocol import federated
from hub.protocol.signatures import benchmark_statement
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verdicts
from runners.engine.benchmark.options import Options
from tests.engine.benchmark import timings
from tests.unit.client.conftest import make_model

pytestmark = pytest.mark.usefixtures("default")


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """Stand for the engine: keeps what it was asked, and answers with a record made by hand."""
    seen = {}

    def benchmark(subject, options, interpreter, tell):
        tell(50, "measure")
        seen.update(subject=subject, options=options, interpreter=interpreter)
        return timings.record()

    monkeypatch.setattr(measurement, "benchmark", benchmark)
    return seen


def bench(capsys, *arguments):
    code = cli_command.main(["bench", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write(name, content):
    Path(name).write_text(json.dumps(content))
    return name


def test_a_version_is_fetched_measured_and_summed_up(fake, asked, capsys):
    fake.add("zoo/ones", make_model())
    code, out, err = bench(capsys, "ones", "--threads", "2", "--sweep-batch", "1,8", "--quiet")
    assert (code, err) == (0, "")
    assert asked["subject"].name == "zoo/ones@1"
    assert Path(asked["subject"].files["model.onnx"]).is_file()
    assert Options.from_json(asked["options"]).sweep_batch == (1, 8)
    assert asked["options"]["threads"] == 2
    assert "accepted: 10 of 10 processes used" in out
    assert "not reported: needs 6,636 samples, has 2,000" in out
    assert "none: no energy meter found and --watts-per-core not given" in out
    made = json.loads(Path("zoo-ones-1.benchmark.json").read_text())
    assert made == json.loads(json.dumps(timings.record()))


def test_the_engine_learns_which_inputs_the_card_declares(fake, asked, capsys, monkeypatch):
    declared = {"x": {"distribution": {"type": "one-of", "values": [7]}}}
    fake.add("zoo/ones", make_model(), inputs=declared)
    bench(capsys, "ones@1")
    assert Options.from_json(asked["options"]).inputs == declared
    monkeypatch.setenv("HUB_OFFLINE", "1")
    bench(capsys, "ones@1")
    assert Options.from_json(asked["options"]).inputs == {}


def test_a_file_of_ones_own_brings_what_lies_beside_it(asked, capsys, tmp_path):
    home = tmp_path / "mine"
    (home / "test_data_set_0").mkdir(parents=True)
    for name in ("m.onnx", "weights.bin", "test_data_set_0/input_0.pb"):
        (home / name).write_bytes(b"x")
    assert bench(capsys, str(home / "m.onnx"), "--json", "--output", "r.json")[0] == 0
    assert sorted(asked["subject"].files) == [
        *("m.onnx", "test_data_set_0/input_0.pb", "weights.bin"),
    ]
    code, _, err = bench(capsys, "nothing.onnx")
    assert (code, err) == (1, "hub: File not found: nothing.onnx.\n")


# The answer about a version, whose card declares no inputs.
VERSION = (200, {}, b"{}")


def challenge(nonce):
    day = "2026-01-02T03:04:05Z"
    seed = form.seed_of(nonce)
    fields = {"challenge": nonce, "seed": seed, "issued_at": day, "expires_at": day}
    return json.dumps(fields).encode()


def test_a_record_is_contributed_to_the_version_it_came_from(fake, asked, capsys):
    fake.add("zoo/ones", make_model())
    bench(capsys, "ones", "--output", "r.json")
    nonce = "0f" * 32
    given = challenge(nonce)
    kept = (201, {"Location": "/api/v1/benchmarks/7"}, json.dumps({"items": []}).encode())
    fake.answers += [VERSION, (201, {}, given), kept]
    code, out, _ = bench(capsys, "ones@1", "--output", "r.json", "--contribute")
    assert code == 0
    assert "contributed /api/v1/benchmarks/7" in out
    assert asked["options"]["challenge"] == nonce
    assert asked["options"]["seed"] == form.seed_of(nonce)
    assert any("challenges?reuse=true" in target for _, target, _ in fake.requests)
    code, _, err = bench(capsys, "ones@1", "--output", "r.json", "--contribute", "--seed", "1")
    assert code == 1
    assert "Remove --seed" in err


def test_an_enrolled_worker_signs_what_it_contributes(fake, asked, capsys):
    fake.add("zoo/ones", make_model())
    bench(capsys, "ones", "--output", "r.json")
    code, out, _ = bench(capsys, "key", "worker.key")
    assert code == 0
    assert Path("worker.key").stat().st_mode & 0o777 == 0o600
    public = out.splitlines()[1].split()[-1]
    assert bench(capsys, "key", "worker.key")[0] == 1
    nonce = "0f" * 32
    given = challenge(nonce)
    fake.answers += [VERSION, (201, {}, given), (201, {"Location": "/7"}, b"{}")]
    signed = ("--contribute", "--worker", "lab-1", "--key", "worker.key")
    assert bench(capsys, "ones@1", "--output", "r.json", *signed)[0] == 0
    [told] = [
        value
        for _, _, headers in fake.requests
        for name, value in headers.items()
        if name.lower() == "hub-signature"
    ]
    worker, _, signature = told.partition(" ")
    statement = benchmark_statement(timings.record()["content_sha256"])
    assert worker == "lab-1"
    assert federated.verify(statement, signature, public)
    assert bench(capsys, "ones@1", "--worker", "lab-1")[0] == 1


def test_what_has_no_hub_cannot_be_contributed(asked, capsys, tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"x")
    code, _, err = bench(capsys, "m.onnx", "--contribute")
    assert code == 1
    assert "Give a reference instead of a file" in err


def test_verify(capsys):
    record = timings.record()
    assert bench(capsys, "verify", write("r.json", record))[0] == 0
    record["processes"][2]["samples_ns"][5] += 1
    code, out, _ = bench(capsys, "verify", write("r.json", record))
    assert code == 1
    assert out.startswith("accounting.samples_sha256: the record states")
    assert bench(capsys, "verify", write("r.json", {"format": "other"}))[0] == 1
    Path("r.json").write_text("no JSON")
    assert bench(capsys, "verify", "r.json")[0] == 1
    assert bench(capsys, "verify", "missing.json")[0] == 1


def test_records_of_one_key_are_compared_and_others_are_not(capsys):
    write("a.json", timings.record())
    write("b.json", timings.record([timings.process(k, 1.1) for k in range(1, 11)]))
    code, out, _ = bench(capsys, "compare", "a.json", "b.json")
    assert code == 0
    assert "not measured alternately" in out
    assert "verdict     slower" in out
    tampered = timings.record()
    tampered["stats"]["p50_of_processes_ms"] = 0.1
    write("t.json", tampered)
    for pair in (("a.json", "t.json"), ("t.json", "a.json")):
        code, out, err = bench(capsys, "compare", *pair)
        assert (code, out) == (1, "")
        assert "is inconsistent: stats.p50_of_processes_ms" in err
    other = {**timings.ENVIRONMENT, "cpu_model": "Another processor"}
    write("c.json", timings.record(environment=other))
    code, _, err = bench(capsys, "compare", "a.json", "c.json")
    assert code == 1
    assert "they differ in cpu_model, hardware" in err


def test_models_are_compared_in_turns(monkeypatch, capsys, tmp_path):
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"x")
    side = timings.record()
    made = verdicts.complete(side, side, "ABAB")
    monkeypatch.setattr(measurement, "compare", lambda *_: made)
    code, out, _ = bench(capsys, "compare", "a.onnx", "b.onnx", "--output", "c.json")
    assert code == 0
    assert "verdict     same" in out
    assert bench(capsys, "verify", "c.json")[0] == 0


def test_a_quick_comparison_has_the_fewest_processes_that_tell(monkeypatch, capsys, tmp_path):
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"x")
    side, asked = timings.record(), []
    made = verdicts.complete(side, side, "ABAB")
    monkeypatch.setattr(measurement, "compare", lambda _, given, *__: asked.append(given) or made)
    bench(capsys, "compare", "a.onnx", "b.onnx", "--quick", "--baseline-threads", "2")
    bench(capsys, "compare", "a.onnx", "b.onnx", "--quick", "--processes", "6")
    assert [one["processes"] for one in asked] == [verdicts.LEAST_PAIRS, 6]
    assert [one.get("baseline_threads") for one in asked] == [2, None]


def test_a_comparison_feeds_what_the_card_of_the_candidate_declares(fake, monkeypatch, capsys):
    declared, side, asked = {"x": {"range": [0, 1]}}, timings.record(), []
    fake.add("zoo/ones", make_model(), inputs=declared)
    made = verdicts.complete(side, side, "ABAB")
    monkeypatch.setattr(measurement, "compare", lambda _, given, *__: asked.append(given) or made)
    bench(capsys, "compare", "ones@1", "ones@1")
    assert asked[0]["inputs"] == declared


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["--anyway"], {"if_busy": "measure", "quiet_wait_seconds": 10.0}),
        (["--anyway", "--wait", "3"], {"if_busy": "measure", "quiet_wait_seconds": 3.0}),
        (["--runtime", "openvino"], {"runtime": "openvino", "provider": ""}),
        (["--size", "seq:64", "--size", "a:b:2"], {"shapes": {"seq": 64, "a:b": 2}}),
        (["--shape", "x:0:1x3x64"], {"input_shapes": {"x:0": [1, 3, 64]}}),
        (
            ["--scenario", "server", "--concurrency", "4", "--latency-bound", "20"],
            {"concurrency": 4, "latency_bound_ms": 20.0},
        ),
        (["--scenario", "offline", "--most-batch", "8"], {"most_batch": 8}),
        (
            ["--provider", "CUDAExecutionProvider", "--option", "use_tf32=false"],
            {"provider_options": {"use_tf32": "false"}},
        ),
        (["--processes", "30"], {"processes": 30, "most_processes": 30}),
        (["--quick"], {"processes": 5, "most_processes": 5, "timed_seconds": 1.0}),
        (["--cores", "0,1"], {"cores": [0, 1]}),
    ],
)
def test_words_become_options_of_the_engine(argv, wanted):
    given = arguments.engine_options(arguments.measure_parser().parse_args(["m.onnx", *argv]))
    Options.from_json(given)
    assert wanted.items() <= given.items()
    assert given.get("shapes") is not None


def test_a_runtime_that_is_not_here_says_how_to_get_it(capsys, tmp_path, monkeypatch):
    (tmp_path / "m.onnx").write_bytes(b"x")
    monkeypatch.setenv("HUB_HOME", str(tmp_path))
    code, _, err = bench(capsys, "m.onnx", "--runtime", "openvino")
    assert code == 1
    assert "--interpreter" in err


def test_an_estimate_is_marked_and_short(capsys, asked, monkeypatch, tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"x")
    stated = {"provenance": "estimated", "method": "stated", "watts_per_core": 7.7, "source": "me"}
    france = {"region": "FRA", "g_per_kwh": 56.0, "year": 2023, "source": "a table"}
    record = timings.record(power=stated, grid=france)
    monkeypatch.setattr(measurement, "benchmark", lambda *_: record)
    _, out, _ = bench(capsys, "m.onnx", "--output", "r.json")
    assert "≈ 0.0077 J per inference (estimated: stated)" in out
    assert "≈ 1.2e-07 g CO2e per inference (FRA 2023, 56 g/kWh)" in out
