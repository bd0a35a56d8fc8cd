"""The package of a version: the part that a caller loads, and what a push hears of it."""

from __future__ import annotations

import logging
import posixpath
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from hub.client.cache import Resolved
from hub.client.rest import answers
from hub.client.rest.packages import Component, PackageFinding, VersionPackage
from hub.protocol import problems
from hub.protocol.packages import GENAI_CONFIG, PackageState, Severity, model_of

# How long a push waits for the check of a package once the other checks have ended.
WAIT_SECONDS = 120.0
POLL_SECONDS = 0.5

log = logging.getLogger("hub.client")


def with_component(
    resolved: Resolved, component: str, read: Callable[[str], dict[str, Any]]
) -> Resolved:
    """The same version with the ONNX file of a component as its entry.

    ``read`` gets an address of the API. Raises ComponentMissing; NotFound where the hub offers no
    packages.
    """
    ref = resolved.ref
    package = answers.read(VersionPackage, read(address(ref.name, resolved.number)))
    if package.state != PackageState.CHECKED:
        raise problems.ComponentMissing(
            f"The package of {ref} is {package.state}, so it has no component "
            f"{component!r} yet. `hub package {ref}` shows the current state."
        )
    path = model_of(package.components, component)
    if path not in {file.path for file in resolved.files}:
        raise problems.ComponentMissing(f"{ref} has no file {path!r}, which its package names.")
    return replace(resolved, entry=path)


def genai_runtime() -> Any:
    """The module `onnxruntime_genai`; raises LibraryMissing."""
    try:
        import onnxruntime_genai  # noqa: PLC0415  (optional)
    except ImportError:
        raise problems.LibraryMissing(
            "hub.genai needs ONNX Runtime GenAI: pip install 'onnx-hub[genai]'."
        ) from None
    return onnxruntime_genai


def folders_of(resolved: Resolved) -> list[str]:
    """The folders of a version with a config of ONNX Runtime GenAI; the top one is empty."""
    return sorted(
        posixpath.dirname(file.path)
        for file in resolved.files
        if posixpath.basename(file.path) == GENAI_CONFIG
    )


def with_folder(resolved: Resolved, folder: str | None) -> tuple[Resolved, str]:
    """The same version with the files of a package of ONNX Runtime GenAI alone, and its folder.

    Raises ComponentMissing, with the folders that have a config.
    """
    places = folders_of(resolved)
    choice = places if folder is None else [folder.strip("/")]
    if len(choice) != 1 or choice[0] not in places:
        names = ", ".join(place or "the top folder" for place in places)
        raise problems.ComponentMissing(
            f"{resolved.ref} has no {GENAI_CONFIG}, so ONNX Runtime GenAI cannot load it."
            if not places
            else f"Choose a folder with {GENAI_CONFIG}. {resolved.ref} has these: {names}."
        )
    [place] = choice
    inside = [file for file in resolved.files if not place or file.path.startswith(f"{place}/")]
    return replace(resolved, files=tuple(inside)), place


def components_of(resolved: Resolved, read: Callable[[str], dict[str, Any]]) -> list[Component]:
    """The components of a version with an ONNX file; none where its package was not checked.

    ``read`` gets an address of the API.
    """
    try:
        package = answers.read(VersionPackage, read(address(resolved.ref.name, resolved.number)))
    except problems.NotFound:
        return []  # this hub offers no packages
    return [component for component in package.components if component.model]


def address(name: str, number: int) -> str:
    """The address of the package of a version."""
    return f"/api/v1/models/{name}/versions/{number}/package"


def follow(
    read: Callable[[], dict[str, Any]], sleep: Callable[[float], None], *, demanded: bool
) -> VersionPackage | None:
    """Wait for the check of a package; None where there is none within `WAIT_SECONDS`.

    With ``demanded``, raises ChecksPending then, and NotFound where the hub offers no packages.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            package = answers.read(VersionPackage, read())
        except problems.NotFound:
            if demanded:
                raise
            return None
        match package.state:
            case PackageState.CHECKED:
                return package
            case PackageState.PENDING if time.monotonic() < deadline:
                sleep(POLL_SECONDS)
            case PackageState.UNCHECKED:
                return None
            case state:
                if demanded:
                    raise problems.ChecksPending(
                        f"The check of the package is {state}, so nothing was published. "
                        "Push again, or push without strict (hub push without --strict)."
                    )
                return None


def warn(ref: object, package: VersionPackage) -> None:
    """Log the errors of a package that was published."""
    for finding in errors_of(package):
        log.warning("%s: %s: %s %s", ref, _where(finding), finding.message, finding.cure)


def refuse(ref: object, package: VersionPackage) -> None:
    """Raise ChecksFailed with the errors of a package, if it has any."""
    errors = errors_of(package)
    if not errors:
        return
    raise problems.ChecksFailed(
        f"The package of {ref} cannot be used, so the version was not published. "
        "Fix the problems listed below and push again.",
        errors=[
            {
                "pointer": f"{finding.code} ({_where(finding)})",
                "detail": f"{finding.message} {finding.cure}",
            }
            for finding in errors
        ],
        findings=[asdict(finding) for finding in errors],
    )


def errors_of(package: VersionPackage) -> list[PackageFinding]:
    """The findings that say that a package cannot be used as it is."""
    return [finding for finding in package.findings if finding.severity == Severity.ERROR]


def _where(finding: PackageFinding) -> str:
    return f"{finding.file}: {finding.field}" if finding.field else finding.file
