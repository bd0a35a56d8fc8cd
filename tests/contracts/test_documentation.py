"""What the pages say is so: their blocks run, their tables and links are right.

Blocks marked `sh` or `python` in the README, the quickstart and the API page are run in order, as a
reader would, against one hub with its sample models. Blocks marked `console` are for reading.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import onnx
import pytest
from django.urls import Resolver404, get_resolver, resolve
from onnx import numpy_helper

from hub.cli import commands, parsing
from hub.protocol import problems
from hub.server.samples import SAMPLES
from tests.api.test_reads import routes
from tests.faults.conftest import Hub, wait_for
from tests.methods import methods_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").glob("*.md")]
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"(?:(GET|HEAD|PUT|POST|PATCH|DELETE) )?(/[\w./{}<>@:~-]*)(?:[?#\s].*)?")
HOSTED = re.compile(r"(?:https://hub\.example\.org|\$HUB_URL)(/[^\s\"'`)\\$]*)")
PARAMETER = re.compile(r"[{<](?:\w+:)?(\w+)[}>]")
# The source of a mirror: a namespace, which has no page at that address.
SOURCES = {"/zoo"}
# What parameters are called that are no name, number, digest or id.
VALUES = {"namespace": "ada", "ns": "ada", "name": "net", "n": "1", "model": "ada/net"}
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(
    r"`((?:hub|registry|runners|frontend|metadata|tests|scripts|docs|docker)/[\w./-]+)`"
)
# What sets an environment up or stays in front; the suite itself is the test of these.
NOT_RUN = ("scripts/",)


def spelled(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(name: str, *languages: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [code for language, code in BLOCK.findall(text) if language in languages]


def inline(page: Path) -> list[str]:
    """What stands in backticks within the text of a page."""
    return INLINE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


def tables():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "scripts/tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Reader:
    """Somebody in a folder of their own, doing what a page says."""

    def __init__(self, folder: Path, hub: Hub):
        self.folder = folder
        (folder / ".venv").mkdir()
        (folder / ".venv/bin").symlink_to(Path(sys.executable).parent)
        self.environment = {
            key: value for key, value in hub.environment.items() if not key.startswith("HUB_")
        } | {
            "HUB_URL": hub.address,
            "HUB_HOME": str(hub.home),
            "HUB_CACHE": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def does(self, language: str, code: str) -> str:
        command = ["sh", "-eu", "-c", code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def reads(self, name: str) -> str:
        """Do every block of a page in order; shell variables that it exports stay."""
        said = ""
        text = (ROOT / name).read_text(encoding="utf-8")
        for language, code in BLOCK.findall(text):
            if language in ("sh", "python") and not code.startswith(NOT_RUN):
                said += self.does(language, code)
                self._keep(code)
        return said

    def _keep(self, code: str) -> None:
        for name, value in re.findall(r"^export (\w+)=\$\((.*)\)$", code, re.MULTILINE):
            self.environment[name] = self.does("sh", value).strip()


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A reader of the pages, and the hub in their other shell, with its sample models."""
    hub = Hub(tmp_path_factory.mktemp("hub") / "home")
    plant = "import django; django.setup(); from hub.server import first_run; first_run.plant()"
    settings = {"DJANGO_SETTINGS_MODULE": "hub.server.settings", "HUB_HOME": str(hub.home)}
    subprocess.run([sys.executable, "-c", plant], check=True, env=hub.environment | settings)

    def published():
        return [model for model in hub.call("GET", "models")[2]["items"] if model["latest"]]

    wait_for(lambda: len(published()) == len(SAMPLES), "the samples to be published")
    yield Reader(tmp_path_factory.mktemp("reader"), hub)
    hub.stop()


@pytest.mark.live
def test_the_quickstart_does_what_it_says(reader):
    said = reader.reads("docs/quickstart.md")
    digit = "hub/server/samples/digits-cnn/test_data_set_0/output_0.pb"
    scores = numpy_helper.to_array(onnx.load_tensor(ROOT / digit))
    assert f"\n{scores[0].argmax()}\n" in said
    assert "zoo/my-digits@1 published" in said
    assert "zoo/my-digits@2 published" in said
    assert "int8  model.int8.onnx" in said
    assert not (reader.folder / "never").exists()


