"""The front matter of a model card, as the hub stores it, read once.

It was checked by the rules of the release that saved it, if at all: what is absent or has another
shape is empty here, never guessed and never an error. Source: Hugging Face model card
specification, docs/cards.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from hub.protocol import inputs, stored
from hub.protocol.inputs import DeclaredInput
from hub.protocol.vocabularies import task_name

UNKNOWN: Final = "unknown"
# Whether data are about people -> words.
PERSONAL_DATA: Final = {
    "yes": "yes, personal data",
    "no": "no personal data",
    "anonymised": "anonymised",
    UNKNOWN: UNKNOWN,
}
# What outlives a withdrawn card: its fields on data and bases, and parts of these that are names or
# claims. Other parts may be what was withdrawn.
LASTING_FIELDS: Final = (
    "base_model",
    "base_model_relation",
    "personal_data",
    "training_data",
    "datasets",
    "validated_on",
    "tested_on",
)
LASTING_PARTS: Final = frozenset(
    [
        "iri",
        "doi",
        "url",
        "name",
        "id",
        "license",
        "personal_data",
        "status",
        "categories",
        "legal_basis",
    ]
)
# A mapping that may also be written as its main part alone.
MAIN_PARTS: Final = {"personal_data": "status", "co2_eq_emissions": "emissions", "energy": "kwh"}
# Parts of a data set that are names; whatever else its entry holds is a claim.
_NAMES: Final = frozenset({"name", "iri", "url", "doi", "id"})
_TEXTS: Final = ("iri", "doi", "url", "name", "type", "id", "split")
_ENERGY: Final = ("kwh", "gpu_kwh", "cpu_kwh", "ram_kwh", "hours")
_KEYWORDS, _KEYWORD_CHARACTERS = 50, 64
_LICENCE_CHARACTERS: Final = 64


@dataclass(frozen=True, slots=True)
class CardDataset:
    """A data set as a card names it.

    `personal_data` is one of PERSONAL_DATA, None where the entry does not mention them;
    `is_described` says whether it holds more than names. Results name theirs by `type` or `id`.
    """

    iri: str = ""
    doi: str = ""
    url: str = ""
    name: str = ""
    type: str = ""
    id: str = ""
    split: str = ""
    personal_data: str | None = None
    is_described: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Its names, the addresses first; a bare DOI with its scheme."""
        written = filter(None, (self.iri, self.doi, self.url, self.name))
        return tuple(f"doi:{name}" if name.startswith("10.") else name for name in written)

    @property
    def title(self) -> str:
        """Its name for people, else its address."""
        return self.name or self.iri or self.doi or self.url


