"""Ended jobs that proved something, as a worker would end them: conformance, variants, the suite.

Their jobs wait in a pool that no real worker takes, so that a hub may run meanwhile.
"""

from __future__ import annotations

import io
from dataclasses import replace

from hub.protocol.input_ranges import InputRanges
from hub.protocol.node_certificates import NodeCertificate, SearchOutcome
from hub.protocol.proofs import Output, Proof
from registry.models import Variant
from registry.versions.services import derivatives
from runners.engine.reports import Finding, OutputFile, Report
from runners.models import ConformanceResult, SuiteRun
from runners.queue import services
from tests import deliveries
from tests.factories import FACTS

POOL = "gpu-nobody"
VERSIONS = {"onnx": "1.23.2", "onnxruntime": "1.31.1", "openvino": "2026.4.1"}
VERSION_OF = {"onnx-reference": "1.23.2", "onnxruntime": "1.31.1", "openvino": "2026.4.1"}


PROOF = Proof(
    judges=("original", "reference"),
    bundled=3,
    generated=16,
    nodes=122,
    ran=122,
    worst=2e-7,
    noise=3e-7,
    outputs=(Output("y", "compared", 2e-7, 3e-7),),
    certificates=(
        NodeCertificate("Softmax", "a" * 64, 2, SearchOutcome.CERTIFIED, covers=True, exact=True),
    ),
    ranges=InputRanges(32, 96, 4e4, 1e-38),
)
SAMPLED = replace(PROOF, certificates=None)


def figures(name="y", dataset="test_data_set_0", *, agrees=True, max_abs=2.4e-7, **more):
    """Figures of one output on one data set."""
    return {
        "name": name,
        "dataset": dataset,
        "dtype": "float32",
        "shape": [1, 10],
        "agrees": agrees,
        "reason": "",
        "max_abs": max_abs,
        "max_rel": 1.9e-6,
        "p999_rel": 1.2e-6,
        "ulp_max": 12.0,
        "cosine": 1.0,
        "top1": 1.0,
        "outside": 0,
        "first_bad": None,
        "profile": "fp32",
    } | more


def measure(check, outcome="passed", runtime="onnxruntime", **more):
    """One check of a conformance report."""
    return {
        "runtime": runtime,
        "runtime_version": VERSION_OF[runtime],
        "check": check,
        "outcome": outcome,
        "blames": "",
        "reason": "",
        "profile": "fp32",
        "datasets": 1,
        "seconds": 0.21,
        "outputs": [figures()] if outcome in ("passed", "failed") else [],
        "node": None,
        "evidence": "",
    } | more


def waiting(version, kind, *, entry="model.onnx", **job_input):
    """A job that nobody takes."""
    return services.enqueue(kind=kind, version=version, entry=entry, job_input=job_input, pool=POOL)


def running(version, kind, **job_input):
    """A job that somebody is at."""
    return _claimed(waiting(version, kind, **job_input))


def conformance(version, measures, runtime="onnxruntime", *, entry="model.onnx", kept=None):
    """The results of one job, by check; ``kept`` maps names of evidence to bytes."""
    job = running(version, "conformance", entry=entry, runtime=runtime)
    outputs = [_output(name, content) for name, content in (kept or {}).items()]
    _end(job, _report("conformance", measures=measures, outputs=outputs))
    return {row.check_kind: row for row in ConformanceResult.objects.filter(job=job)}


def upgrade(version, content=b"upgraded", *, target=26, source="default", **facts):
    """An upgraded variant."""
    return upgrades(version, {target: content}, target=target, source=source, **facts)[0]


