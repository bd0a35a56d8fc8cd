"""Give a running hub's models proofs: python -m tests.browser.seed HOME; tells what it made."""

from __future__ import annotations

import json
import os
import sys

CATEGORIES = ("Abs", "Add", "Cast", "Conv", "Gather", "If", "LSTM", "Loop", "Resize", "Softmax")
OUTCOMES = ("failed", "unsupported", "passed", "timed-out", "passed", "crashed", "passed")
LONG_RULE = "rule-with-a-name-that-goes-on-and-on-without-a-place-to-break-it"


def main(home):
    os.environ["HUB_HOME"] = home
    os.environ["DJANGO_SETTINGS_MODULE"] = "hub.server.settings"
    import django

    django.setup()
    from registry.models import Version

    def version(name):
        return Version.objects.get(model__namespace__slug="zoo", model__name=name, number=1)

    made = _conformance(version("proven"))
    _variants(version("proven"))
    _package(version("proven"))
    made |= _benchmarks(version("proven"), version("digits-cnn"), version("wine-gbt"))
    made |= _webhook(version("proven").model)
    _stuck(version("stuck"))
    _suites()
    print(json.dumps(made))  # noqa: T201 - read by the fixture


def _webhook(model):
    from registry.core import events
    from registry.models import User
    from registry.webhooks import services
    from registry.webhooks.models import WebhookDelivery

    admin = User.objects.get(username="admin")
    url = "https://ci.example.org/a/path/that/goes/on/without/a/place/to/break/it/0123456789abcdef"
    verbs = ["model.edited", "version.published"]
    webhook = services.add(admin, namespace=model.namespace, url=url, events=verbs)
    for state, status, answer, error in (
        ("delivered", 204, "", ""),
        ("failed", 503, "<h1>Unavailable</h1>", "answered 503"),
        ("pending", None, "", "127.0.0.1 is not a public address."),
    ):
        event = events.record("model.edited", model, actor=admin, model=model)
        WebhookDelivery.objects.create(
            webhook=webhook, event=event, state=state, status=status, answer=answer, error=error
        )
    return {"webhook": webhook.pk}


def _package(version):
    from hub.protocol.packages import (
        Code,
        Component,
        Layout,
        Package,
        PackageFinding,
        Role,
        Severity,
    )
    from registry.packages import services

    name = "cpu_and_mobile/cpu-int4-rtn-block-32-acc-level-4/decoder_model_merged_quantized"
    components = (
        Component(name, Role.DECODER_WITH_PAST, f"{name}.onnx", (f"{name}.onnx", f"{name}.data")),
        Component("encoder", Role.ENCODER),
    )
    field = "model.decoder.pipeline[12].prompt-processor.inputs.past_key_names"
    findings = tuple(
        PackageFinding(
            Code.INPUT_MISSING,
            severity,
            "cpu_and_mobile/genai_config.json",
            field,
            f"{name}.onnx has no input 'past_key_values.0.key', 'past_key_values.1.key'.",
            "Name the graph's own inputs, which begin with 'input_ids', 'attention_mask'.",
        )
        for severity in Severity
    )
    package = Package(Layout.SENTENCE_TRANSFORMERS, components, findings)
    kept = services.keep(version=version, manifest_sha256=version.manifest_sha256, package=package)
    assert kept


