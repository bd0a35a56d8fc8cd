"""Each kind of variant is declared once, and has its words wherever it is named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import rdflib
from rdflib import OWL, RDF, RDFS

from hub.protocol import derivations, variants
from hub.protocol.vocabularies import RUNTIMES
from metadata.rdf import terms
from registry.models import Variant
from runners.engine.convert.recipes import RECIPES
from runners.engine.server.tasks import FLOWS
from tests.contracts.sources import nodes

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("frontend", "hub", "metadata", "registry", "runners")
# Kinds that are called as the precision that they make.
PRECISIONS = frozenset({"fp16", "int8"})
DECLARATION = "hub/protocol/variants.py"
GENERATED = ROOT / "hub" / "client" / "rest"
DERIVATIONS = {
    value for value in vars(derivations).values() if isinstance(value, derivations.Derivation)
}


def product():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts and GENERATED not in path.parents:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def lists(text):
    """The kinds in each literal collection of a module that names several, beside precisions."""
    for node in nodes(text):
        if isinstance(node, ast.Dict):
            items = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            items = node.elts
        else:
            continue
        words = {item.value for item in items if isinstance(item, ast.Constant)}
        kinds = words & set(variants.KINDS)
        if len(kinds) > 1 and not kinds <= PRECISIONS:
            yield kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('KINDS = ("upgrade", "fp16")', {"upgrade", "fp16"}),
        ('WORDS = {"int8": "dynamic", "int8-qdq": "static"}', {"int8", "int8-qdq"}),
        ('kind: Literal["int8", "int8-qdq"]', {"int8", "int8-qdq"}),
        ('PRECISIONS = {"fp16": 16, "int8": 8}', None),
        ('EVIDENCE = ("carbon", "upgrade")', None),
    ],
)
def test_lists(text, kinds):
    assert next(lists(text), None) == kinds


def test_no_second_list():
    assert {path: kinds for path, text in product() for kinds in lists(text)} == {}


def test_a_kind_is_named_in_few_files():
    for name in set(variants.KINDS) - PRECISIONS - {"upgrade"}:
        files = [path for path, text in product() if name in text]
        assert DECLARATION in files
        assert len(files) <= 4, (name, files)


@pytest.mark.parametrize("kind", variants.KINDS.values(), ids=list(variants.KINDS))
def test_a_kind_is_complete(kind):
    assert kind.label
    assert kind.job in FLOWS
    assert kind.runtime in RUNTIMES
    assert kind.derivation.adjective in Variant.Origin.values
    assert f"hub variant lab/tiny {kind.name} " in (ROOT / "docs" / "proofs.md").read_text()
    assert (kind.name in RECIPES) == (kind.job == "convert")


def test_recipes_make_declared_kinds():
    assert {name: recipe.kind for name, recipe in RECIPES.items()}.items() <= variants.KINDS.items()


def test_derived_origins_are_words_of_derivations():
    origins = set(Variant.Origin.values) - {Variant.Origin.UPLOADED}
    assert origins == set(variants.DERIVATIONS)


@pytest.mark.parametrize("derivation", sorted(DERIVATIONS, key=str), ids=lambda one: one.noun)
def test_a_derivation_has_one_word_in_the_vocabulary_too(derivation):
    vocabulary = rdflib.Graph().parse(ROOT / "metadata" / "vocab" / "terms.ttl")
    term = rdflib.URIRef(f"https://hub.invalid/ns#{derivation.term}")
    assert derivation.adjective
    assert (term, RDF.type, OWL.Class) in vocabulary
    assert str(vocabulary.value(term, RDFS.label)) == derivation.noun
    assert derivation.term in terms.OWN
