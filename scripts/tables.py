#!/usr/bin/env python3
"""The tables in docs/ that are made from code: settings, problems, laws, commands, ports and more.

Prints them; with --write it puts them between their markers in the pages. A test fails when a page
differs from what the code says.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = [
    ROOT / f"hub/server/settings/{name}.py"
    for name in (
        "environment",
        "__init__",
        "limits",
        "celery",
        "sparql",
        "storage",
        "identity",
        "ldap",
        "saml",
        "publishers",
        "logging",
    )
]
FORMS = {
    "text": "text",
    "choice": "choice",
    "integer": "whole number",
    "number": "number",
    "rate": "number per s, min, hour or day",
    "flag": "true or false",
    "texts": "list, comma separated",
    "database": "address",
    "mail": "address",
    "ldap": "address",
    "networks": "list of networks, comma separated",
}


def settings_table() -> str:
    """Each variable of hub/server/settings with its form, default, and the comment above it."""
    rows: dict[str, str] = {}
    for file in SETTINGS:
        source = file.read_text(encoding="utf-8")
        lines = source.splitlines()
        comments: dict[int, str] = {}
        for statement in ast.parse(source).body:
            for call in ast.walk(statement):
                variable = _variable(call)
                if variable is None or variable[0] in rows:
                    continue
                name, form, default = variable
                comment = _comment_above(lines, statement.lineno)
                # The second of two variables under one comment shares it.
                comment = comment or comments.get(statement.lineno - 1, "")
                comments[statement.end_lineno or statement.lineno] = comment
                rows[name] = f"| `{name}` | {form} | {default} | {comment} |"
    return "\n".join(
        ["| variable | form | default | meaning |", "|---|---|---|---|", *rows.values()]
    )


def problems_table() -> str:
    """Each class of hub/protocol/problems.py with its type, status and title."""
    sys.path.insert(0, str(ROOT))
    from hub.protocol import problems  # noqa: PLC0415 - this checkout, installed or not

    kinds = sorted(problems.by_slug().values(), key=lambda kind: (kind.status, kind.slug))
    rows = [
        f"| {kind.status} | `{kind.slug}` | `{kind.__name__}` | {kind.title} |"
        for kind in kinds
        if kind is not problems.Problem
    ]
    return "\n".join(["| status | type | class | title |", "|---|---|---|---|", *rows])


def laws_tables() -> str:
    """Each law of tests/laws/ by its area: the law, the modules that hold it, and its tests."""
    sys.path.insert(0, str(ROOT))
    from tests import laws  # noqa: PLC0415 - this checkout

    every = laws.load()
    lines = []
    for area, title in laws.AREAS.items():
        lines += [f"## {title}", "", "| law | sentence | held in | test |", "|---|---|---|---|"]
        for law in every:
            if law.area == area:
                modules = "<br>".join(f"`{path}`" for path in law.modules)
                tests = "<br>".join(f"`{test}`" for test in law.tests)
                lines.append(f"| {law.id} | {law.law} | {modules} | {tests} |")
        lines.append("")
    return "\n".join(lines[:-1])


def asvs_tables() -> str:
    """The requirements of tests/asvs.toml by chapter, after the number of each state."""
    sys.path.insert(0, str(ROOT))
    from tests import asvs  # noqa: PLC0415 - this checkout

    every = asvs.load()
    counts = {state: sum(row.state == state for row in every) for state in asvs.State}
    lines = [f"Of {len(every)}: {', '.join(f'{n} {state}' for state, n in counts.items())}.", ""]
    for number, chapter in asvs.CHAPTERS.items():
        lines += [f"### V{number} {chapter.title}", ""]
        # A list: a table of this length makes a page of more than 1,500 elements.
        for row in every:
            if row.chapter == number:
                why = row.reason or ", ".join(f"`{test}`" for test in row.tests)
                lines.append(f"- {row.id} (level {row.level}). {row.text} *{row.state}*: {why}")
        lines.append("")
    return "\n".join(lines[:-1])


def attacks_table() -> str:
    """Each rule of a training with the worst accuracy that was measured under attack."""
    sys.path.insert(0, str(ROOT))
    from registry.federated import attacks  # noqa: PLC0415 - this checkout

    of = attacks.measured()
    cases = [(data, number) for number in of.attackers for data in (attacks.EVEN, attacks.UNEVEN)]
    titles = [f"{number or 'no'} attackers, {data}" for data, number in cases]
    lines = [f"| rule | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}"]
    for rule in of.rules:
        worst = [of.worst(rule, data, number) for data, number in cases]
        lines.append(f"| `{rule}` | {' | '.join(f'{row.accuracy:.3f}' for row in worst)} |")
    names = "; ".join(of.attacks)
    return "\n".join([*lines, "", f"{attacks.limits()} The attacks: {names}."])


def commands_tables() -> str:
    """Each command of `hub` by its section, with its arguments and examples."""
    sys.path.insert(0, str(ROOT))
    from hub.cli import commands, parsing  # noqa: PLC0415 - this checkout

    parser = parsing.parser()
    helps = {name: text for name, text, _ in parsing.subcommands(parser)}
    leaves = list(parsing.leaves(parser))
    lines = []
    for section, names in commands.SECTIONS.items():
        lines += [f"## {section}", ""]
        for name in names:
            if name in commands.OWN_PARSERS:
                lines += [f"### hub {name}", "", f"{helps[name].capitalize()}.", ""]
                continue
            for words, leaf in leaves:
                if words.split()[0] == name:
                    lines += _command(words, leaf, parsing.actions(leaf))
    return "\n".join(lines).rstrip()


def _command(words: str, leaf: Any, actions: list[Any]) -> list[str]:
    rows = [
        f"| `{', '.join(action.option_strings) or action.metavar or action.dest}` "
        f"| {str(action.help).replace('%%', '%').replace('|', chr(92) + '|')} |"
        for action in actions
        if action.option_strings != ["--json"]
    ]
    epilog = (leaf.epilog or "").partition("examples:\n")[2]
    examples = [f"$ {line.strip()}" for line in epilog.splitlines() if line.strip()[:4] == "hub "]
    return [
        f"### hub {words}",
        "",
        leaf.description or "",
        "",
        *(["| argument | meaning |", "|---|---|", *rows, ""] if rows else []),
        *(["```console", *examples, "```", ""] if examples else []),
    ]


def strengths_table() -> str:
    """Each strength of the proof of an upgrade, and when its opset selects the variant."""
    sys.path.insert(0, str(ROOT))
    from hub.protocol import proofs  # noqa: PLC0415 - this checkout

    lines = ["| strength | meaning | selected for its opset |", "|---|---|---|"]
    for strength, meaning in proofs.WORDS.items():
        least = [demand for demand, enough in proofs.SUFFICIENT.items() if strength in enough]
        selected = f'with `strength="{least[0]}"`' if least else "no, load it by name"
        if proofs.Strength.CERTIFIED in least:
            selected = "yes"
        lines.append(f"| `{strength}` | {meaning} | {selected} |")
    return "\n".join(lines)


def capabilities_table() -> str:
    """Each capability with the packages that plug it in, and its pages."""
    sys.path.insert(0, str(ROOT))
    from hub.protocol.capabilities import CAPABILITIES  # noqa: PLC0415 - this checkout

    lines = ["| name | packages | pages |", "|---|---|---|"]
    for name, capability in CAPABILITIES.items():
        packages = ", ".join(f"`{package}`" for package in capability.apps + capability.client)
        pages = ", ".join(f"[{page}]({page}.md)" for page in capability.documents)
        lines.append(f"| `{name}` | {packages} | {pages} |")
    return "\n".join(lines)


def ports_table() -> str:
    """Each port with what its entries are, and the packages that have registered some."""
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django  # noqa: PLC0415 - after the environment is set

    django.setup()
    from django.urls import get_resolver  # noqa: PLC0415

    from hub.client import extensions  # noqa: PLC0415 - this checkout
    from hub.protocol.ports import PORTS  # noqa: PLC0415
    from registry.core import outbox  # noqa: PLC0415

    extensions.load()
    _ = get_resolver().url_patterns  # whose modules register, too
    rows = {
        f"{port.entry.__module__}.{port.entry.__name__}": (port.entry.__doc__, port.entries)
        for port in PORTS
    }
    rows["registry.core.outbox.Handler"] = (
        "What is called after an event, as `subscribe` says.",
        outbox._handlers,  # noqa: SLF001 - whoever subscribed
    )
    lines = ["| entry | what it is | registered by |", "|---|---|---|"]
    for name, (text, packages) in sorted(rows.items()):
        words = " ".join(str(text).partition("\n\n")[0].split()).replace("``", "`")
        lines.append(f"| `{name}` | {words} | {', '.join(f'`{name}`' for name in packages)} |")
    return "\n".join(lines)


def physics_table() -> str:
    """Each limit between readings of a record, with its reason."""
    sys.path.insert(0, str(ROOT))
    from runners.engine.benchmark import physics  # noqa: PLC0415 - this checkout

    lines = ["| rule | limit | reason |", "|---|---|---|"]
    for rule in physics.RULES:
        limit = f"{rule.limit:,.10g}" if rule.limit else "none"
        lines.append(f"| `{rule.name}` | {limit} | {rule.reason} |")
    return "\n".join(lines)


def starter_table() -> str:
    """Each model of the manifest of starter models, with its packages, size and licences."""
    sys.path.insert(0, str(ROOT))
    from runners.starter import manifest  # noqa: PLC0415 - this checkout

    titles = ("model", "task", "package", "MB", "code", "weights", "first")
    rows = [titles, ("---",) * len(titles)]
    rows += [
        (
            f"`{model.name}`",
            model.task,
            model.title,
            f"{model.size / 1e6:.1f}",
            model.licences.code,
            model.licences.weights,
            "yes" if model.is_first else "no",
        )
        for model in manifest.models().values()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def upgrade_notes() -> str:
    """What operators do for each release, as the changelog says."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    pattern = r"^## (\S.*)\n(?:(?!## ).*\n)*### Upgrade notes\n((?:(?!##).*\n)*)"
    notes = re.findall(pattern, changelog, re.MULTILINE)
    text = "\n\n".join(f"#### {release}\n\n{lines.strip()}" for release, lines in notes)
    return text.replace("](docs/operate.md", "](").replace("](docs/", "](")


