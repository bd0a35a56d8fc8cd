"""The head that every page of a version shares: name, versions, states, facts and tabs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts.options import Option
from frontend.presenters import declarations, facts
from hub.protocol import problems, proofs, refs
from hub.protocol.ports import Port
from registry.catalogue import documents
from registry.core.permissions import Actor
from registry.models import File, Ref, Variant, Version


@dataclass(frozen=True, slots=True)
class Tab:
    """A page of a version: its name, title and view, and the tab that it stands under.

    Without a ``family`` the page is a tab of its own. Tabs are sorted by ``order``. ``is_of_model``
    where the address names the model alone. ``count`` is how much the page has for an actor.
    """

    name: str
    title: str
    view: str
    family: str = ""
    order: int = 0
    is_of_model: bool = False
    count: Callable[[Actor, Version], int] | None = None

    def url(self, version: Version) -> str:
        """The address of the page."""
        if not self.is_of_model:
            return place(version, self.view)
        return reverse(self.view, args=[version.model.namespace.slug, version.model.name])


tabs = Port(Tab)
tabs.register(
    "frontend",
    Tab("overview", "Overview", "version", order=10),
    Tab("conformance", "Conformance", "version-conformance", "Evidence", order=20),
    Tab("checks", "Checks", "version-checks", "Evidence", order=21),
    Tab("carbon", "Carbon", "version-carbon", "Speed", order=31),
    Tab(
        "files",
        "Files",
        "version-files",
        "Files and graph",
        order=40,
        count=lambda _, version: len(version.files.all()),
    ),
    Tab("graph", "Graph", "network", "Files and graph", order=41),
    Tab("lineage", "Lineage", "version-lineage", "Provenance", order=51),
    Tab("versions", "Versions", "model-versions", "Versions", order=60, is_of_model=True),
    Tab(
        "variants",
        "Variants",
        "version-variants",
        "Versions",
        order=61,
        count=lambda _, version: len(variants(version)),
    ),
)


def head(
    version: Version,
    tab: str,
    others: Iterable[Version],
    refs: Iterable[Ref],
    latest: int | None,
    variant: Variant | None,
    counts: dict[str, int],
) -> dict[str, Any]:
    """The head of one version and its chosen variant, fetched with its files and variants.

    ``others`` are the versions that a select offers, ``counts`` those of tabs by their names.
    """
    files = own_files(version, variant)
    aliases = [ref for ref in refs if ref.kind == "alias"]
    choice = choice_of(version, variant)
    pages = _pages(version, tab, choice, counts)
    family = next(page.family for page in pages if page.on)
    return {
        "summary": documents.summary_of(version),
        "licenses": declarations.licenses_of(version),
        "task": declarations.task_of(version),
        "keywords": tuple(declarations.keywords_of(version)),
        "aliases": tuple(ref.name for ref in aliases if ref.version_id == version.pk),
        "alias_names": tuple(ref.name for ref in aliases),
        "versions": tuple(_choice(other, version, latest) for other in others),
        "variants": tuple(_variant(row, variant) for row in variants(version)),
        "choice": choice,
        "tabs": _tabs(pages),
        "pages": tuple(page for page in pages if page.family == family),
        "tab": tab,
        "note": _note(version, latest),
        "api_url": f"/api/v1/models/{version.model.ref}/versions/{version.number}",
        "graph_url": place(version),
        "size": sum(file.blob.size for file in files),
        "file_count": len(files),
        "ready": _ready(version, variant),
        "facts": facts.of(variant),
    }


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


def required_variant(version: Version, name: str) -> Variant:
    """The same; raises VariantMissing also where no file of the version has been read."""
    return problems.expect(
        chosen_variant(version, name),
        problems.VariantMissing(f"{version.ref} has no variant yet.", offers="none yet"),
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


def address_of(reference: str) -> str:
    """The address of the page of a model, or of a version by its number."""
    ref = refs.parse(reference)
    parts = [ref.namespace, ref.model]
    return (
        reverse("model", args=parts)
        if ref.number is None
        else reverse("version", args=[*parts, ref.number])
    )


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


def preferred_upgrade(version: Version, variant: Variant | None) -> Variant | None:
    """The variant upgraded from this one to an opset above its own that is offered first."""
    return max(
        (
            row
            for row in variants(version)
            if variant is not None
            and row.origin == "upgraded"
            and row.derived_from_id == variant.pk
            and (row.opset or 0) > (variant.opset or 0)
        ),
        key=lambda row: row.preference,
        default=None,
    )


def _ready(version: Version, variant: Variant | None) -> str:
    """How far an uploaded variant was upgraded; of an upgraded one, its proof."""
    if variant is not None and variant.origin == "upgraded":
        return _proof(variant)
    if variant is None or variant.origin != "uploaded":
        return ""
    upgraded = preferred_upgrade(version, variant)
    return "" if upgraded is None else readiness(upgraded)


def readiness(upgraded: Variant) -> str:
    """The proof of an upgraded variant in a few words, and whether it is used by default."""
    state = "ready" if upgraded.is_chosen else "not used by default"
    return f"{upgraded.opset} {state}: {_proof(upgraded)}"


def _proof(upgraded: Variant) -> str:
    proof = upgraded.statement
    return proofs.WORDS[proofs.Strength.EARLIER_METHOD] if proof is None else proof.brief


def _variant(row: Variant, choice: Variant | None) -> Option:
    parts = (row.name, f"opset {row.opset}" if row.opset else "", row.precision.replace("none", ""))
    on = choice is not None and row.pk == choice.pk
    return Option(" · ".join(filter(None, parts)), row.name, on=on)


def _choice(other: Version, version: Version, latest: int | None) -> Option:
    parts = [str(other.number), other.label, "latest" if other.number == latest else ""]
    if other.state != "published":
        parts.append(other.state)
    words = " · ".join(filter(None, parts))
    return Option(words, str(other.number), on=other.number == version.number)


def page_of(version: Version, name: str) -> str:
    """The address of a page of a version; its overview for unknown ones and those of the model."""
    view = next((tab.view for tab in tabs if tab.name == name and not tab.is_of_model), "version")
    return place(version, view)


def _pages(version: Version, name: str, choice: str, counts: dict[str, int]) -> list[Option]:
    """Every page of a version, in the order of the tabs; ``family`` is the tab of a page."""
    return [
        Option(
            tab.title,
            url=tab.url(version) + ("" if tab.is_of_model else choice),
            on=tab.name == name,
            count=counts.get(tab.name),
            family=tab.family or tab.title,
        )
        for tab in sorted(tabs, key=lambda tab: tab.order)
    ]


def _tabs(pages: Iterable[Option]) -> tuple[Option, ...]:
    """The tabs, each of which leads to its first page."""
    first: dict[str, Option] = {}
    current = next((page.family for page in pages if page.on), "")
    for page in pages:
        family = page.family
        count = page.count if page.words == family else None
        first.setdefault(family, Option(family, url=page.url, on=family == current, count=count))
    return tuple(first.values())


def _note(version: Version, latest: int | None) -> dict[str, Any] | None:
    model = version.model
    newest = reverse("version", args=[model.namespace.slug, model.name, latest]) if latest else ""
    link = f"View version {latest}, the newest" if latest else ""
    if version.state == "draft":
        url = place(version, "draft")
        words = "Visible to writers of the namespace only."
        return {
            "tone": "",
            "title": "A draft.",
            "words": words,
            "url": url,
            "link": "Edit, submit or delete it",
        }
    if version.state == "submitted":
        then = "It is published when the checks pass." if version.publish_requested else ""
        return {
            "tone": "",
            "title": "Checks running.",
            "words": f"Visible to members of the namespace only. {then}",
        }
    if version.state == "yanked":
        return {
            "tone": "part",
            "title": "Yanked.",
            "words": f"{version.reason} The files can still be downloaded with the exact version "
            "number.",
            "url": newest,
            "link": link,
        }
    if version.state == "withdrawn":
        when = formatting.exact(version.ended_at) if version.ended_at else ""
        return {
            "tone": "fail",
            "title": f"Withdrawn {when}.",
            "words": f"{version.reason} The files were deleted.",
            "url": newest,
            "link": link,
        }
    if any(check.kind == "onnx" and check.outcome == "failed" for check in version.checks.all()):
        words = "A file of this version is invalid or does not load."
        return {
            "tone": "fail",
            "title": "Checks failed.",
            "words": words,
            "url": place(version, "version-checks"),
            "link": "View checks",
        }
    superseded = {
        "tone": "",
        "title": "Superseded.",
        "words": f"Version {latest} is newer.",
        "url": newest,
        "link": link,
    }
    return superseded if latest and version.number < latest else None
