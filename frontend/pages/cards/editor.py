"""The card of a draft at work: what was typed, what a button does to it, and what is shown then.

Nothing is saved but by *Save*: rows, suggestions and imported files change the text on the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from frontend.pages.cards import changes, fields, forms
from frontend.parts import labels
from hub.protocol import problems
from hub.protocol.cards import Card
from hub.protocol.facts import Facts
from hub.protocol.vocabularies import LICENCES, REPORTED_METRICS, TASKS
from registry.cards import (
    cards,
    edits,
    imports,
    licences,
    mentions,
    merges,
    resolution,
    suggestions,
    vocabularies,
)
from registry.cards.findings import Finding
from registry.datasets import selectors
from registry.models import RegisteredModel, Version
from registry.storage.files import store
from runners.drafts import facts

DATASETS_OFFERED = 100
_PROSE = """---

# {name}

What it does, in one sentence.

## Use

## How it was made

## Limits
"""


@dataclass(slots=True)
class Desk:
    """A card as it lies on the page, saved or not."""

    text: str
    mode: str = "text"
    seen: str = ""
    unsaved: bool = False
    error: str = ""
    theirs: str = ""
    notes: list[str] = field(default_factory=list)
    extra: tuple[str, ...] = ()


def opened(version: Version, mode: str) -> Desk:
    """The card as it is stored; a beginning of one where there is none."""
    text = version.readme or start(version.model)
    return Desk(text, "form" if mode == "form" else "text", cards.digest(version.readme))


def start(model: RegisteredModel) -> str:
    """A card to begin with: what the model says of itself, and headings."""
    licenses = licences.items(model.license)
    defaults = {
        "license": list(licenses) if len(licenses) > 1 else model.license,
        "pipeline_tag": model.task,
        "summary": model.summary,
    }
    lines = [
        edits.written(name, value) if value else f"{name}:\n" for name, value in defaults.items()
    ]
    return "---\n" + "".join(lines) + "tags: []\n" + _PROSE.format(name=model.name)


def posted(request: HttpRequest, version: Version) -> Desk:
    """The card as it was typed into the text or the form; raises CardInvalid for broken YAML."""
    values = {name: str(value) for name, value in request.POST.items()}
    mode = "form" if values.get("mode") == "form" else "text"
    # Browsers send every line's end as CR LF; the card keeps the ends that it has.
    text = values.get("base" if mode == "form" else "card", "").replace("\r\n", "\n")
    if "\r\n" in version.readme:
        text = text.replace("\n", "\r\n")
    desk = Desk(text, mode, values.get("seen", ""), unsaved=True)
    if mode == "form":
        front = cards.check(text).front
        desk.text = edits.change(text, changes.of(front, values))
    return desk


def act(desk: Desk, request: HttpRequest, version: Version) -> None:
    """Do what the pressed button says; raises InvalidRequest, CardInvalid."""
    deed, _, what = request.POST.get("do", "").partition(":")
    if deed in ("text", "form"):
        desk.mode = deed
    elif deed == "add" and what in fields.TABLES:
        desk.extra = (what,)
    elif deed == "take":
        _take(desk, version, request.POST.getlist("take"))
    elif deed == "import":
        _import(desk, request, version, what)


def _take(desk: Desk, version: Version, names: list[str]) -> None:
    reading = facts.of(version)
    suggested = {
        suggestion.name: suggestion.value for suggestion in suggestions.of(reading.facts or Facts())
    }
    values = {name: suggested[name] for name in names if name in suggested}
    front = cards.check(desk.text).front
    desk.text = edits.change(desk.text, merges.merged(front, values))
    desk.notes = [f"Applied from {reading.origin}: {', '.join(values) or 'nothing selected'}."]


def _import(desk: Desk, request: HttpRequest, version: Version, path: str) -> None:
    name, content = path, b""
    if path:
        file = problems.expect(
            version.files.filter(path=path).first(),
            problems.InvalidRequest(f"The draft has no file {path}."),
        )
        content = store().read(file.blob_id, imports.LIMIT_BYTES + 1)
    else:
        sent = problems.expect(
            request.FILES.get("import"),
            problems.InvalidRequest("Choose a file to read into the card."),
        )
        name, content = sent.name or "", sent.read(imports.LIMIT_BYTES + 1)
    proposal = imports.read(content, name)
    changes = merges.merged(cards.check(desk.text).front, proposal.fields)
    desk.text = edits.change(desk.text, changes)
    names = ", ".join(changes) or "no new values"
    kind = imports.KINDS[proposal.kind][0]
    desk.notes = [f"Imported from {kind}: {names}.", *proposal.notes]


def template_context(desk: Desk, version: Version) -> dict[str, Any]:
    """What the template of a card needs."""
    checked = cards.check(desk.text)
    reading = facts.of(version)
    checked = replace(
        checked, findings=(*checked.findings, *_contradictions(desk, version, reading))
    )
    front = checked.front
    # YAML that is broken somewhere has no fields to show: the text is where it is mended.
    broken = any(error.pointer.startswith("/line/") for error in checked.errors)
    mode = "text" if broken else desk.mode
    groups = forms.show(front, checked.findings, desk.extra) if mode == "form" else []
    places = forms.targets(groups)
    offers = _offers(front, reading) if not broken else []
    named = _named(front)
    meant = resolution.datasets_of(version.model, named)
    return {
        "desk": desk,
        "mode": mode,
        "broken": broken and desk.mode == "form",
        "checked": checked,
        "findings": [
            (finding, places.get(finding.pointer, "text")) for finding in checked.findings
        ],
        "groups": groups,
        "offers": offers,
        "reading": reading,
        "imports": [
            (file.path, imports.KINDS[kind][0])
            for file in version.files.all()
            if (kind := imports.kind_of(file.path))
        ],
        "known_datasets": sorted(set(meant.values()), key=lambda entry: entry.slug),
        "unknown_datasets": [
            (name, urlencode({"iri" if "://" in name else "slug": name}))
            for name in named
            if mentions.key(name) not in meant
        ][:20],
        "choices": _choices() if mode == "form" else {},
        "rows_shown": forms.ROWS_SHOWN,
    }


def _contradictions(desk: Desk, version: Version, reading: facts.Reading) -> Iterable[Finding]:
    model = reading.facts.inputs if reading.facts else ()
    rows = cards.contradictions(desk.text, model, [file.path for file in version.files.all()])
    return [replace(row, severity="warning") for row in rows]


def _offers(front: dict[str, Any], reading: facts.Reading) -> list[dict[str, Any]]:
    offers = []
    for suggestion in suggestions.of(reading.facts or Facts()):
        new = merges.merged(front, {suggestion.name: suggestion.value}).get(suggestion.name)
        if new is not None:
            now = front.get(suggestion.name)
            current = edits.as_yaml(now).strip().removesuffix("...").strip() if now else ""
            value = edits.as_yaml(suggestion.value).strip().removesuffix("...").strip()
            offers.append(
                {
                    "name": suggestion.name,
                    "value": value[:400],
                    "now": current[:400],
                    "origin": suggestion.origin,
                }
            )
    return offers


def _named(front: dict[str, Any]) -> list[str]:
    card = Card.read(front)
    rows = (*card.training_data, *card.validated_on, *card.tested_on, *card.datasets)
    return list(dict.fromkeys(filter(None, (row.iri or row.name for row in rows))))[:50]


def _choices() -> dict[str, Any]:
    entries = selectors.page(limit=DATASETS_OFFERED)
    return {
        "datasets": [(entry.slug, entry.title) for entry in entries],
        "licences": sorted(LICENCES, key=str.lower),
        "tasks": [(task, labels.task(task)) for task in TASKS],
        "precisions": vocabularies.PRECISIONS,
        "metrics": sorted(REPORTED_METRICS),
    }