TABLES = {
    "capabilities": ("docs/ports.md", capabilities_table),
    "ports": ("docs/ports.md", ports_table),
    "settings": ("docs/settings.md", settings_table),
    "problems": ("docs/api.md", problems_table),
    "laws": ("docs/laws.md", laws_tables),
    "asvs": ("docs/security.md", asvs_tables),
    "attacks": ("docs/federated.md", attacks_table),
    "commands": ("docs/cli.md", commands_tables),
    "physics": ("docs/benchmarks.md", physics_table),
    "starter": ("docs/starter.md", starter_table),
    "strengths": ("docs/proofs.md", strengths_table),
    "upgrades": ("docs/operate.md", upgrade_notes),
}


def with_table(page: str, name: str, table: str) -> str:
    """A page with the text between the markers of ``name`` replaced."""
    begin, end = f"<!-- {name}: scripts/tables.py -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{table}\n{end}", page)


def _variable(node: ast.AST) -> tuple[str, str, str] | None:
    """Name, form and default of `env.<kind>("NAME", default=…)`."""
    if not (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
        and node.func.attr in FORMS
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        return None
    default = next((key.value for key in node.keywords if key.arg == "default"), None)
    choices = next((key.value for key in node.keywords if key.arg == "choices"), None)
    form = FORMS[node.func.attr]
    if isinstance(choices, ast.Tuple):
        form = ", ".join(f"`{ast.literal_eval(choice)}`" for choice in choices.elts)
    return str(node.args[0].value), form, _default(default)


def _default(default: ast.expr | None) -> str:
    if default is None:
        return "none"
    text = ast.unparse(default)
    if re.fullmatch(r"[\d_.*+\s()]+", text):  # 20 * 10 ** 9
        text = str(eval(text))  # noqa: S307 - digits and operators of our own file
    if isinstance(default, ast.Constant):
        text = str(default.value).lower() if isinstance(default.value, bool) else str(default.value)
    return f"`{text}`" if text not in ("", "[]") else "none"


def _comment_above(lines: list[str], number: int) -> str:
    words: list[str] = []
    at = number - 2
    while at >= 0 and lines[at].startswith("# "):
        words.insert(0, lines[at].removeprefix("# "))
        at -= 1
    return " ".join(words).replace("|", "\\|")


def main() -> None:
    """Print the tables, or write them into their pages."""
    for name, (path, make) in TABLES.items():
        table = make()
        if "--write" not in sys.argv[1:]:
            print(table, end="\n\n")
            continue
        page = ROOT / path
        text = page.read_text(encoding="utf-8")
        page.write_text(with_table(text, name, table), encoding="utf-8")


if __name__ == "__main__":
    main()
