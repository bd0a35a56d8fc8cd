"""The page of findings names every code that a model can be given, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
OURS = (
    "runners/queue/job_kinds.py",
    "runners/sandbox.py",
    "runners/starter/fetching.py",
    "runners/benchmarks/record_checks.py",
    "registry/federated/services/trainings.py",
)
SOURCES = [*(ROOT / "runners/engine").rglob("*.py"), *(ROOT / name for name in OURS)]
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+|cancelled|crashed|truncated|malformed")
# Words of the same shape that are not codes: verdicts, forms and kinds of ending.
OTHERS = {"not-run", "weight-only", "not-yours"}
NAMES = {"refuse", "add", "Finding", "JobError", "_errored", "_Kind", "_LostError", "TroubleError"}


def given():
    found = set()
    for source in SOURCES:
        for item in ast.walk(ast.parse(source.read_text())):
            if isinstance(item, ast.Call):
                name = getattr(item.func, "attr", getattr(item.func, "id", ""))
                words = item.args[:2] if name in NAMES else []
            elif isinstance(item, ast.Assign) and source.name == "file_types.py":
                words = item.value.elts[:1] if isinstance(item.value, ast.Tuple) else []
            elif isinstance(item, ast.ClassDef):
                words = [
                    line.value
                    for line in item.body
                    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code"
                ]
            elif isinstance(item, ast.Dict):
                words = [
                    value
                    for key, value in zip(item.keys, item.values, strict=True)
                    if getattr(key, "value", "") == "code"
                ]
            else:
                continue
            found |= {
                word.value
                for word in words
                if isinstance(word, ast.Constant) and CODE.fullmatch(str(word.value))
            }
    return found - OTHERS


def documented():
    page = (ROOT / "docs/findings.md").read_text()
    tables = page.split("## Files that are no model", 1)[1]
    return set(re.findall(r"^\| `([a-z0-9-]+)` \|", tables, re.MULTILINE))


def test_every_code_is_on_the_page_and_every_code_on_it_exists():
    # These three are verdicts that become codes of the same name.
    assert given() | {"crashed", "timed-out", "out-of-memory"} == documented()
