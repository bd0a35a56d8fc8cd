"""The models that packages hold, as `models.toml` lists them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from hub.protocol import problems, strict

FILE: Final = Path(__file__).with_name("models.toml")
ORIGIN: Final = "packaged_in"


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of a package, and its path in the version; ``sha256`` is that of the member.

    The engine makes another file of it by a ``recipe`` (runners/engine/starter/recipes.py).
    """

    member: str
    path: str
    size: int
    sha256: str
    recipe: str = "copy"


@dataclass(frozen=True, slots=True)
class Package:
    """A release of a package: its archive with size in bytes and SHA-256, and the files to take."""

    name: str
    version: str
    archive: str
    size: int
    sha256: str
    files: tuple[PackageFile, ...]

    @property
    def purl(self) -> str:
        """Its package URL (ECMA-427)."""
        return f"pkg:pypi/{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Licences:
    """The licence of a package's code and of its weights, and where these are stated."""

    code: str
    weights: str
    stated_in: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set on which a model is evaluated; the hub makes it by the recipe of its name.

    Recipes are those of runners/engine/starter/data. Several models may name one data set;
    ``entry`` are the fields of its entry.
    """

    name: str
    split: str
    entry: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the manifest; ``is_first`` are those that a new hub is given on request."""

    name: str
    about: str
    licences: Licences
    card: dict[str, Any]
    packages: tuple[Package, ...]
    is_first: bool = False
    data: DataSet | None = None
    label: str = field(init=False, default="")

    def __post_init__(self) -> None:
        parts = [self.card_text(), [package.sha256 for package in self.packages]]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        object.__setattr__(self, "label", f"starter-{digest[:12]}")

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return str(self.card["summary"])

    @property
    def task(self) -> str:
        """Its pipeline tag."""
        return str(self.card["pipeline_tag"])

    @property
    def size(self) -> int:
        """Bytes of its archives."""
        return sum(package.size for package in self.packages)

    @property
    def title(self) -> str:
        """The packages with their versions."""
        return ", ".join(f"{package.name} {package.version}" for package in self.packages)

    def card_text(self) -> str:
        """The card: the fields, where the files come from, and the prose."""
        package = self.packages[0]
        origin = {"package": package.purl, "version": package.version, "sha256": package.sha256}
        data = self.data
        tested = {"tested_on": [{"name": data.name, "split": data.split}]} if data else {}
        front = yaml.safe_dump(
            {**self.card, **tested, ORIGIN: origin}, sort_keys=False, allow_unicode=True, width=100
        )
        return (
            f"---\n{front}---\n\n# {self.name}\n\n{self.about.strip()}\n\n"
            f"{_use(self.card)}## Source\n\n{_sources(self)}\n"
        )


def _use(card: dict[str, Any]) -> str:
    titles = {
        "preprocessing": "Before",
        "postprocessing": "After",
        "intended_use": "Meant for",
        "limitations": "Limitations",
    }
    rows = [
        f"- **{title}.** {' '.join(str(card[name]).split())}"
        for name, title in titles.items()
        if name in card
    ]
    return "## Use\n\n" + "\n".join(rows) + "\n\n" if rows else ""


def _sources(model: Model) -> str:
    rows = ["| file | package | file in it | SHA-256 there |", "|---|---|---|---|"]
    rows += [
        f"| `{file.path}` | {package.name} {package.version} | `{file.member}` | `{file.sha256}` |"
        for package in model.packages
        for file in package.files
    ]
    licences = model.licences
    words = (
        f"Licence of the package's code: {licences.code}. Licence of the weights: "
        f"{licences.weights}. Stated in: {licences.stated_in}. The files below `licences/` are "
        "those of the packages."
    )
    return "\n".join([*rows, "", words])


def models() -> dict[str, Model]:
    """The models by name, in the order of the manifest."""
    return _read(FILE)


def model(name: str) -> Model:
    """The model of a name; raises NotFound."""
    row = models().get(name)
    if row is None:
        raise problems.NotFound(
            f"There is no starter model {name!r}. Choose from: {', '.join(models())}."
        )
    return row


@lru_cache(maxsize=2)
def _read(path: Path) -> dict[str, Model]:
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
    read = strict.Reader().read(list[Model], rows, "models")
    return {row.name: row for row in read}
