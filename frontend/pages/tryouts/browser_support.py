"""Whether the browser's runtime can run a model: what it lacks, measured once for its version.

Each limit was measured by loading models of one node into the pinned onnxruntime-web: every test
case of the operators of onnx 1.23, each opset from 1 and each IR version from 3. A model within the
limits may still be refused; the page then names the reason and the run on the server.
"""

from __future__ import annotations

from collections.abc import Iterator

from frontend.pages.tryouts import browser_runtime
from hub.protocol.facts import DEFAULT_DOMAIN, Facts
from hub.protocol.runtime_builds import BROWSER

# Below opset 7 some operators have no implementation.
OPSETS = {"ai.onnx": (7, BROWSER.ceiling.opset), "ai.onnx.ml": (1, 5)}
DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
# Operator -> the opset from which it has no implementation.
ABSENT = {
    "ImageDecoder": 20,
    **dict.fromkeys(
        (
            "Bernoulli",
            "GlobalLpPool",
            "MaxRoiPool",
            "Multinomial",
            "RandomNormal",
            "RandomNormalLike",
            "RandomUniform",
            "RandomUniformLike",
            "RoiAlign",
        ),
        22,
    ),
}
# A page holds the model twice while it loads, in an address space of 4 GB.
MOST_BYTES = 1_500_000_000


def obstacles(facts: Facts, size: int) -> tuple[str, ...]:
    """Why the browser's runtime cannot run a model of these facts and bytes; empty where it can.

    Each is the end of a sentence such as "It cannot run in a browser: …".
    """
    return tuple(_obstacles(facts, size))


def _obstacles(facts: Facts, size: int) -> Iterator[str]:
    if not browser_runtime.is_here():
        yield (
            f"this hub has no browser runtime ({browser_runtime.PACKAGE} "
            f"{browser_runtime.VERSION}), which its administrator adds with fetch_browser_runtime"
        )
    if size > MOST_BYTES:
        yield f"the model has {size / 1e9:.1f} GB, but the limit is {MOST_BYTES / 1e9:.1f} GB"
    yield from _versions(facts)
    yield from _operators(facts)
    if facts.precision == "bf16":
        yield "the browser runtime does not support bfloat16"
    if facts.outputs and not any(port.type.kind == "tensor" for port in facts.outputs):
        yield "the model has no tensor output"


def _versions(facts: Facts) -> Iterator[str]:
    opsets = facts.opsets or {}
    if facts.opsets == {}:
        yield "the file does not declare an opset"
    used = {operator.domain or DEFAULT_DOMAIN for operator in facts.operators}
    for domain, (low, high) in OPSETS.items():
        version = opsets.get(domain)
        if domain in used and version is not None and not low <= version <= high:
            title = "opset" if domain == DEFAULT_DOMAIN else f"opset of {domain}"
            yield f"its {title} is {version}, but the browser runtime supports {low} to {high}"
    written = facts.ir_version
    highest = BROWSER.ceiling.ir_version
    if written is not None and written > highest:
        yield f"its IR version is {written}, but the browser runtime supports up to {highest}"


def _operators(facts: Facts) -> Iterator[str]:
    lacking = []
    for operator in facts.operators:
        if (operator.domain, operator.name) in facts.functions:
            continue
        if operator.domain not in DOMAINS:
            lacking.append(f"{operator.domain}:{operator.name}")
        elif operator.is_standard and (facts.opset or 0) >= ABSENT.get(operator.name, 1 << 30):
            lacking.append(operator.name)
    if lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        yield f"the browser runtime does not support {', '.join(lacking[:3])}{more}"
