"""What processors can and cannot: an environment that contradicts itself was not read from one.

The tables hold what vendors document of released processors and never what newer ones may have:
an unknown model contradicts nothing. Neither does the number of a guest, which its hypervisor
chooses: clouds give that of an older processor beside the instructions of a newer one. Sources:
Intel SDM volume 1, chapter 5 and its table of families and models; AMD64 Architecture Programmer's
Manual volume 3, appendix D; Arm ARM, A2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_X86 = frozenset({"x86_64", "AMD64", "i686"})
_ARM = frozenset({"aarch64", "arm64", "armv8l"})
# Linux clears a flag where one of those that it needs is not there, also in guests.
_NEEDS = {
    "avx512f": ("avx2",),
    "avx512bw": ("avx512f",),
    "avx512_vnni": ("avx512f",),
    "avx512_bf16": ("avx512f",),
    "avx512_fp16": ("avx512bw",),
    "amx_int8": ("amx_tile",),
    "amx_bf16": ("amx_tile",),
    "sve2": ("sve",),
    "sve": ("asimd",),
    "asimddp": ("asimd",),
    "asimdhp": ("asimd",),
}
_ARM_FLAGS = frozenset({"asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"})
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16"})
_AMX = frozenset({"amx_tile", "amx_int8", "amx_bf16"})
# Families: AMD's from K8 to Zen 6, Intel's of this century, Hygon's.
_FAMILIES = {
    "amd": frozenset({15, 16, 17, 18, 20, 21, 22, 23, 25, 26}),
    "intel": frozenset({6, 15, 18, 19}),
}
# Intel, family 6: Haswell to Comet Lake of desks, and servers before Skylake, have no AVX-512.
_WITHOUT_AVX512 = frozenset(
    {42, 45, 58, 60, 61, 62, 63, 69, 70, 71, 78, 79, 86, 94, 142, 158, 165, 166}
)
# And these have AVX-512 without AMX and without its 16-bit floats: Skylake-X to Ice Lake.
_WITHOUT_AMX = _WITHOUT_AVX512 | frozenset({85, 106, 108, 125, 126, 140, 141, 167})


# AMD's servers by the numbers of their names: families of Zen to Zen 5.
_FAMILIES_OF_NAMES = (
    (re.compile(r"EPYC (?:7\d\d[12]|3\d\d1)\b"), frozenset({23})),
    (re.compile(r"EPYC (?:7\d\d3|[489]\d\d4)"), frozenset({25})),
    (re.compile(r"EPYC [489]\d\d5"), frozenset({26})),
)


def contradictions(environment: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Fields of an environment that cannot be true together: the field, its value and why."""
    extensions = environment.get("isa")
    isa = (
        {extension for extension in extensions if isinstance(extension, str) and extension}
        if isinstance(extensions, list)
        else set()
    )
    vendor = _vendor(str(environment.get("cpu_model", "")))
    machine = str(environment.get("machine", ""))
    for name in sorted(isa):
        if missing := [need for need in _NEEDS.get(name, ()) if need not in isa]:
            yield "isa", name, f"no processor has {name} without {missing[0]}"
            return
    if isa & _ARM_FLAGS and isa - _ARM_FLAGS:
        yield "isa", sorted(isa), "it has instruction sets of Arm and of x86"
    elif vendor in _FAMILIES and isa & _ARM_FLAGS:
        yield "isa", sorted(isa), f"a processor of {vendor.title()} has none of Arm's"
    elif (machine in _ARM and vendor in _FAMILIES) or (machine in _X86 and vendor == "arm"):
        yield "machine", machine, "the processor is of another architecture"
    yield from _of_model(environment, vendor, isa)
    usable, logical = (_whole(environment.get(name)) for name in ("usable_cpus", "logical_cpus"))
    if usable is not None and logical is not None and usable > logical:
        yield "usable_cpus", usable, f"the machine has {logical} processors"
    affinity = environment.get("cpu_affinity")
    if isinstance(affinity, list) and usable is not None and len(set(map(str, affinity))) != usable:
        yield "usable_cpus", usable, f"the affinity names {len(affinity)} processors"
    physical = _whole(environment.get("physical_cpus"))
    if physical is not None and logical is not None and physical > logical:
        yield "physical_cpus", physical, f"the machine has {logical} processors"


def _of_model(environment: dict[str, Any], vendor: str, isa: set[str]) -> Iterator[Any]:
    """What a family or a model that is known cannot have."""
    family, model = (_whole(environment.get(name)) for name in ("cpu_family", "cpu_model_number"))
    value = environment.get("cpu_family")
    name = str(environment.get("cpu_model", ""))
    for pattern, families in _FAMILIES_OF_NAMES:
        if pattern.search(name) and family is not None and family not in families:
            yield "cpu_family", value, f"{name[:60]} is of family {min(families)}"
            return
    if vendor in _FAMILIES and family is not None and family not in _FAMILIES[vendor]:
        yield "cpu_family", value, f"{vendor.upper()} has no processors of this family"
    elif vendor == "amd" and isa & _AMX:
        yield "isa", sorted(isa & _AMX), "no processor of AMD has AMX"
    elif environment.get("virtualized") == "yes":
        return
    elif vendor == "amd" and family is not None and family < 25 and isa & _AVX512:
        yield "isa", sorted(isa & _AVX512), f"AMD's family {family} has no AVX-512"
    elif vendor == "intel" and family == 6 and model in _WITHOUT_AVX512 and isa & _AVX512:
        yield "isa", sorted(isa & _AVX512), f"Intel's model {model} of family 6 has no AVX-512"
    elif (
        vendor == "intel"
        and family == 6
        and model in _WITHOUT_AMX
        and (newer := sorted(isa & (_AMX | {"avx512_fp16"})))
    ):
        yield "isa", newer, f"Intel's model {model} of family 6 has no {newer[0]}"


def _vendor(model: str) -> str:
    """The vendor that a processor's name tells; empty where it tells none that is known."""
    name = model.lower()
    if name.startswith("arm "):
        return "arm"
    for vendor in ("intel", "amd"):
        if vendor in name.replace("(r)", "").split():
            return vendor
    return ""


def _whole(value: Any) -> int | None:
    """A count, or a number that /proc/cpuinfo tells as text."""
    if type(value) is int:
        return value
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 9 else None
