"""Task "import": takes the files of a model out of the archives of packages, in a child."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hub.protocol import strict
from runners.engine.jobs import Job, JobError
from runners.engine.reports import Finding, Report
from runners.engine.starter import members, recipes
from runners.engine.starter.recipes import Recipe

_ROOM_BYTES = 64 << 20
_MEMORY_COPIES = 8


@dataclass(frozen=True, slots=True)
class Member:
    """A file to take: the archive's path in the job, its path and digest there, and the recipe."""

    archive: str
    member: str
    size: int
    sha256: str
    recipe: Recipe = Recipe.COPY

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def unpack(job: Job) -> Report:
    """Write each member that the options name to an output of its number, from 0.

    With the option ``data``, a recipe of `runners.engine.starter.data`, the files of a data set are
    further outputs: the facts name them by their paths, with the splits. ``labels`` is the number
    of the output with the model's labels.
    """
    try:
        rows = strict.Reader().read(list[Member], job.request.options.get("members"), "members")
    except strict.UnreadableError as error:
        raise JobError("engine-error", f"The job's members cannot be read: {error}.") from None
    folder = job.lay_out([member.archive for member in rows])
    out, size = job.out, sum(member.size for member in rows)
    job.tell(70, "unpack")
    answer = job.answer(
        "unpack",
        lambda: _take(folder, out, rows),
        Finding("package-unusable", "error", "The files could not be taken out of the package"),
        memory_bytes=job.limits().memory_bytes + _MEMORY_COPIES * size,
        file_bytes=size + _ROOM_BYTES,
        written_bytes=2 * size + _ROOM_BYTES,
    )
    if problem := str(answer.get("problem") or ""):
        return job.report("failed", (Finding("package-unusable", "error", problem),))
    outputs = [str(number) for number in range(len(rows))]
    recipe = job.request.options.get("data")
    if recipe is None:
        return job.report("passed", outputs=outputs)
    job.tell(85, "make data")
    facts = job.answer(
        "data",
        lambda: _make(out, str(recipe), job.request.options.get("labels")),
        Finding("package-unusable", "error", "The data set could not be made"),
        file_bytes=_ROOM_BYTES,
        written_bytes=_ROOM_BYTES,
    )
    return job.report("passed", facts=facts, outputs=[*outputs, *map(str, facts["files"].values())])


def _take(folder: Path, out: Path, rows: list[Member]) -> dict[str, str]:
    for number, member in enumerate(rows):
        try:
            with (out / str(number)).open("wb") as target:
                _write(folder / member.archive, member, target)
        except (members.ArchiveError, *recipes.ERRORS) as error:
            return {"problem": f"{member.member}: {error}"}
    return {}


def _make(out: Path, recipe: str, labels: object) -> dict[str, Any]:
    """Write the files of a data set; gives the outputs by their paths, and the splits."""
    from runners.engine.starter import data  # noqa: PLC0415 - only children load it

    names = (out / str(labels)).read_text("utf-8").splitlines() if labels is not None else []
    data_set = data.RECIPES[recipe](names)
    files = {path: f"data-{place}" for place, path in enumerate(data_set.files)}
    for path, output in files.items():
        (out / output).write_bytes(data_set.files[path])
    return {"files": files, "splits": list(data_set.splits)}


def _write(archive: Path, member: Member, target: Any) -> None:
    content = target if member.recipe == Recipe.COPY else io.BytesIO()
    members.copy(archive, member.member, content, size=member.size, sha256=member.sha256)
    if content is not target:
        target.write(recipes.RECIPES[member.recipe](content.getvalue()))


FLOWS = {"import": unpack}
