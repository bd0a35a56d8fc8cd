"""Task "conformance": whether a runtime computes a model correctly, by four checks with evidence.

- bundled: outputs equal the expected outputs of the test data beside the model;
- reference: outputs equal those of the ONNX reference implementation on generated inputs;
- optimisation: outputs are the same with graph optimisation off;
- determinism: outputs are bit for bit the same in a second session.

A check fails only if the runtime or the model is at fault. If the test data or the reference are
wrong, its outcome is `CANNOT_TELL` and the verdict names them.
"""

from __future__ import annotations

from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine import runtimes
from runners.engine.checks.written_models import processor_flags
from runners.engine.conformance.checks import CHECKS, Checks
from runners.engine.conformance.verdicts import findings, shape_findings
from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import datasets
from runners.engine.reports import Report
from runners.engine.runs.shared_runs import ModelUnderTest


def run(job: Job) -> Report:
    """Run the checks on the runtime that the option `runtime` names.

    The option `checks` selects some of `CHECKS` (default: all): the check by the slow reference has
    a job of its own, so that the results of the others arrive earlier. Generated inputs are as the
    option `inputs` declares them (docs/cards.md).
    """
    runtime = str(job.request.options.get("runtime", ONNXRUNTIME))
    checks = job.request.options.get("checks", CHECKS)
    if not checks or not isinstance(checks, list | tuple) or not set(checks) <= set(CHECKS):
        raise JobError("engine-error", f"The checks must be some of {', '.join(CHECKS)}.")
    if runtime not in runtimes.names():
        raise JobError(
            "runtime-missing", f"The runtime {runtime!r} is not installed on this worker."
        )
    job.tell(5, "scan")
    needed = job.scan()
    beside = datasets.paths(job.request.files, job.request.entry)
    job.lay_out([job.request.entry, *needed, *beside])
    job.tell(15, "prepare")
    subject = ModelUnderTest(job, runtime, declared=job.request.options.get("inputs"))
    model_checks = Checks(subject)
    if subject.prepared.is_readable and runtime != REFERENCE:
        model_checks.run_ahead(checks)
    measures = [model_checks.measure(check) for check in CHECKS if check in checks]
    verdicts = model_checks.verdicts
    return job.report(
        "failed" if any(verdict.fails_the_job for verdict in verdicts.values()) else "passed",
        (*findings(verdicts.items()), *shape_findings(runtime, subject.shape_differences)),
        {
            "runtime": runtime,
            "reference_opset": subject.upgraded_opset or None,
            "threads": 1,
            "processor_flags": processor_flags(),
        },
        measures,
        [measure["evidence"] for measure in measures if measure["evidence"]],
    )
