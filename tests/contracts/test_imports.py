"""One import of each module: what annotations need comes with what runtime needs of it."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("frontend", "hub", "metadata", "registry")


def imports(body):
    """The names that statements import from each module."""
    names: dict[str, set[str]] = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            names.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    return names


def second_imports(tree):
    """What blocks for type checkers import of modules that are imported at runtime as well.

    Names that a module has for type checkers alone cannot come with the others.
    """
    runtime = imports(tree.body)
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    for block in blocks:
        if not ast.unparse(block.test).endswith("TYPE_CHECKING"):
            continue
        for module, names in imports(block.body).items():
            if module in runtime and all(hasattr(import_module(module), name) for name in names):
                yield module


def test_second_imports_are_noticed():
    source = (
        "from pathlib import Path\n"
        "if TYPE_CHECKING:\n"
        "    from pathlib import PurePath\n"
        "    from decimal import Decimal\n"
    )
    assert list(second_imports(ast.parse(source))) == ["pathlib"]


@pytest.mark.parametrize("room", ROOMS)
def test_each_module_is_imported_once(room):
    twice = {
        path.relative_to(ROOT).as_posix(): modules
        for path in sorted((ROOT / room).rglob("*.py"))
        if "rest" not in path.parts
        and (modules := list(second_imports(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert twice == {}
