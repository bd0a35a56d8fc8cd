"""The commands of evidence: variants, checks, benchmarks, comparisons, evaluations, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.cli.control import output
from hub.cli.control.verbs import Noun, Verb

if TYPE_CHECKING:
    from hub.client.rest.packages import VersionPackage

_JOB_COLUMNS = ("uuid", "kind", "state", "queue", "queued_at=queued")
_SPEED_COLUMNS = (
    "context=prompt",
    "first_token_ms",
    "tokens_per_second=per_second",
    "tokens_per_second_status=status",
    "memory_bytes",
    "cache_bytes",
)


def _show_package(package: VersionPackage) -> None:
    """Print the components, each finding with its cure, and how the decoder generates."""
    print(output.text(package.title or package.state))
    if package.components:
        output.table(package.components, ("name=component", "role", "model"), "no components")
    for finding in package.findings:
        where = f"{finding.file}: {finding.field}" if finding.field else finding.file
        print(
            f"\n{output.text(finding.severity)}  {output.text(finding.code)}  {output.text(where)}"
        )
        print(f"  {output.text(finding.message)} {output.text(finding.cure)}")
    if package.generation is None:
        return
    print(f"\nGeneration of {output.text(package.generation.model)}")
    if package.generation.reason:
        print(f"  not measured: {output.text(package.generation.reason)}")
    for check in package.generation.checks:
        print(
            f"  {output.text(check.outcome)}: {output.text(check.title)}. "
            f"{output.text(check.message)}"
        )
    if package.generation.speeds:
        output.table(package.generation.speeds, _SPEED_COLUMNS, "no speeds")


VARIANTS = Noun(
    "variants",
    "list, show and request variants",
    (
        Verb(
            "list",
            "variants.list",
            "list the variants of a version",
            ("hub variants list zoo/resnet50",),
            columns=("name", "entry", "opset", "precision", "size"),
        ),
        Verb(
            "show",
            "variants.read",
            "show a variant with the figures of its creation",
            ("hub variants show zoo/resnet50 int8",),
        ),
        Verb(
            "create",
            "variants.create",
            "request a variant and print its job; hub variant waits for it",
            ("hub variants create zoo/resnet50 --kind upgrade --opset 21",),
            texts={"kind": "how it is derived"},
        ),
        Verb(
            "metadata",
            "variants.with_metadata_read",
            "show the copy that contains the hub's metadata",
            ("hub variants metadata zoo/resnet50 main",),
        ),
        Verb(
            "add-metadata",
            "variants.with_metadata_create",
            "make a copy of a variant that contains the hub's metadata",
            ("hub variants add-metadata zoo/resnet50 main",),
        ),
    ),
)

PACKAGE = Verb(
    "package",
    "packages.read",
    "show the components of a version's package, and the findings among its files",
    ("hub package zoo/t5@2",),
    show=_show_package,
)

CONFORMANCE = Noun(
    "conformance",
    "list, show and run conformance checks",
    (
        Verb(
            "list",
            "conformance.list",
            "list the newest result of each check on each runtime",
            ("hub conformance list zoo/resnet50",),
            columns=(
                "id",
                "variant",
                "runtime",
                "runtime_version=version",
                "check",
                "outcome",
                "reason",
            ),
        ),
        Verb(
            "show",
            "conformance.read",
            "show a result with its figures",
            ("hub conformance show zoo/resnet50@3 12",),
        ),
        Verb(
            "run",
            "conformance.run",
            "run the checks again; for maintainers",
            ("hub conformance run zoo/resnet50@3 --runtime onnxruntime",),
            columns=_JOB_COLUMNS,
        ),
    ),
)

BENCHMARKS = Noun(
    "benchmarks",
    "list, show, run and contribute benchmark results",
    (
        Verb(
            "list",
            "benchmarks.list",
            "list accepted results, ranked inside their comparability key",
            ("hub benchmarks list --runtime onnxruntime --sort p50",),
            columns=(
                "rank",
                "result.model=model",
                "result.number=version",
                "result.variant=variant",
                "result.device=device",
                "result.runtime=runtime",
                "result.p50_ms=p50_ms",
                "result.throughput_per_s=per_second",
            ),
        ),
        Verb(
            "results",
            "benchmarks.of_version",
            "list the results of a version",
            ("hub benchmarks results zoo/resnet50 --device generic-x86",),
            columns=("id", "variant", "device", "runtime", "scenario", "batch", "p50_ms", "status"),
        ),
        Verb(
            "show",
            "benchmarks.read",
            "show a result",
            ("hub benchmarks show zoo/resnet50@3 12",),
        ),
        Verb(
            "record",
            "benchmarks.record",
            "print the complete record of a result, as JSON",
            ("hub benchmarks record zoo/resnet50@3 12 --json",),
        ),
        Verb(
            "samples",
            "benchmarks.samples",
            "print the samples of a result, in nanoseconds",
            ("hub benchmarks samples zoo/resnet50@3 12 --json",),
        ),
        Verb(
            "samples-csv",
            "benchmarks.samples_csv",
            "print the samples of a result as CSV",
            ("hub benchmarks samples-csv zoo/resnet50@3 12",),
        ),
        Verb(
            "run",
            "benchmarks.run",
            "benchmark a version on the hub's workers; for maintainers",
            ("hub benchmarks run zoo/resnet50@3 --runtime onnxruntime --effort light",),
            columns=_JOB_COLUMNS,
        ),
        Verb(
            "challenge",
            "benchmarks.challenge",
            "get a challenge for one record; hub bench --contribute does it for you",
            ("hub benchmarks challenge zoo/resnet50@3",),
        ),
        Verb(
            "contribute",
            "benchmarks.contribute",
            "send a record that hub bench wrote",
            ("hub benchmarks contribute zoo/resnet50@3 @record.json",),
            positional=("content",),
            names={"content": "record"},
            texts={"content": "@ and the name of the file with the record"},
            columns=("id", "variant", "state", "reason"),
        ),
        Verb(
            "contributions",
            "benchmarks.contributions",
            "list contributed records with their state",
            ("hub benchmarks contributions zoo/resnet50@3",),
            columns=("id", "variant", "contributor", "state", "reason", "created_at"),
        ),
        Verb(
            "contribution",
            "benchmarks.contribution",
            "show a contributed record",
            ("hub benchmarks contribution zoo/resnet50@3 7",),
        ),
        Verb(
            "remove",
            "benchmarks.remove",
            "remove a contributed result",
            ("hub benchmarks remove zoo/resnet50@3 12 --yes",),
            question="Remove result {id} of {model}@{number} with its record? This cannot be "
            "undone.",
            message="Removed result {id}",
        ),
    ),
)

COMPARISONS = Noun(
    "comparisons",
    "list, show and run comparisons of speed",
    (
        Verb(
            "list",
            "comparisons.list",
            "list the newest comparisons of a version",
            ("hub comparisons list zoo/resnet50@3",),
            columns=("id", "variant", "baseline", "runtime", "device", "verdict", "ratio"),
        ),
        Verb(
            "show",
            "comparisons.read",
            "show a comparison",
            ("hub comparisons show zoo/resnet50@3 5",),
        ),
        Verb(
            "run",
            "comparisons.run",
            "compare the speed with another version; for maintainers",
            ("hub comparisons run zoo/resnet50@3 --baseline 2",),
            columns=_JOB_COLUMNS,
            texts={"baseline_variant": "variant of the other version"},
        ),
    ),
)

EVALUATIONS = Noun(
    "evaluations",
    "list measured accuracy and request evaluations",
    (
        Verb(
            "list",
            "evaluations.list",
            "list the newest measurement of each variant, split and metric",
            ("hub evaluations list zoo/digits-cnn",),
            columns=("variant", "dataset", "split", "metric", "value", "low", "high"),
        ),
        Verb(
            "create",
            "evaluations.create",
            "request an evaluation and print its job; hub evaluate waits",
            ("hub evaluations create zoo/digits-cnn@1 --dataset digits --split test",),
            texts={"split": "name of the split"},
        ),
    ),
)

SCOREBOARD = Noun(
    "scoreboard",
    "show how runtimes pass ONNX's own test suite",
    (
        Verb(
            "list",
            "scoreboard.list",
            "list the runs of the suite",
            ("hub scoreboard list",),
            columns=("runtime", "runtime_version=version", "onnx_version=onnx", "cases", "totals"),
        ),
        Verb(
            "show",
            "scoreboard.read",
            "show a run by operator and opset",
            ("hub scoreboard show onnxruntime 1.31.1",),
            texts={"version": "version of the runtime"},
        ),
        Verb(
            "cases",
            "scoreboard.cases",
            "list the cases of a run",
            ("hub scoreboard cases onnxruntime 1.31.1 --outcome failed",),
            columns=("case", "operator", "opset", "outcome", "reason"),
            texts={"version": "version of the runtime", "operator": "only cases of this operator"},
        ),
    ),
)

RUNTIMES = Noun(
    "runtimes",
    "list runtimes",
    (
        Verb(
            "list",
            "runtimes.list",
            "list runtimes, each in its newest version",
            ("hub runtimes list",),
            columns=("name", "version"),
        ),
    ),
)

DEVICES = Noun(
    "devices",
    "list classes of devices",
    (
        Verb(
            "list",
            "devices.list",
            "list classes of devices, the most measured first",
            ("hub devices list",),
            columns=("name", "title", "kind", "measurements", "models"),
        ),
    ),
)

ENVIRONMENTS = Noun(
    "environments",
    "list and show the environments of benchmarks",
    (
        Verb(
            "list",
            "environments.list",
            "list the newest environments",
            ("hub environments list",),
            columns=("digest", "first_seen_at=first_seen"),
        ),
        Verb(
            "show",
            "environments.read",
            "show an environment",
            (f"hub environments show sha256:{'0' * 63}1",),
        ),
    ),
)
