"""`hub import zoo`: the models of a Model Zoo manifest become models of a hub.

All opsets of a model become one version: the largest is `model.onnx`, which is loaded when nothing
is said, each other one lies in a folder `opset<N>`, and `hub.load(name, opset=N)` chooses. A run
that was cut is run again: what is published already is passed over, a draft is gone on with.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from hub.client import archives, catalogue, local_files
from hub.client import push as pushing
from hub.client.hub import Hub
from hub.client.imports import zoo_cards, zoo_source
from hub.client.imports.zoo_source import Entry, Source, ZooFile, hub_name
from hub.client.local_files import LocalFile, Selected
from hub.client.progress import Bar, say
from hub.client.rest import answers
from hub.counting import size
from hub.protocol import digests, problems, refs

_ENDED = ("published", "yanked", "withdrawn")


class ImportStatus(StrEnum):
    """How the import of a model ended."""

    IMPORTED = "imported"
    PRESENT = "present"
    FAILED = "failed"


@dataclass(slots=True)
class Outcome:
    """Result of importing one model: its status, a line of text, and failures with their causes."""

    ref: str
    status: ImportStatus = ImportStatus.FAILED
    text: str = ""
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.status:<8}  {self.ref}  {self.text}".rstrip()


@dataclass(frozen=True, slots=True)
class Options:
    """How to import: where to, which models, and what the manifest leaves open."""

    namespace: str = refs.DEFAULT_NAMESPACE
    only: tuple[str, ...] = ()
    license: str = ""
    visibility: str = "public"
    progress: bool | None = None


def import_zoo(
    hub: Hub,
    manifest: str,
    files: str | None = None,
    options: Options | None = None,
    *,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Import every model of a manifest, calling `on_outcome` after each; return all outcomes.

    `manifest` and `files` are paths or addresses; without `files` they lie beside the manifest, or
    where GitHub and hubs have them. Raise `HubError` for a manifest that cannot be read and for a
    token that is not accepted; the faults of one model are in its outcome.
    """
    options = options or Options()
    if hub.config.offline:
        raise problems.NotCached(
            "Importing needs the hub, and HUB_OFFLINE prevents requests to it. Use HUB_OFFLINE=0."
        )
    entries = zoo_source.read_manifest(manifest)
    hub.transport.request("GET", "/api/v1/whoami")  # a token is needed, and better now than later
    source = zoo_source.Source(files or zoo_source.files_of(manifest))
    # A query may hold a secret, and a path the name of a machine's user.
    origin = manifest.partition("?")[0] if zoo_source.is_address(manifest) else Path(manifest).name
    outcomes = []
    groups = list(grouped(entries, options.only))
    for at, (name, group, faults) in enumerate(groups, start=1):
        total = sum(entry.size for entry in group)
        title = f"{name}, {size(total)}" if total else name
        say(f"{at} of {len(groups)}: {title}", is_shown=options.progress)
        outcome = Outcome(f"{options.namespace}/{name}", failures=faults)
        try:
            _Import(hub, source, origin, options, outcome).run(name, group)
        except problems.NotAuthenticated:
            raise
        except (problems.HubError, OSError) as error:
            outcome.status, outcome.text = ImportStatus.FAILED, ""
            outcome.failures.append(" ".join(str(error).split()))
        outcomes.append(outcome)
        on_outcome(outcome)
    return outcomes


def grouped(
    raw: Iterable[Any], only: tuple[str, ...] = ()
) -> Iterator[tuple[str, list[Entry], list[str]]]:
    """Put together the entries of each model: its name on the hub, its entries, what is wrong."""
    groups: dict[str, list[Entry]] = {}
    faults: dict[str, list[str]] = {}
    selected = {hub_name(word) for word in only}
    for row in raw:
        try:
            entry = zoo_source.Entry.read(row)
            # What another hub calls `lab/net` is `net` here, in the namespace that was asked for.
            name = hub_name(entry.model.rpartition("/")[2])
            refs.check_name(name)
        except problems.Problem as error:
            label = hub_name(str(row.get("model") or "")) if isinstance(row, dict) else ""
            name = label or "unnamed"
            faults.setdefault(name, []).append(str(error))
            groups.setdefault(name, [])
            continue
        group = groups.setdefault(name, [])
        same_opset = [existing for existing in group if existing.opset == entry.opset]
        if any(
            existing.sha256 == entry.sha256 and (entry.sha256 or existing.path == entry.path)
            for existing in same_opset
        ):
            continue
        if group and group[0].model != entry.model:
            clash = (
                f"{entry.model!r} and {group[0].model!r} have the same name on the hub. Import "
                "one of them into another namespace."
            )
            faults[name] = list(dict.fromkeys([*faults.get(name, []), clash]))
            continue
        group.append(entry)
    for name, group in groups.items():
        if not selected or name in selected:
            yield name, group, faults.get(name, [])