def upgrades(version, contents, *, target=None, source="default", **facts):
    """The variants of one job: ``contents`` are their bytes by their opset."""
    equal = [
        {"target": opset, "result": "equal", "reason": "", "blocking": []} for opset in contents
    ]
    steps = facts.pop("steps", equal)
    rows = [
        {
            "file": f"model.opset{opset}.onnx",
            "target": opset,
            "rules": ["Hardmax", "Softmax"],
            "described": FACTS | {"opset": opset},
            "parity": {"worst": {"max_abs": 0.0}},
            "proof": PROOF.to_json(),
        }
        | facts
        for opset in contents
    ]
    job = running(version, "upgrade", source=source, target=target, runtime="onnxruntime")
    outputs = [_output(f"model.opset{opset}.onnx", content) for opset, content in contents.items()]
    measures = [{**figures(max_abs=0.0), "target": opset} for opset in contents]
    told = {"source": 17, "steps": steps, "variants": rows}
    _end(job, _report("upgrade", facts=told, measures=measures, outputs=outputs))
    return list(Variant.objects.filter(version=version, job_uuid=job.pk))


def blocked(version, *, target=None):
    """An upgrade that came to nothing."""
    job = running(version, "upgrade", source="default", target=target, runtime="onnxruntime")
    node = {"node": "up", "op": "Upsample", "source": 9, "target": 10, "reason": "no equal"}
    steps = [
        {"target": 26, "result": "blocked", "reason": "node 'up' has no equal", "blocking": [node]},
        {"target": 21, "result": "parity-lost", "reason": "y differs by 0.3", "blocking": []},
    ]
    finding = Finding("upgrade-blocked", "error", "Blocked: node 'up'.", "up")
    facts = {"source": 9, "steps": steps, "variants": []}
    _end(job, _report("upgrade", "failed", findings=[finding], facts=facts))
    return job


def unprovable(version):
    """An upgrade whose outputs no run can judge."""
    job = running(version, "upgrade", source="default", target=None, runtime="onnxruntime")
    reason = "output 'y' is the same on every input"
    steps = [{"target": 26, "result": "not-provable", "reason": reason, "blocking": []}]
    finding = Finding("parity-not-proven", "warning", reason)
    facts = {"source": 9, "steps": steps, "variants": []}
    _end(job, _report("upgrade", "passed", findings=[finding], facts=facts))
    return job


def convert(version, content=b"int8", *, recipe="int8", precision="int8", facts=None, **parity):
    """A converted variant."""
    told = {
        "recipe": recipe,
        "sizes": {"before": 100, "after": len(content)},
        "tool": {"name": "onnxruntime.quantization", "version": "1.31.1"},
        "described": FACTS | {"precision": precision},
        "parity": {"max_abs": 0.031, "cosine": 0.99871, "top1": 0.996} | parity,
    } | (facts or {})
    job = running(version, "convert", source="default", recipe=recipe, runtime="onnxruntime")
    outputs = [_output(f"model.{recipe}.onnx", content)]
    _end(job, _report("convert", facts=told, measures=[figures(max_abs=0.5)], outputs=outputs))
    return Variant.objects.get(version=version, job_uuid=job.pk)


def suite(runtime, version, cases, *, onnx="1.23.2", parts=1):
    """A run of the suite, one part of it ended; ``cases`` are (case, operator, opset, outcome)."""
    run, _ = SuiteRun.objects.get_or_create(
        runtime=runtime, runtime_version=version, onnx_version=onnx, defaults={"parts": parts}
    )
    job = running(None, "suite", entry="", run=run.pk, runtime=runtime, part=0, parts=parts)
    measures = [
        {
            "case": case,
            "operator": operator,
            "opset": opset,
            "outcome": outcome,
            "reason": ""
            if outcome == "passed"
            else f"{operator} output differs from the specification",
        }
        for case, operator, opset, outcome in cases
    ]
    _end(job, _report("suite", measures=measures))
    run.refresh_from_db()
    return run


def _claimed(job):
    taken = services.claim("nobody", [POOL], uuid=job.pk)
    assert taken is not None
    return taken


def _end(job, report):
    assert services.finish(job, report)
    deliveries.deliver()


def _output(name, content):
    sha256, size = derivatives.store_bytes(io.BytesIO(content))
    return OutputFile(name, sha256, size)


def _report(task, outcome="passed", *, findings=(), facts=None, measures=(), outputs=()):
    return Report(
        task=task,
        versions=VERSIONS,
        subject="0" * 64,
        outcome=outcome,
        findings=tuple(findings),
        facts=facts or {},
        measures=list(measures),
        outputs=list(outputs),
        seconds=0.2,
    )