@pytest.mark.live
def test_the_readme_does_what_it_says(reader):
    for name in ("model.onnx", "README.md"):
        shutil.copy(ROOT / "hub/server/samples/digits-cnn" / name, reader.folder)
    assert "zoo/my-model@1 published" in reader.reads("README.md")


@pytest.mark.live
def test_the_walk_with_curl_publishes(reader):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    shutil.copy(ROOT / "hub/server/samples/digits-cnn/model.onnx", reader.folder)
    token = ["hub", "token", "create", "--user", "admin", "--scope", "write"]
    reader.environment["HUB_TOKEN"] = reader.does("sh", f".venv/bin/{shlex.join(token)}").strip()
    said = reader.reads("docs/api.md")
    assert '"ref":"zoo/by-hand@1"' in said
    assert '"state":"published"' in said


@pytest.mark.parametrize("page", PAGES, ids=spelled)
def test_every_python_block_compiles(page):
    for code in blocks(spelled(page), "python"):
        compile(code, spelled(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=spelled)
def test_every_shell_block_is_shell_and_its_hub_commands_exist(page):
    shell = blocks(spelled(page), "sh", "console")
    for code in shell:
        subprocess.run(["sh", "-n", "-c", code], check=True)
    for code in [*shell, *(code for code in inline(page) if code.startswith("hub "))]:
        said = re.sub(r"#.*", "", code)
        for command, rest in re.findall(
            r"(?:^|[ /(])hub (\w[\w-]*)((?: [^|;)\n]*)?)", said, re.MULTILINE
        ):
            options = {word for word in rest.split() if word.startswith("--")}
            first = "".join(rest.split()[:1])
            is_group = any(words.startswith(f"{command} ") for words in leaves())
            of_two = (is_group and first[:1].isalpha()) or (
                command == "bench" and first in ("compare", "verify")
            )
            told = usage(f"{command} {first}" if of_two else command)
            assert all(option.partition("=")[0] in told for option in options), (command, rest)


def addresses_of(page: Path) -> set[tuple[str, str]]:
    """Method, empty where none is named, and path of each address of a hub that a page names."""
    text = page.read_text(encoding="utf-8")
    written = [*inline(page), *HOSTED.findall(text)]
    found = {ADDRESS.fullmatch(address) for address in written}
    return {(match[1] or "", match[2]) for match in found if match} - {("", "/")}


def view_of(path: str):
    """What answers a path, its parameters filled in; None where nothing does."""
    for sample in ("1", "ada/net", "0" * 64, "00000000-0000-0000-0000-000000000000"):
        filled = PARAMETER.sub(lambda match, to=sample: VALUES.get(match[1], to), path)
        for base in ("", "/api/v1"):
            with suppress(Resolver404):
                return resolve(base + filled).func
    return None


@cache
def route_texts() -> tuple[str, ...]:
    """Every route, its parameters left out."""
    return tuple(f"/{PARAMETER.sub('', route)}" for route, _ in routes(get_resolver()))


@pytest.mark.parametrize("page", PAGES, ids=spelled)
def test_addresses_that_are_named_exist(page):
    """In full, without `/api/v1`, or as a part of addresses; other paths are those of files."""
    if "decisions" in page.parts or page.name == "CHANGELOG.md":
        return  # they say what was
    missing = []
    for method, path in addresses_of(page):
        view = view_of(path)
        if view is None:
            is_part = any(f"{path}/" in f"{route}/" for route in route_texts())
            is_right = is_part or path in SOURCES or (not method and Path(path).exists())
        else:
            methods = methods_of(view)
            is_right = not method or not methods or method.lower() in [*methods, "head"]
        if not is_right:
            missing.append(f"{method} {path}")
    assert missing == []


def test_an_address_that_is_gone_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`GET /api/v1/models/{ns}/{name}` and `/api/v1/gone/{n}` of `/tmp`\n")
    assert addresses_of(page) == {
        ("GET", "/api/v1/models/{ns}/{name}"), ("", "/api/v1/gone/{n}"), ("", "/tmp")
    }  # fmt: skip
    assert view_of("/api/v1/models/{ns}/{name}") is not None
    assert view_of("/api/v1/gone/{n}") is None


@cache
def leaves():
    """Each command that reads its arguments by the one parser, and that."""
    return {
        words: leaf
        for words, leaf in parsing.leaves(parsing.parser())
        if words not in commands.OWN_PARSERS
    }


def usage(command: str, known: dict[str, str] = {}) -> str:  # noqa: B006 - asked once each
    """What `hub COMMAND --help` says."""
    if command in leaves():
        return leaves()[command].format_help()
    if command not in known:
        words = [command, "create"] if command == "token" else command.split()
        done = subprocess.run(
            [sys.executable, "-m", "hub", *words, "--help"],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"COLUMNS": "200"},
        )
        known[command] = done.stdout
    return known[command]


