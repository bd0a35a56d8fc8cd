"""What is served as it lies: whole, licensed, small, and free of what the policy bans."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

import frontend

ROOT = Path(frontend.__file__).parent
STATIC = ROOT / "static" / "frontend"
TEMPLATES = sorted(ROOT.rglob("templates/**/*.html"))
SHEETS = sorted(STATIC.glob("*.css"))


def test_vendored_files_are_the_ones_they_claim_to_be():
    vendor = STATIC / "vendor"
    paths = {"vendor.json"}
    for package in json.loads((vendor / "vendor.json").read_text()):
        assert {"name", "version", "origin", "license"} <= package.keys()
        assert "SIL Open Font License" in (vendor / package["license_file"]).read_text()
        paths.add(package["license_file"])
        for path, sha256 in package["files"].items():
            assert hashlib.sha256((vendor / path).read_bytes()).hexdigest() == sha256
            paths.add(path)
    present = {str(path.relative_to(vendor)) for path in vendor.rglob("*") if path.is_file()}
    assert present == paths


def _sheets(template):
    """The style sheets that a template loads."""
    return {STATIC / name for name in re.findall(r"'frontend/(\w+\.css)'", template.read_text())}


def _scripts(template):
    """The scripts that a template names, with those of the templates that it extends."""
    text = template.read_text()
    named = {STATIC / name for name in re.findall(r"'frontend/([\w-]+\.js)'", text)}
    above = re.search(r'{% extends "([^"]+)"', text)
    return named | (_scripts(ROOT / "templates" / above[1]) if above else set())


def test_sizes():
    fonts = sum(path.stat().st_size for path in STATIC.rglob("*.woff2"))
    assert fonts <= 45_000
    shared = _sheets(ROOT / "templates" / "base.html")
    for template in TEMPLATES:
        loaded = shared | _sheets(template)
        assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) <= 12_000, template
    scripts = {path: len(gzip.compress(path.read_bytes())) for path in STATIC.glob("*.js")}
    # Those of the page that runs models are loaded by it alone, two of them for sound, files and
    # answers that the card declares.
    running = {path.name: size for path, size in scripts.items() if path.name.startswith("try")}
    declared = running.pop("try-signals.js") + running.pop("try-readings.js")
    assert sum(running.values()) <= 31_000
    assert declared <= 9_000
    for template in TEMPLATES:
        loaded = {path for path in _scripts(template) if not path.name.startswith("try")}
        assert sum(scripts[path] for path in loaded) <= 20_000, template


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_template_obeys_the_policy(path):
    text = path.read_text()
    assert max(map(len, text.splitlines())) <= 160
    # A block of data is no script: no browser runs it.
    assert not re.search(r'<script(?![^>]*\bsrc=|[ ]type="application/ld\+json">)', text)
    assert not re.search(r"\sstyle=|<style", text)
    assert not re.search(r"<[^>%{]*\son[a-z]+=", text)
    assert not re.search(r"""(?:src|href|action)=["']?(?:https?:)?//""", text)


def test_style_sheets_ask_for_nothing_elsewhere_and_use_known_tokens():
    text = "".join(path.read_text() for path in SHEETS)
    assert not re.search(r"url\(.?(?:https?:)?//|@import", text)
    known = set(re.findall(r"(--[a-z0-9-]+)\s*:", text))
    assert set(re.findall(r"var\((--[a-z0-9-]+)", text)) <= known


def test_every_icon_that_is_asked_for_is_drawn():
    drawn = set(re.findall(r'<symbol id="([a-z-]+)"', (STATIC / "icons.svg").read_text()))
    asked = {
        name for path in TEMPLATES for name in re.findall(r'{% icon "([a-z-]+)"', path.read_text())
    }
    assert asked <= drawn