class _Import:
    """The import of one model."""

    def __init__(
        self, hub: Hub, source: Source, origin: str, options: Options, outcome: Outcome
    ) -> None:
        self._hub = hub
        self._source = source
        self._origin = origin
        self._options = options
        self._outcome = outcome
        self._model = f"/api/v1/models/{outcome.ref}"

    def run(self, name: str, group: list[Entry]) -> None:
        if not group or self._is_present(group):
            return
        with tempfile.TemporaryDirectory(prefix="hub-zoo-") as scratch:
            zoo_files = [
                zoo_file for entry in group if (zoo_file := self._bring(entry, Path(scratch)))
            ]
            while zoo_files:
                place(zoo_files)
                try:
                    self._publish(name, zoo_files)
                except problems.ChecksFailed as error:
                    reasons = [_reason(error, zoo_file) for zoo_file in zoo_files]
                    if not any(reasons):
                        raise
                    self._outcome.failures += [
                        f"{zoo_file.entry.path}: {reason}"
                        for zoo_file, reason in zip(zoo_files, reasons, strict=True)
                        if reason
                    ]
                    if all(reasons):
                        return
                    self._drop(label_of(_marks(zoo_files)))
                    zoo_files = [
                        zoo_file
                        for zoo_file, reason in zip(zoo_files, reasons, strict=True)
                        if not reason
                    ]
                else:
                    return

    def _is_present(self, group: list[Entry]) -> bool:
        """Whether the newest version holds all of it, as far as the manifest itself tells."""
        marks = [(entry.opset, entry.sha256, entry.data_sha256 or "") for entry in group]
        if any(
            not sha or (entry.data_path and not entry.data_sha256)
            for entry, (_, sha, _) in zip(group, marks, strict=True)
        ):
            return False
        existing = self._labelled(label_of(marks))
        if existing and existing.state in _ENDED:
            self._say(ImportStatus.PRESENT, existing.number, f"{existing.state} already")
            return True
        newest = self._newest()
        if newest is None:
            return False
        present = {digests.parse(file.sha256) for file in newest.files}
        has_data = any("test_data_set_" in file.path for file in newest.files)
        needs_data = any(entry.data_path for entry in group)
        if present.issuperset(entry.sha256 for entry in group) and (has_data or not needs_data):
            self._say(ImportStatus.PRESENT, newest.number, "has identical files")
            return True
        return False

    def _newest(self) -> pushing.Draft | None:
        try:
            version = self._hub.info(self._outcome.ref)["version"]
        except problems.NotFound:
            return None
        return answers.read(pushing.Draft, version) if version else None

    def _labelled(self, label: str) -> pushing.Draft | None:
        versions = catalogue.items(self._hub.transport, f"{self._model}/versions", {}, None)
        try:
            row = next((version for version in versions if version.get("label") == label), None)
        except problems.NotFound:
            return None
        return answers.read(pushing.Draft, row) if row else None

    def _bring(self, entry: Entry, scratch: Path) -> ZooFile | None:
        """What there is of one entry; what is wrong with it is noted."""
        text = f"{entry.model}, opset {entry.opset} (read)"
        with Bar(text, entry.size, is_shown=self._options.progress) as bar:
            try:
                file = self._source.bring(entry.path, scratch, bar.advance)
                measured = _measured(file, entry.path, entry.sha256)
            except problems.HubError as error:
                self._outcome.failures.append(f"opset {entry.opset}: {_line(error)}")
                return None
            zoo_file = ZooFile(entry, file, measured.sha256, measured.size)
            if entry.data_path:
                try:
                    self._add_data(zoo_file, scratch, bar.advance)
                except problems.HubError as error:
                    zoo_file.data.clear()
                    self._outcome.failures.append(
                        f"test data of opset {entry.opset}: {_line(error)}"
                    )
        return zoo_file

    def _add_data(self, zoo_file: ZooFile, scratch: Path, on_bytes: Callable[[int], None]) -> None:
        path = str(zoo_file.entry.data_path)
        archive = self._source.bring(path, scratch, on_bytes)
        zoo_file.data_sha256 = _measured(archive, path, zoo_file.entry.data_sha256).sha256
        folder = Path(tempfile.mkdtemp(dir=scratch))
        paths = archives.extract(archive, folder, choose=data_path)
        if not paths:
            raise zoo_source.Missing(f"{path} contains no test_data_set_N with values")
        zoo_file.data = {path: folder / path for path in paths}

    def _publish(self, name: str, zoo_files: list[ZooFile]) -> None:
        label = label_of(_marks(zoo_files))
        ref = refs.parse(self._outcome.ref)
        push = pushing.Push(
            self._hub.transport, self._hub.cache, ref, progress=self._options.progress
        )
        existing = self._labelled(label)
        if existing and existing.state in _ENDED:
            self._say(ImportStatus.PRESENT, existing.number, f"{existing.state} already")
            return
        if existing and existing.state == "submitted":
            # A run that was cut after it had sent everything.
            address = f"{self._model}/versions/{existing.number}"
            version = push.wait(self._hub.transport.get(address), publish=True)
        else:
            card = zoo_cards.write(
                zoo_files[0].entry.model, self._origin, self._options.license, zoo_files
            )
            is_private = any(zoo_file.entry.is_private for zoo_file in zoo_files)
            push.open_model(
                create=True, visibility="private" if is_private else self._options.visibility
            )
            if is_private:
                self._expect_private()
            draft = push.open_draft(message="Imported from a model zoo", label=label, resume=True)
            files = local_files.measure(_files(zoo_files), progress=self._options.progress)
            _expect(zoo_files, files)
            version = push.run(draft, files, card=card, publish=True)
            version = push.wait(version, publish=True)
        opsets = ", ".join(str(zoo_file.entry.opset) for zoo_file in zoo_files)
        sets = {
            (zoo_file.folder, PurePosixPath(path).parent)
            for zoo_file in zoo_files
            for path in zoo_file.data
        }
        text = f"opset {opsets}" + (f"; {len(sets)} data sets" if sets else "")
        self._say(ImportStatus.IMPORTED, version["number"], text)

    def _expect_private(self) -> None:
        """What is private where it comes from is not to become public by being copied."""
        if self._hub.transport.get(self._model).get("visibility") != "private":
            raise problems.NotAllowed(
                f"The model is private at its source, and {self._outcome.ref} is public. "
                "Import it into another namespace."
            )

    def _drop(self, label: str) -> None:
        """Remove the draft that was refused: what is left of it comes as another."""
        draft = self._labelled(label)
        if draft and draft.state == "draft":
            with suppress(problems.NotFound):  # an attempt whose answer was lost removed it
                self._hub.transport.request("DELETE", f"{self._model}/versions/{draft.number}")

    def _say(self, status: ImportStatus, number: int, text: str) -> None:
        self._outcome.status, self._outcome.text = status, f"@{number}  {text}"


