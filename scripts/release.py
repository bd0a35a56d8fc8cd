#!/usr/bin/env python3
"""Set the version, date the changelog, and build what is published, with its checksums.

Nothing is committed, tagged or uploaded; the commands for that are printed.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from hub.protocol.runtime_builds import BROWSER

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
VERSION = ROOT / "hub/protocol/version.py"
CHART = ROOT / "docker/chart/Chart.yaml"
CHANGELOG = ROOT / "CHANGELOG.md"
# Has the upgrade notes of each release under the headings of the changelog (scripts/tables.py).
OPERATE = ROOT / "docs/operate.md"
RUNTIME = ROOT / "frontend/pages/browser-runtime"
LOCK = ROOT / "docker/worker-cpu.lock"
MIGRATIONS = ROOT / "tests/contracts/released_migrations.toml"
_APPS = {
    "federated": "registry/federated",
    "identity": "registry/identity",
    "metadata": "metadata",
    "provenance": "registry/provenance",
    "publishers": "registry/publishers",
    "registry": "registry",
    "runners": "runners",
    "webhooks": "registry/webhooks",
}
_UNRELEASED = re.compile(r"^(##+) Unreleased.*$", re.MULTILINE)
_NOTES = re.compile(r"^## Unreleased[^\n]*\n(?:(?!## ).*\n)*### Upgrade notes\n", re.MULTILINE)
_CHART_VERSION = re.compile(r"^((?:v|appV)ersion: ).+$", re.MULTILINE)
_ASSIGNMENT = re.compile(r'__version__ = "([^"]+)"')


class ReleaseError(Exception):
    """The release cannot be made; says what to do first."""


def prepare(version: str) -> None:
    """Write the version and the changelog's heading; raises ReleaseError and changes nothing."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise ReleaseError(f"{version} is not a version such as 0.2.0 or 0.2.0rc1.")
    changes = subprocess.run(
        ["git", "status", "--porcelain"],  # noqa: S607 - the git of whoever releases
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    if changes.stdout:
        raise ReleaseError(f"Commit or remove these changes first:\n{changes.stdout}")
    changelog = CHANGELOG.read_text(encoding="utf-8")
    if len(_UNRELEASED.findall(changelog)) != 1:
        raise ReleaseError("CHANGELOG.md needs one heading `## Unreleased` for this release.")
    if not _NOTES.search(changelog):
        raise ReleaseError(
            "CHANGELOG.md needs `### Upgrade notes` in `## Unreleased`: what operators do before "
            "and after this upgrade, or that nothing has to be done. Then run "
            "scripts/tables.py --write."
        )
    if not (RUNTIME / BROWSER.version).is_dir():
        add_browser_runtime()
    heading = rf"\g<1> {version} ({datetime.now(UTC):%Y-%m-%d})"
    for page in (CHANGELOG, OPERATE):
        text = page.read_text(encoding="utf-8")
        page.write_text(_UNRELEASED.sub(heading, text), encoding="utf-8")
    source = VERSION.read_text(encoding="utf-8")
    VERSION.write_text(_ASSIGNMENT.sub(f'__version__ = "{version}"', source), encoding="utf-8")
    chart = CHART.read_text(encoding="utf-8")
    CHART.write_text(_CHART_VERSION.sub(rf"\g<1>{semantic(version)}", chart), encoding="utf-8")
    MIGRATIONS.write_text(released_migrations(version), encoding="utf-8")
    subprocess.run([sys.executable, "scripts/rest.py", "--release"], cwd=ROOT, check=True)


def semantic(version: str) -> str:
    """A version of Python's as semver, which Helm demands: 0.2.0rc1 is 0.2.0-rc.1."""
    return re.sub(r"(a|b|rc)(\d+)$", r"-\1.\2", version)


def released_migrations(version: str) -> str:
    """The file of the last migrations of a release: those of this checkout."""
    text = MIGRATIONS.read_text(encoding="utf-8")
    comment = text[: text.index("release = ")]
    heads = "".join(f'{app} = "{_last_migration(folder)}"\n' for app, folder in _APPS.items())
    return f'{comment}release = "{version}"\n\n[heads]\n{heads}\n[exceptions]\n'


def _last_migration(folder: str) -> str:
    return max(path.stem for path in (ROOT / folder / "migrations").glob("[0-9]*.py"))


def components() -> list[Component]:
    """Every package of the locked production environment, with the digests of its files."""
    packages = re.split(r"^(?=[a-z])", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    rows = []
    for package in packages[1:]:
        name, version = package.split(maxsplit=1)[0].split("==")
        digests = re.findall(r"--hash=sha256:([0-9a-f]{64})", package)
        rows.append(
            Component(
                name=name,
                version=version,
                type=ComponentType.LIBRARY,
                purl=PackageURL("pypi", None, name, version),
                bom_ref=f"{name}@{version}",
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in digests],
            )
        )
    return rows


def add_browser_runtime() -> None:
    """Put the browser runtime into the package, so that every wheel has it.

    Raises ReleaseError where it cannot be fetched.
    """
    command = [sys.executable, "manage.py", "fetch_browser_runtime", "--package"]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if ended.returncode:
        reason = ended.stderr.strip()[-500:]
        raise ReleaseError(f"A wheel has the browser runtime. It could not be fetched: {reason}")


def build(version: str) -> None:
    """Write wheel, source, CycloneDX bill of materials and SHA256SUMS into dist/."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], cwd=ROOT, check=True
    )
    bom = Bom(components=components())
    bom.metadata.component = Component(
        name="onnx-hub", version=version, type=ComponentType.APPLICATION, bom_ref="onnx-hub"
    )
    bom.register_dependency(bom.metadata.component, bom.components)
    written = JsonV1Dot6(bom).output_as_string(indent=2)
    (DIST / f"onnx_hub-{version}.cdx.json").write_text(f"{written}\n", encoding="utf-8")
    files = sorted(path for path in DIST.iterdir() if path.name.startswith(f"onnx_hub-{version}"))
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def main() -> int:
    """Make the release; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build a release into dist/.")
    parser.add_argument("version", help="such as 0.2.0")
    version = parser.parse_args().version
    try:
        prepare(version)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    build(version)
    print(
        f"\nIn dist/: {', '.join(sorted(path.name for path in DIST.iterdir()))}\n"
        f"Next: git commit -am 'Release {version}' && git tag -s v{version} -m {version}\n"
        f"Then: scripts/bundle --images  # with images numbered {semantic(version)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
