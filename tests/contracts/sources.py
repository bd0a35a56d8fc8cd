"""Modules of the product, parsed once for all the tests of a process."""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Every node of a module, beginning with the module itself."""
    return tuple(ast.walk(ast.parse(text)))
