"""Names in docstrings: of what is there, so that no parameter outlives its removal in the words.

In the docstring of a function or class, double backticks name its parameters, its attributes, or
something of its module. Single backticks may name anything of the product.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from pathlib import Path

import pytest

from tests.contracts.sources import nodes

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("frontend", "hub", "metadata", "registry", "runners")
OWN = re.compile(r"``([a-z_]\w*)``")
ANY = re.compile(r"(?<!`)`([A-Za-z_]\w*)`(?!`)")
WORD = re.compile(r"[A-Za-z_]\w*")
# Names of other programs and formats, and examples.
OTHERS = {
    *("bnode", "map_batches", "num_cpus", "present_key", "psys", "total_sequence_length"),
    *("loss_after", "loss_before", "opset21", "v3"),
}
# Where a node has a name, which may have dots.
NAMING = frozenset({"id", "attr", "arg", "name", "asname", "module"})
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules():
    """The tree of each module of the product, by its path."""
    paths = (path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return {
        path: nodes((ROOT / path).read_text(encoding="utf-8"))[0]
        for path in sorted(paths)
        if "migrations" not in path.parts
    }


def words(node):
    """Every name in the code of a node, and every word of its texts other than docstrings."""
    docstrings = {
        id(part.body[0].value)
        for part in ast.walk(node)
        if isinstance(part, Documented) and ast.get_docstring(part, clean=False)
    }
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.update(() if id(part) in docstrings else WORD.findall(part.value))
        for field in NAMING.intersection(part._fields):
            value = getattr(part, field)
            if isinstance(value, str):
                found.update(value.split("."))
    return found


def top_names(module):
    """What a module defines, imports and assigns."""
    bodies = (node for node in module.body if not isinstance(node, ast.FunctionDef | ast.ClassDef))
    defined = {
        node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    return defined.union(*map(words, bodies))


def gone_names(node, outer):
    """Names in the docstrings below a node that are neither in their owner nor in ``outer``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = OWN.findall(ast.get_docstring(child) or "")
            is_class = isinstance(child, ast.ClassDef)
            around = outer | words(child) if names or is_class else outer
            for name in names:
                if name not in around:
                    yield child.name, name
            yield from gone_names(child, around if is_class else outer)


@pytest.mark.parametrize("room", ROOMS)
def test_double_backticks_name_what_the_function_or_its_module_has(room):
    gone = [
        (path.as_posix(), *names)
        for path, module in modules().items()
        if path.parts[0] == room
        for names in gone_names(module, top_names(module))
    ]
    assert gone == []


def test_single_backticks_name_something_of_the_product():
    there = set(dir(builtins)).union(OTHERS, *map(words, modules().values()))
    there |= {word for path in modules() for part in path.parts for word in WORD.findall(part)}
    gone = {
        (path.as_posix(), name)
        for path, module in modules().items()
        for node in ast.walk(module)
        if isinstance(node, Documented)
        for name in ANY.findall(ast.get_docstring(node) or "")
        if name not in there
    }
    assert gone == set()


def test_what_the_rule_sees():
    source = '''
def first(kept):
    """``kept`` and ``second`` are there, ``gone`` is not."""

def second():
    """``kept`` is of another function."""
    gone = 1
'''
    module = ast.parse(source)
    assert list(gone_names(module, top_names(module))) == [("first", "gone"), ("second", "kept")]