def _conformance(version):
    from tests import proven

    node = {
        "name": "/layers/0/Conv",
        "op": "Conv",
        "index": 3,
        "figures": proven.figures("conv_out", "", agrees=False, max_abs=0.021),
    }
    bad = proven.figures(
        "an_output_with_quite_a_long_name",
        agrees=False,
        reason="14 of 2048 values lie outside",
        max_abs=0.031,
        cosine=0.999_871,
        outside=14,
        first_bad=77,
    )
    proven.conformance(version, [proven.measure("bundled"), proven.measure("reference")])
    found = proven.conformance(
        version,
        [
            proven.measure(
                "bundled",
                "cantTell",
                blames="data",
                reason="The stored output lacks a row; two runtimes agree with each other.",
                outputs=[bad],
            ),
            proven.measure(
                "reference",
                "failed",
                blames="runtime",
                reason="ONNX Runtime disagrees with the reference on generated inputs.",
                outputs=[proven.figures(f"y{index}", "normal") for index in range(9)] + [bad],
                node=node,
                evidence="diverging-Conv.zip",
            ),
            proven.measure("optimisation", outputs=[proven.figures(max_abs=0.0)]),
            proven.measure("determinism"),
        ],
        kept={"diverging-Conv.zip": b"PK"},
    )
    proven.conformance(
        version,
        [
            proven.measure("bundled", "inapplicable", "openvino"),
            proven.measure(
                "reference", "cantTell", "openvino", reason="The reference ran out of time."
            ),
            proven.measure("optimisation", "failed", "openvino", blames="runtime", outputs=[bad]),
            proven.measure("determinism", "untested", "openvino"),
        ],
        "openvino",
    )
    proven.waiting(version, "conformance", runtime="onnxruntime")
    return {"failed": found["reference"].pk, "passed": found["determinism"].pk}


def _variants(version):
    from tests import proven

    blocking = [{"node": "x", "op": "Hardmax", "source": 12, "target": 26, "reason": "no equal"}]
    steps = [
        {
            "target": 27,
            "result": "blocked",
            "reason": "node 'x' is in the way",
            "blocking": blocking,
        },
        {"target": 26, "result": "equal", "reason": "", "blocking": []},
    ]
    proven.upgrade(version, b"upgraded" * 900, steps=steps, rules=["Hardmax", LONG_RULE])
    proven.convert(version, b"int8" * 300)
    proven.convert(
        version, b"half" * 500, recipe="fp16", precision="fp16", max_abs="nan", top1=None
    )
    entry = "model.int8.onnx"
    proven.conformance(version, [proven.measure("determinism")], entry=entry)


def _benchmarks(proven_one, *others):
    """Results of made-up samples: firm, noisy, of batches, and on a machine with a long name."""
    import random

    from tests import timed

    chance = random.Random(20_241_122)

    def samples(median_ms, *, spread=0.0, each=300):
        return [
            timed.process(
                ordinal,
                [
                    int(
                        median_ms
                        * 1e6
                        * (1 + spread * (ordinal - 2))
                        * chance.lognormvariate(0, 0.06)
                    )
                    for _ in range(each)
                ],
            )
            for ordinal in range(5)
        ]

    first = timed.benchmark(proven_one, 7.0, processes=samples(7.0))
    for batch in (2, 8):
        rows = samples(5.0 * batch, each=100)
        timed.benchmark(proven_one, 1.0, processes=rows, config={"batch": batch})
    long = {"cpu_model": f"A processor with {'-'.join(['quite'] * 12)} a long name"}
    noisy = timed.benchmark(proven_one, 1.0, processes=samples(9.0, spread=0.1), environment=long)
    for other, median in zip(others, (0.02, 0.2), strict=True):
        timed.benchmark(other, 1.0, processes=samples(median))
    return {"benchmark": first.pk, "noisy": noisy.pk}


def _stuck(version):
    from tests import proven

    proven.blocked(version, target=26)


def _suites():
    from tests import proven

    cases = [
        (f"test_{operator.lower()}_{index}_expanded", operator, 9 + index % 18, "passed")
        for operator in CATEGORIES
        for index in range(60)
    ]
    mixed = [
        (*case[:3], OUTCOMES[place % 7] if place % 3 == 0 else "passed")
        for place, case in enumerate(cases)
    ]
    proven.suite("onnxruntime", "1.30.0", mixed)
    proven.suite("onnxruntime", "1.31.1", [*mixed[:500], *cases[500:]])
    proven.suite("onnx-reference", "1.23.2", cases[:300], parts=16)


if __name__ == "__main__":
    main(sys.argv[1])
