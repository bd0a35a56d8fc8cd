"""Which fields of a card a form has: their groups, labels, choices and tables."""

from __future__ import annotations

from dataclasses import dataclass

from frontend.parts import labels
from hub.protocol.vocabularies import TASKS
from registry.cards import vocabularies


@dataclass(frozen=True, slots=True)
class Input:
    """One field of the form; ``path`` leads to its value inside the front matter or a row."""

    path: tuple[str, ...]
    label: str
    kind: str = "text"
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    list: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A field that is a list, with the inputs of each row."""

    name: str
    label: str
    one: str
    inputs: tuple[Input, ...]
    help: str = ""


_ANY = (("", "not said"),)
_PERSONAL = (
    *_ANY,
    ("no", "no: not about people"),
    ("anonymised", "anonymised: nobody can be found again"),
    ("yes", "yes: about people"),
    ("unknown", "unknown"),
)
_TASKS = (*_ANY, *((task, labels.task(task)) for task in TASKS))
_RELATIONS = (*_ANY, *((word, word) for word in vocabularies.RELATIONS))
_DATASET = (
    Input(("name",), "Name or name in this hub", list="card-datasets"),
    Input(("iri",), "Address or DOI", help="https://doi.org/… says which data they are."),
    Input(("license",), "Licence", list="card-licences"),
    Input(("personal_data",), "Personal data", "personal", choices=_PERSONAL),
    Input(("rows",), "Rows", "number"),
    Input(("split",), "Split", help="Which part, chosen how."),
    Input(("legal_basis",), "Legal basis", help="Where data are about people."),
    Input(("source",), "Where it came from"),
    Input(("note",), "Note", wide=True),
)
_PERSON = (
    Input(("name",), "Name"),
    Input(("orcid",), "ORCID iD"),
    Input(("affiliation",), "Affiliation"),
)
_EVALUATION = (
    Input(("dataset", "type"), "Data set", list="card-datasets", help="Its address or name."),
    Input(("dataset", "split"), "Split"),
    Input(("task", "type"), "Task", list="card-tasks"),
    Input(("metrics", "type"), "Metric", list="card-metrics"),
    Input(("metrics", "value"), "Value", "number", help="Shares as a fraction from 0 to 1."),
)
_RISK = (
    Input(("title",), "Risk"),
    Input(("severity",), "Severity"),
    Input(("probability",), "Probability"),
    Input(("mitigation",), "Mitigation", wide=True),
    Input(("description",), "Description", wide=True),
)
GROUPS: tuple[tuple[str, str, tuple[Input | Table, ...]], ...] = (
    (
        "What it is",
        "for lists, search and filters",
        (
            Input(("summary",), "Summary", help="One sentence, shown in lists.", wide=True),
            Input(("license",), "Licence", list="card-licences", help="An SPDX id."),
            Input(("license_name",), "Name of the licence", help="Where no id fits."),
            Input(("license_link",), "Text of the licence", help="An address."),
            Input(("pipeline_tag",), "Task", list="card-tasks"),
            Input(("tags",), "Tags", "words", help="Separated by commas."),
            Input(("language",), "Languages", "words", help="ISO 639 codes: en, de."),
            Input(("library_name",), "Made with", help="A library, such as pytorch."),
            Input(("base_model",), "Base model", "words", help="Made from: its reference."),
            Input(("base_model_relation",), "Relation to it", "choice", choices=_RELATIONS),
            Input(("new_version",), "Newer model", help="A reference, where one replaces it."),
            Input(("precision",), "Precision", "words", list="card-precisions"),
            Input(("architecture",), "Architecture", wide=True),
        ),
    ),
    (
        "Training data and personal data",
        "what it learned from, and whether that was about people",
        (
            Table("training_data", "Training data", "data set", _DATASET),
            Input(("datasets",), "Data sets by name alone", "words", help="Separated by commas."),
            Input(
                ("personal_data", "status"), "Personal data, over all", "choice", choices=_PERSONAL
            ),
            Input(("personal_data", "categories"), "Categories of personal data", "words"),
            Input(("personal_data", "legal_basis"), "Legal basis"),
            Input(("personal_data", "note"), "What is known of it", "area"),
            Table("validated_on", "Validated on", "data set", _DATASET),
            Table("tested_on", "Tested on", "data set", _DATASET),
        ),
    ),
    (
        "Training and evaluation",
        "how it was made, and what was measured",
        (
            Table("model-index", "Evaluations", "evaluation", _EVALUATION),
            Input(("metrics",), "Metrics by name", "words"),
            Input(
                ("hyperparameters",),
                "Hyperparameters",
                "mapping",
                help="One a line, as name: value; the seed too.",
            ),
            Input(("hardware",), "Hardware", "area", help="Class of machine; no host names."),
        ),
    ),
    (
        "Carbon and energy",
        "only what was measured or honestly estimated",
        (
            Input(
                ("co2_eq_emissions", "emissions"),
                "Emissions in grams CO₂e",
                "number",
                help="Grams; CodeCarbon writes kilograms.",
            ),
            Input(("co2_eq_emissions", "source"), "Source of the number"),
            Input(("co2_eq_emissions", "geographical_location"), "Where it ran"),
            Input(("co2_eq_emissions", "hardware_used"), "Hardware it ran on"),
            Input(("co2_eq_emissions", "training_type"), "What was trained"),
            Input(("energy", "kwh"), "Energy in kWh", "number"),
            Input(("energy", "hours"), "Hours", "number"),
            Input(
                ("carbon_method",),
                "Method",
                "area",
                help="How it was got, or why there is no number.",
            ),
        ),
    ),
    (
        "Use and limits",
        "what callers must do and know",
        (
            Input(
                ("inputs",),
                "Inputs",
                "mapping",
                help="Name of each input, then range, vocabulary, example or image as YAML.",
            ),
            Input(("preprocessing",), "Before: preprocessing", "area"),
            Input(("postprocessing",), "After: postprocessing", "area"),
            Input(("intended_use",), "Intended use", "area"),
            Input(("limitations",), "Limitations", "area"),
            Input(("bias",), "Bias", "area"),
            Table("risks", "Risks", "risk", _RISK),
        ),
    ),
    (
        "People and citation",
        "who made it, and what to cite",
        (
            Table("creators", "Creators", "person", _PERSON),
            Input(("doi",), "DOI"),
            Input(("date",), "Date", help="As 2026-01-31."),
            Input(("citation",), "Citation", "area"),
        ),
    ),
)
TABLES = {part.name: part for _, _, parts in GROUPS for part in parts if isinstance(part, Table)}