@pytest.mark.parametrize("page", PAGES, ids=spelled)
def test_links_and_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    missing = []
    for link in LINK.findall(BLOCK.sub("", text)):
        target, _, anchor = link.partition("#")
        if ":" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            missing.append(link)
    missing += [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    assert missing == []


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", ["settings", "problems", "laws"])
def test_the_tables_are_what_the_code_says(name):
    module = tables()
    path, make = module.TABLES[name]
    page = (ROOT / path).read_text(encoding="utf-8")
    assert make() in page, "run scripts/tables.py --write"
    assert page == module.with_table(page, name, make())


def test_every_setting_has_a_comment():
    for line in tables().settings_table().splitlines()[2:]:
        *_, said, _ = line.split("|")
        assert said.strip(), line


def test_every_problem_is_named_on_the_api_page():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    kinds = set(problems.by_slug().values()) - {problems.Problem}
    assert [kind for kind in kinds if f"`{kind.slug}` | `{kind.__name__}`" not in page] == []


def test_links_to_decisions_name_the_number_of_their_file():
    for page in ROOT.glob("**/*.md"):
        if ".venv" in page.parts or "node_modules" in page.parts:
            continue
        text = page.read_text(encoding="utf-8")
        for label, number in re.findall(r"\[(?:decision )?([0-9]+)\]\([^)]*?([0-9]{4})-", text):
            assert int(label) == int(number), f"{page.relative_to(ROOT)}: {label} leads to {number}"


def test_decisions_are_numbered_without_gaps_and_have_their_three_parts():
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == list(range(1, len(pages) + 1))
    for page in pages:
        headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings == ["Context", "Choice", "What it costs"], page.name


REFUSED = re.compile(r"^\| ([^|]+) \| (?:refused|ignored)", re.MULTILINE)
ENTRY = re.compile(r"^- \[.+?\]\(([\w-]+\.md)\): (.+)$", re.MULTILINE)


def test_the_index_promises_nothing_that_a_page_says_is_refused():
    contradictions = []
    for name, promise in ENTRY.findall((ROOT / "docs/README.md").read_text("utf-8")):
        page = (ROOT / "docs" / name).read_text("utf-8")
        for subject in REFUSED.findall(page):
            words = {code.split()[-1].lstrip("-") for code in INLINE.findall(subject)}
            contradictions += [(name, word) for word in words & set(re.findall(r"\w+", promise))]
    assert contradictions == []


@pytest.mark.parametrize("page", PAGES, ids=spelled)
def test_what_a_page_calls_absent_has_no_section_in_it(page):
    """A section "Not yet" or "Not supported" names nothing that the same page describes."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    absent = " ".join(text for title, text in sections.items() if title.startswith("Not "))
    described = {title.lower() for title in sections if " " not in title}
    assert described & set(re.findall(r"\w+", absent.lower())) == set()


def test_a_hub_can_be_made_from_nothing():
    """Whoever follows a section needs no other to have a wheel, an administrator and workers."""
    text = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert "pip wheel" in sections["Installation"].partition("onnx_hub-*.whl")[0]
    before_the_web_process = sections["Redis and Celery"].partition("gunicorn --config")[0]
    assert "python manage.py createsuperuser" in before_the_web_process
    assert "createsuperuser" in sections["The first administrator"]
    assert "without `--pool`" in sections["Workers and pools"].lower()


def test_every_threat_names_tests_that_exist():
    text = (ROOT / "THREAT_MODEL.md").read_text(encoding="utf-8")
    table = text.split("## Threats and answers")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 30
    for row in rows:
        tests = re.findall(r"`(tests/[\w/.]+)`", row.rstrip("| ").rpartition("|")[2])
        assert tests, row
        assert all((ROOT / path).exists() for path in tests), row