@dataclass(frozen=True, slots=True)
class Result:
    """A metric of a result that a card reports: `value` and `unit` are as written at `pointer`.

    A result without metrics names its data set alone (`has_metric`). `url` is its source's; `file`
    is the one that it stands in, empty for the card itself.
    """

    pointer: str
    dataset: CardDataset
    metric: str
    value: float | str | None
    unit: str
    url: str
    date: str
    has_metric: bool = True
    file: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its data set, the id first."""
        return tuple(filter(None, (self.dataset.type, self.dataset.id, self.dataset.name)))


@dataclass(frozen=True, slots=True)
class Risk:
    """A risk that a card states; what it leaves out is empty."""

    title: str = ""
    description: str = ""
    severity: str = ""
    probability: str = ""
    mitigation: str = ""


@dataclass(frozen=True, slots=True)
class Emissions:
    """The carbon of a training in grams of CO2e, and how the card says it was determined."""

    grams: float | None = None
    kind: str = ""
    methods: tuple[str, ...] = ()

    @classmethod
    def read(cls, front: dict[str, Any]) -> Emissions:
        """Those of `co2_eq_emissions`: grams, or a mapping. Source: hub-docs, model-cards-co2."""
        declared = front.get("co2_eq_emissions")
        parts = declared if isinstance(declared, dict) else {"emissions": declared}
        return cls(
            grams=_amount(parts.get("emissions")),
            kind=_text(parts.get("kind")).lower(),
            methods=(*texts(front.get("carbon_method")), *texts(parts.get("source"))),
        )

    @property
    def kilograms(self) -> float | None:
        """The unit of lists and graphs; None if not declared."""
        return None if self.grams is None else self.grams / 1000


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy of a training in kilowatt-hours, and its hours; None if not declared."""

    kwh: float | None = None
    gpu_kwh: float | None = None
    cpu_kwh: float | None = None
    ram_kwh: float | None = None
    hours: float | None = None
    methods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """What a card declares.

    Each of `licenses` is as written, perhaps an SPDX expression; `other` is replaced by its name.
    `task` is the vocabulary's spelling of a task that it has.
    """

    licenses: tuple[str, ...] = ()
    task: str = ""
    keywords: tuple[str, ...] = ()
    summary: str = ""
    library: str = ""
    languages: tuple[str, ...] = ()
    base_models: tuple[str, ...] = ()
    creators: tuple[str, ...] = ()
    datasets: tuple[CardDataset, ...] = ()
    training_data: tuple[CardDataset, ...] = ()
    validated_on: tuple[CardDataset, ...] = ()
    tested_on: tuple[CardDataset, ...] = ()
    results: tuple[Result, ...] = ()
    personal_data: str | None = None
    emissions: Emissions = Emissions()
    energy: Energy = Energy()
    relation: str = ""
    training_type: str = ""
    hardware: tuple[str, ...] = ()
    location: str = ""
    inputs: tuple[DeclaredInput, ...] = ()
    risks: tuple[Risk, ...] = ()

    @classmethod
    def read(cls, front: object) -> Card:
        """Read a front matter; whatever is malformed is left out."""
        card = stored.mapping(front)
        personal_data, energy = card.get("personal_data"), card.get("energy")
        carbon = stored.mapping(card.get("co2_eq_emissions"))
        energy = energy if isinstance(energy, dict) else {"kwh": energy}
        amounts = {name: _amount(energy.get(name)) for name in _ENERGY}
        if amounts["kwh"] is None:
            amounts["kwh"] = _amount(carbon.get("energy_consumed"))
        hardware = (*texts(card.get("hardware")), *texts(carbon.get("hardware_used")))
        places = (*texts(carbon.get("geographical_location")), *texts(energy.get("location")))
        return cls(
            licenses=tuple(_licenses(card)),
            task=task_name(" ".join(texts(card.get("pipeline_tag"))))[:64],
            keywords=tuple(
                word[:_KEYWORD_CHARACTERS] for word in texts(card.get("tags"))[:_KEYWORDS]
            ),
            summary=" ".join(texts(card.get("summary"))),
            library=stored.text(card.get("library_name")),
            languages=texts(card.get("language")),
            base_models=texts(card.get("base_model")),
            creators=tuple(
                creator.name for creator in _datasets(card.get("creators")) if creator.name
            ),
            datasets=_datasets(card.get("datasets")),
            training_data=_datasets(card.get("training_data")),
            validated_on=_datasets(card.get("validated_on")),
            tested_on=_datasets(card.get("tested_on")),
            results=tuple(results(card)),
            personal_data=None if personal_data is None else _status(personal_data),
            emissions=Emissions.read(card),
            energy=Energy(**amounts, methods=texts(energy.get("method"))),
            relation=_text(card.get("base_model_relation")).lower(),
            training_type=", ".join(texts(carbon.get("training_type"))),
            hardware=tuple(dict.fromkeys(hardware)),
            location=next(iter(places), ""),
            inputs=inputs.parse(card.get("inputs")),
            risks=risks(card.get("risks")),
        )

    def personal_words(self, dataset: CardDataset) -> str:
        """What the card says of personal data in one of its data sets; UNKNOWN where nothing."""
        return PERSONAL_DATA[dataset.personal_data or self.personal_data or UNKNOWN]

    @property
    def evaluated_on(self) -> tuple[CardDataset, ...]:
        """The data sets of its results."""
        datasets = dict.fromkeys(result.dataset for result in self.results)
        return tuple(dataset for dataset in datasets if dataset != CardDataset())


