"""Which fields of a card a form has: their groups, labels, choices and tables."""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol.derivations import RELATIONS


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


_ANY = (("", "not stated"),)
_PERSONAL = (
    *_ANY,
    ("no", "no: no personal data"),
    ("anonymised", "anonymised: people cannot be identified"),
    ("yes", "yes: contains personal data"),
    ("unknown", "unknown"),
)
_RELATIONS = (*_ANY, *((word, word) for word in RELATIONS))
_DATASET = (
    Input(("name",), "Name, or name on this hub", list="card-datasets"),
    Input(("iri",), "Address or DOI", help="For example https://doi.org/…"),
    Input(("license",), "Licence", list="card-licences"),
    Input(("personal_data",), "Personal data", "personal", choices=_PERSONAL),
    Input(("rows",), "Rows", "number"),
    Input(("split",), "Split", help="Part used and how it was selected."),
    Input(("legal_basis",), "Legal basis", help="Required for personal data."),
    Input(("source",), "Source"),
    Input(("note",), "Note", wide=True),
)
_PERSON = (
    Input(("name",), "Name"),
    Input(("orcid",), "ORCID iD"),
    Input(("affiliation",), "Affiliation"),
)
_EVALUATION = (
    Input(("dataset", "type"), "Data set", list="card-datasets", help="Name or address."),
    Input(("dataset", "split"), "Split"),
    Input(("task", "type"), "Task", list="card-tasks"),
    Input(("metrics", "type"), "Metric", list="card-metrics"),
    Input(("metrics", "value"), "Value", "number", help="Fractions from 0 to 1."),
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
        "Overview",
        "for lists, search and filters",
        (
            Input(("summary",), "Summary", help="One sentence, shown in lists.", wide=True),
            Input(("license",), "Licence", list="card-licences", help="SPDX identifier."),
            Input(("license_name",), "Licence name", help="If no SPDX identifier applies."),
            Input(("license_link",), "Licence text", help="URL."),
            Input(("pipeline_tag",), "Task", list="card-tasks"),
            Input(("tags",), "Tags", "words", help="Comma-separated."),
            Input(("language",), "Languages", "words", help="ISO 639 codes: en, de."),
            Input(("library_name",), "Library", help="For example pytorch."),
            Input(
                ("base_model",),
                "Base model",
                "words",
                help="Reference of the model it derives from.",
            ),
            Input(("base_model_relation",), "Relation to base model", "choice", choices=_RELATIONS),
            Input(("new_version",), "Newer model", help="Reference of the model that replaces it."),
            Input(("precision",), "Precision", "words", list="card-precisions"),
            Input(("architecture",), "Architecture", wide=True),
        ),
    ),
    (
        "Training data and personal data",
        "data used for training, and whether it contains personal data",
        (
            Table("training_data", "Training data", "data set", _DATASET),
            Input(("datasets",), "Data sets by name", "words", help="Comma-separated."),
            Input(
                ("personal_data", "status"), "Personal data overall", "choice", choices=_PERSONAL
            ),
            Input(("personal_data", "categories"), "Categories of personal data", "words"),
            Input(("personal_data", "legal_basis"), "Legal basis"),
            Input(("personal_data", "note"), "Notes on personal data", "area"),
            Table("validated_on", "Validated on", "data set", _DATASET),
            Table("tested_on", "Tested on", "data set", _DATASET),
        ),
    ),
    (
        "Training and evaluation",
        "how the model was trained and evaluated",
        (
            Table("model-index", "Evaluations", "evaluation", _EVALUATION),
            Input(("metrics",), "Metrics by name", "words"),
            Input(
                ("hyperparameters",),
                "Hyperparameters",
                "mapping",
                help="One per line as name: value, including the seed.",
            ),
            Input(("hardware",), "Hardware", "area", help="Type of machine, no host names."),
        ),
    ),
    (
        "Carbon and energy",
        "measured or estimated values",
        (
            Input(
                ("co2_eq_emissions", "emissions"),
                "Emissions in grams CO₂e",
                "number",
                help="In grams (CodeCarbon reports kilograms).",
            ),
            Input(("co2_eq_emissions", "source"), "Source of the value"),
            Input(("co2_eq_emissions", "geographical_location"), "Location"),
            Input(("co2_eq_emissions", "hardware_used"), "Hardware used"),
            Input(("co2_eq_emissions", "training_type"), "Training type"),
            Input(("energy", "kwh"), "Energy in kWh", "number"),
            Input(("energy", "hours"), "Hours", "number"),
            Input(
                ("carbon_method",),
                "Method",
                "area",
                help="How the value was obtained, or why there is none.",
            ),
        ),
    ),
    (
        "Use and limits",
        "how to use the model, and its limits",
        (
            Input(
                ("inputs",),
                "Inputs",
                "mapping",
                help="For each input: range, vocabulary, example or image, as YAML.",
            ),
            Input(("preprocessing",), "Preprocessing", "area"),
            Input(("postprocessing",), "Postprocessing", "area"),
            Input(("intended_use",), "Intended use", "area"),
            Input(("limitations",), "Limitations", "area"),
            Input(("bias",), "Bias", "area"),
            Table("risks", "Risks", "risk", _RISK),
        ),
    ),
    (
        "People and citation",
        "authors and citation",
        (
            Table("creators", "Creators", "person", _PERSON),
            Input(("doi",), "DOI"),
            Input(("date",), "Date", help="Format: 2026-01-31."),
            Input(("citation",), "Citation", "area"),
        ),
    ),
)
TABLES = {part.name: part for _, _, parts in GROUPS for part in parts if isinstance(part, Table)}
