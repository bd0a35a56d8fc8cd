"""Whether the browser's runtime can run a model: what it lacks, measured once for its version.

Each limit was measured by loading models of one node into the pinned onnxruntime-web: every test
case of the operators of onnx 1.23, each opset from 1 and each IR version from 3. A model within the
limits may still be refused; the page then names the reason and the run on the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontend.presenters import browser_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

# onnxruntime-web 1.30.0. Below opset 7 some operators have no implementation.
OPSETS = {"ai.onnx": (7, 26), "ai.onnx.ml": (1, 5)}
IR_VERSIONS = (3, 13)
DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
# Operator -> the opset from which it has no implementation.
ABSENT = {
    "ImageDecoder": 20,
    **dict.fromkeys(
        (
            "Bernoulli", "GlobalLpPool", "MaxRoiPool", "Multinomial", "RandomNormal",
            "RandomNormalLike", "RandomUniform", "RandomUniformLike", "RoiAlign",
        ),
        22,
    ),
}  # fmt: skip
# A page holds the model twice while it loads, in an address space of 4 GB.
MOST_BYTES = 1_500_000_000


def obstacles(facts: dict[str, Any], size: int) -> tuple[str, ...]:
    """Why the browser's runtime cannot run a model of these facts and bytes; empty where it can.

    Each is the end of a sentence such as "It cannot run in a browser: …".
    """
    return tuple(_obstacles(facts, size))


def _obstacles(facts: dict[str, Any], size: int) -> Iterator[str]:
    if not browser_runtime.is_here():
        yield (
            "the browser runtime is not installed on this hub: "
            f"{browser_runtime.PACKAGE} {browser_runtime.VERSION}"
        )
    if size > MOST_BYTES:
        yield f"the model has {size / 1e9:.1f} GB, but the limit is {MOST_BYTES / 1e9:.1f} GB"
    yield from _versions(facts)
    yield from _operators(facts)
    if facts.get("precision") == "bf16":
        yield "the browser runtime does not support bfloat16"
    outputs = [one for one in facts.get("outputs") or [] if isinstance(one, dict)]
    if outputs and not any(one.get("type") == "tensor" for one in outputs):
        yield "the model has no tensor output"


def _versions(facts: dict[str, Any]) -> Iterator[str]:
    opsets = facts.get("opsets")
    opsets = opsets if isinstance(opsets, dict) else {}
    if facts.get("opsets") == {}:
        yield "the file does not declare an opset"
    used = {
        str(row.get("domain") or "ai.onnx")
        for row in facts.get("operators") or []
        if isinstance(row, dict)
    }
    for domain, (low, high) in OPSETS.items():
        version = opsets.get(domain)
        if domain in used and isinstance(version, int) and not low <= version <= high:
            title = "opset" if domain == "ai.onnx" else f"opset of {domain}"
            yield f"its {title} is {version}, but the browser runtime supports {low} to {high}"
    written = facts.get("ir_version")
    if isinstance(written, int) and written > IR_VERSIONS[1]:
        yield (
            f"its IR version is {written}, but the browser runtime supports up to {IR_VERSIONS[1]}"
        )


def _operators(facts: dict[str, Any]) -> Iterator[str]:
    own = {
        (str(one.get("domain", "")), str(one.get("name", "")))
        for one in facts.get("functions") or []
        if isinstance(one, dict)
    }
    opset = facts.get("opset") if isinstance(facts.get("opset"), int) else 0
    lacking = []
    for row in facts.get("operators") or []:
        if not isinstance(row, dict):
            continue
        domain, name = str(row.get("domain", "")), str(row.get("name", ""))
        if (domain, name) in own:
            continue
        if domain not in DOMAINS:
            lacking.append(f"{domain}:{name}")
        elif domain in ("", "ai.onnx") and (opset or 0) >= ABSENT.get(name, 1 << 30):
            lacking.append(name)
    if lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        yield f"the browser runtime does not support {', '.join(lacking[:3])}{more}"