def results(front: dict[str, Any]) -> Iterator[Result]:
    """Every metric of every result that a front matter reports: `model-index`, `eval_results`.

    In the latter the score of a benchmark may have no name but the benchmark's, and there are also
    the results of the version's files, each with its `file`.
    """
    for model_at, model in _indexed(front.get("model-index")):
        for result_at, result in _indexed(model.get("results")):
            place = f"/model-index/{model_at}/results/{result_at}/metrics"
            rows = [*_indexed(result.get("metrics"))]
            for at, row in rows:
                yield _result(f"{place}/{at}", result, row, _metric(row))
            if not rows:
                yield replace(_result(f"{place}/0", result, {}, ""), has_metric=False)
    for at, result in _indexed(front.get("eval_results")):
        if "error" in result:  # of a file that cannot be read
            continue
        score = result.get("metric")
        name = _metric(score) if isinstance(score, dict) else _text(score)
        name = name or _text(stored.mapping(result.get("dataset")).get("task_id"))
        yield _result(f"/eval_results/{at}", result, result, name)


def risks(value: object) -> tuple[Risk, ...]:
    """The risks of a card, mappings before texts; what has no title and no description is none."""
    rows = [*stored.rows(value), *({"description": text} for text in texts(value))]
    parts = [{field: _text(row.get(field)) for field in Risk.__slots__} for row in rows]
    return tuple(Risk(**row) for row in parts if row["title"] or row["description"])


def texts(value: object) -> tuple[str, ...]:
    """One text or a list of them; whatever is empty or no text is left out."""
    items = value if isinstance(value, list) else [value]
    return tuple(filter(None, map(_text, items)))


def dataset_rows(value: object) -> list[dict[str, Any]]:
    """The data sets that a field lists, names and mappings alike as mappings."""
    items = value if isinstance(value, list) else [value]
    rows = (item if isinstance(item, dict) else {"name": _text(item)} for item in items)
    return [row for row in rows if row not in ({}, {"name": ""})]


def _licenses(card: dict[str, Any]) -> Iterator[str]:
    name = " ".join(texts(card.get("license_name")))[:_LICENCE_CHARACTERS].strip()
    for licence in texts(card.get("license")):
        yield name if name and licence.lower() == "other" else licence


def _indexed(value: object) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = enumerate(value) if isinstance(value, list) else ()
    return ((at, row) for at, row in rows if isinstance(row, dict))


def _metric(row: dict[str, Any]) -> str:
    return _text(row.get("type")) or _text(row.get("name"))


def _result(pointer: str, result: dict[str, Any], row: dict[str, Any], metric: str) -> Result:
    value, datasets = row.get("value"), _datasets(result.get("dataset"))
    is_value = stored.is_scalar(value)
    return Result(
        pointer=pointer,
        dataset=datasets[0] if datasets else CardDataset(),
        metric=metric,
        value=value if is_value else None,
        unit=_text(row.get("unit")),
        url=_text(stored.mapping(result.get("source")).get("url")),
        date=_text(result.get("date")),
        file=_text(result.get("file")),
    )


def _datasets(value: object) -> tuple[CardDataset, ...]:
    return tuple(
        CardDataset(
            **{part: _text(row.get(part)) for part in _TEXTS},
            personal_data=_status(row["personal_data"]) if "personal_data" in row else None,
            is_described=any(
                part not in (None, "", []) for name, part in row.items() if name not in _NAMES
            ),
        )
        for row in dataset_rows(value)
    )


def _status(value: Any) -> str:
    """YAML makes booleans of yes and no; a mapping has the word as its status."""
    word = value.get("status") if isinstance(value, dict) else value
    if isinstance(word, bool):
        word = "yes" if word else "no"
    status = str(word).strip().lower()
    return status if status in PERSONAL_DATA else "unknown"


def _amount(value: Any) -> float | None:
    """A finite number of at least 0, also written as text; None for anything else."""
    if not stored.is_scalar(value):
        return None
    try:
        amount = float(value)
    except (ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None


def _text(value: object) -> str:
    """A text or a number as text, without the blanks around it; empty for anything else."""
    return str(value).strip() if stored.is_scalar(value) else ""
