"""The head that every page of a version shares: name, versions, states, facts and tabs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.presenters import declarations, facts
from hub.protocol import problems, proofs
from hub.protocol.facts import Facts, read_barcode
from registry.catalogue import documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from registry.models import File, Ref, RegisteredModel, Variant, Version

# The judge of an upgrade that nothing could run: the schema registry knows no difference.
TABS = {
    "overview": ("Overview", "version"),
    "files": ("Files", "version-files"),
    "graph": ("Graph", "network"),
    "benchmarks": ("Benchmarks", "version-benchmarks"),
    "checks": ("Checks", "version-checks"),
    "conformance": ("Conformance", "version-conformance"),
    "variants": ("Variants", "version-variants"),
    "provenance": ("Provenance", "version-provenance"),
    "carbon": ("Carbon", "version-carbon"),
    "lineage": ("Lineage", "version-lineage"),
    "try": ("Run", "version-try"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a select, or one tab."""

    words: str
    value: str = ""
    url: str = ""
    on: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader must know first: title, words, and perhaps where to go."""

    tone: str
    title: str
    words: str
    url: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A model as lists show it."""

    namespace: str
    name: str
    url: str
    private: bool
    gated: bool
    published: bool
    summary: str
    task: str
    license: str
    barcode: Sequence[str]
    parameters: int | None
    uncounted: bool
    opset: int | None
    precision: str
    size: int | None
    carbon_kg: float | None
    updated_at: Any


@dataclass(frozen=True, slots=True)
class Head:
    """Everything above the tabs of a version's page."""

    namespace: str
    name: str
    ref: str
    state: str
    private: bool
    summary: str
    license: str
    license_value: str
    task: str
    task_value: str
    keywords: tuple[str, ...]
    aliases: tuple[str, ...]
    versions: tuple[Choice, ...]
    variants: tuple[Choice, ...]
    variant: str
    choice: str
    tabs: tuple[Choice, ...]
    tab: str
    note: Note | None
    model_url: str
    api_url: str
    graph_url: str
    files_url: str
    checks_url: str
    conformance_url: str
    variants_url: str
    provenance_url: str
    size: int
    file_count: int
    parameters: int | None
    opset: int | None
    ready: str
    ir_version: int | None
    precision: str
    nodes: int | None
    operators: int
    barcode: tuple[str, ...]


def row(document: Any) -> Row:
    """A search document as a row of a list."""
    latest = document.latest or {}
    return Row(
        namespace=document.namespace_slug,
        name=document.model.name,
        url=reverse("model", args=[document.namespace_slug, document.model.name]),
        private=document.model.visibility == "private",
        gated=document.model.is_gated,
        published=bool(latest),
        summary=document.model.summary,
        task=words.task(document.task),
        license=words.licence(document.license),
        barcode=read_barcode(latest.get("barcode")),
        parameters=document.parameters,
        uncounted=document.parameters is None and bool(document.precision),
        opset=document.opset,
        precision=document.precision,
        size=document.size,
        carbon_kg=latest.get("training_carbon_kg"),
        updated_at=document.updated_at,
    )


def head(
    version: Version,
    tab: str,
    others: Iterable[Version],
    refs: Iterable[Ref],
    latest: int | None,
    variant: Variant | None,
    count: int,
) -> Head:
    """The head of one version and its chosen variant, fetched with its files and variants.

    ``count`` is how many versions there are; ``others``, which a select offers, may be fewer.
    """
    model = version.model
    place = (model.namespace.slug, model.name, version.number)
    files = list(version.files.all())
    shown = own_files(version, variant)
    graph = facts.read(variant.typed_facts if variant else Facts())
    versions = tuple(_choice(other, version, latest) for other in others)
    choice = choice_of(version, variant)
    here = {name: reverse(view, args=place) + choice for name, (_, view) in TABS.items()}
    license_declared, task = declarations.license_of(version), declarations.task_of(version)
    counts = {"files": len(files), "versions": count, "variants": len(variants(version))}
    return Head(
        namespace=model.namespace.slug,
        name=model.name,
        ref=version.ref,
        state=version.state,
        private=model.visibility == "private",
        summary=documents.summary_of(version),
        license=words.licence(license_declared),
        license_value=license_declared.lower(),
        task=words.task(task),
        task_value=task,
        keywords=tuple(declarations.keywords_of(version)),
        aliases=tuple(
            ref.name for ref in refs if ref.kind == "alias" and ref.version_id == version.pk
        ),
        versions=versions,
        variants=tuple(_variant(row, variant) for row in variants(version)),
        variant=variant.name if variant else "",
        choice=choice,
        tabs=_tabs(version, tab, here, counts),
        tab=tab,
        note=_note(version, latest),
        model_url=reverse("model", args=place[:2]),
        api_url=f"/api/v1/models/{model.ref}/versions/{version.number}",
        graph_url=reverse("version", args=place),
        files_url=here["files"],
        checks_url=here["checks"],
        conformance_url=here["conformance"],
        variants_url=here["variants"],
        provenance_url=here["provenance"],
        size=sum(file.blob.size for file in shown),
        file_count=len(shown),
        parameters=variant.parameters if variant else None,
        opset=variant.opset if variant else None,
        ready=_ready(version, variant),
        ir_version=variant.ir_version if variant else None,
        precision=variant.precision if variant else "",
        nodes=graph.nodes,
        operators=len(graph.operators),
        barcode=graph.barcode,
    )


def main_variant(version: Version) -> Variant | None:
    """The variant that a reference without a variant loads."""
    return next(iter(version.variants.all()), None)