def place(zoo_files: list[ZooFile]) -> None:
    """Give each opset its folder: the largest has none, since it is what people mean."""
    zoo_files.sort(key=lambda zoo_file: -zoo_file.entry.opset)
    counts: Counter[int] = Counter()
    for index, zoo_file in enumerate(zoo_files):
        opset = zoo_file.entry.opset
        counts[opset] += 1
        again = f"-{counts[opset]}" if counts[opset] > 1 else ""
        zoo_file.folder = f"opset{opset}{again}/" if index else ""


def label_of(marks: Iterable[tuple[int, str | None, str]]) -> str:
    """Return a label that the same files of a model always have: opset, digest, data's digest."""
    text = json.dumps(sorted(marks, key=str))
    return f"zoo-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def data_path(member: str) -> str | None:
    """Return where a member of an archive goes: `test_data_set_N/...` of values, or nowhere."""
    path = PurePosixPath(member)
    home = path.parent.name
    number = home.removeprefix("test_data_set_")
    side, _, rest = path.name.removesuffix(".pb").partition("_")
    is_value = path.suffix == ".pb" and side in ("input", "output") and rest.isdecimal()
    return f"{home}/{path.name}" if number != home and number.isdecimal() and is_value else None


def _marks(zoo_files: list[ZooFile]) -> list[tuple[int, str | None, str]]:
    return [
        (zoo_file.entry.opset, zoo_file.sha256, zoo_file.data_sha256 if zoo_file.data else "")
        for zoo_file in zoo_files
    ]


def _files(zoo_files: list[ZooFile]) -> dict[str, Selected]:
    files: dict[str, Path] = {}
    for zoo_file in zoo_files:
        files[zoo_file.path] = zoo_file.source
        files |= {f"{zoo_file.folder}{path}": source for path, source in zoo_file.data.items()}
    return {path: local_files.select(source) for path, source in files.items()}


def _measured(file: Path, path: str, expected: str | None) -> LocalFile:
    [local] = local_files.measure({path: local_files.select(file)}, progress=False)
    if expected and local.sha256 != expected:
        raise problems.DigestMismatch(
            f"{path} has the digest sha256:{local.sha256}, but the manifest states "
            f"sha256:{expected}. Download it again, or correct the manifest."
        )
    return local


def _expect(zoo_files: list[ZooFile], files: list[LocalFile]) -> None:
    """See that the files which are about to be sent are those that were verified."""
    by_path = {file.path: file.sha256 for file in files}
    for zoo_file in zoo_files:
        if by_path[zoo_file.path] != zoo_file.sha256:
            raise problems.DigestMismatch(
                f"{zoo_file.entry.path} changed while it was being read. Run the import again."
            )


def _reason(error: problems.ChecksFailed, zoo_file: ZooFile) -> str:
    """What the checks say of one file, in one line; nothing where they say nothing."""
    messages = []
    for finding in error.extensions.get("findings", []):
        where = str(finding.get("where") or "")
        if where == zoo_file.path or where.startswith(f"{zoo_file.path}:"):
            messages.append(str(finding.get("message") or finding.get("code") or "refused"))
    return "; ".join(dict.fromkeys(messages))


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