def chosen_variant(version: Version, name: str) -> Variant | None:
    """The variant that an address names, else the main one; raises VariantMissing."""
    if not name:
        return main_variant(version)
    for row in variants(version):
        if row.name == name:
            return row
    offers = ", ".join(row.name for row in variants(version)) or "none yet"
    raise problems.VariantMissing(
        f"{version.ref} has no variant {name[:64]}. Available: {offers}.", offers=offers
    )


def kept_choice(version: Version, name: str) -> str:
    """What an address of this version needs so as to keep the choice; nothing if it lacks it."""
    return next((choice_of(version, row) for row in variants(version) if row.name == name), "")


def choice_of(version: Version, variant: Variant | None) -> str:
    """What an address needs so as to keep this variant; nothing for the main one."""
    main = main_variant(version)
    if variant is None or main is None or variant.pk == main.pk:
        return ""
    return f"?{urlencode({'variant': variant.name})}"


def variants(version: Version) -> list[Variant]:
    """The variants of a version, those that were uploaded first."""
    return list(version.variants.all())


def place(version: Version, view: str = "version", *more: object) -> str:
    """The address of a page of a version."""
    model = version.model
    return reverse(view, args=[model.namespace.slug, model.name, version.number, *more])


def own_files(version: Version, variant: Variant | None) -> list[File]:
    """The files of the version as uploaded, or those that were made for a derived variant."""
    files = list(version.files.all())
    if variant is None or variant.origin == "uploaded":
        return [file for file in files if not file.derived]
    paths = variant.paths
    return [file for file in files if file.path in paths]


def own_model(version: Version, variant: Variant | None) -> list[File]:
    """What loads a variant: its entry first, then its external data; no test data, no card."""
    if variant is None:
        return []
    paths = variant.paths
    files = [file for file in version.files.all() if file.path in paths]
    return sorted(files, key=lambda file: file.pk != variant.entry_id)


def _ready(version: Version, variant: Variant | None) -> str:
    """The highest opset that an uploaded variant was brought to, where that is above its own.

    Of an upgraded variant, what was shown about it.
    """
    if variant is not None and variant.origin == "upgraded":
        return _shown(variant)
    if variant is None or variant.origin != "uploaded":
        return ""
    upgraded = [
        row
        for row in variants(version)
        if row.origin == "upgraded" and row.derived_from_id == variant.pk
    ]
    highest = max(
        (row for row in upgraded if (row.opset or 0) > (variant.opset or 0)),
        key=lambda row: (row.is_chosen, row.opset or 0),
        default=None,
    )
    return "" if highest is None else readiness(highest)


def readiness(upgraded: Variant) -> str:
    """What was shown about an upgraded variant in a few words, and whether it is chosen."""
    state = "ready" if upgraded.is_chosen else "not used by default"
    return f"{upgraded.opset} {state}: {_shown(upgraded)}"


def _shown(upgraded: Variant) -> str:
    proof = upgraded.statement
    return proofs.WORDS[proofs.EARLIER] if proof is None else proof.brief


def _variant(row: Variant, chosen: Variant | None) -> Choice:
    said = [row.name, f"opset {row.opset}" if row.opset else "", row.precision.replace("none", "")]
    on = chosen is not None and row.pk == chosen.pk
    return Choice(" · ".join(part for part in said if part), row.name, on=on)


def _choice(other: Version, version: Version, latest: int | None) -> Choice:
    said = [str(other.number), other.label, "latest" if other.number == latest else ""]
    if other.state != "published":
        said.append(other.state)
    text = " · ".join(part for part in said if part)
    return Choice(text, str(other.number), on=other.number == version.number)


def _tabs(
    version: Version, tab: str, here: dict[str, str], counts: dict[str, int]
) -> tuple[Choice, ...]:
    model: RegisteredModel = version.model
    tabs = [
        Choice(title, url=here[name], on=name == tab, count=counts.get(name))
        for name, (title, _) in TABS.items()
    ]
    url = reverse("model-versions", args=[model.namespace.slug, model.name])
    return (*tabs, Choice("Versions", url=url, on=tab == "versions", count=counts["versions"]))


def _note(version: Version, latest: int | None) -> Note | None:
    model = version.model
    newest = reverse("version", args=[model.namespace.slug, model.name, latest]) if latest else ""
    link = f"View version {latest}, the newest" if latest else ""
    if version.state == "draft":
        url = place(version, "draft")
        words = "Visible to writers of the namespace only."
        return Note("", "A draft.", words, url, "Edit, submit or delete it")
    if version.state == "submitted":
        then = "It is published when the checks pass." if version.publish_requested else ""
        return Note("", "Checks running.", f"Visible to members of the namespace only. {then}")
    if version.state == "yanked":
        return Note(
            "part",
            "Yanked.",
            f"{version.reason} The files can still be downloaded with the exact version number.",
            newest,
            link,
        )
    if version.state == "withdrawn":
        when = formatting.exact(version.ended_at) if version.ended_at else ""
        return Note(
            "fail", f"Withdrawn {when}.", f"{version.reason} The files were deleted.", newest, link
        )
    return _check_note(version) or _newer_note(version, latest, newest, link)


def _check_note(version: Version) -> Note | None:
    """That the check of a released version failed, under a newer rule or by a newer library."""
    if all(check.kind != "onnx" or check.outcome != "failed" for check in version.checks.all()):
        return None
    checks = place(version, "version-checks")
    words = "A file of this version is invalid or does not load."
    return Note("fail", "Checks failed.", words, checks, "View checks")


def _newer_note(version: Version, latest: int | None, newest: str, link: str) -> Note | None:
    if latest and version.number < latest:
        return Note("", "Superseded.", f"Version {latest} is newer.", newest, link)
    return None
