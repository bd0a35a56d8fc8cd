"""The functions of `onnx.hub`, which onnx 1.21 removed, on models of a hub of ours.

Arguments, files in the cache, questions and errors are those of onnx 1.11 to 1.20.1. Source:
onnx/hub.py of onnx 1.20.1, whose interface this is.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hub.client import api, download
from hub.client.config import home_folder
from hub.client.imports.zoo_source import hub_name
from hub.protocol import problems

if TYPE_CHECKING:
    import onnx


MANIFEST = "ONNX_HUB_MANIFEST.json"
EVERYTHING = "onnx/models:main"
_ARCHIVE = ".tar.gz"


def default_dir(environ: dict[str, str] | os._Environ[str]) -> str:
    """Return the cache folder: of ONNX_HOME, of XDG_CACHE_HOME, or in the home folder."""
    if environ.get("ONNX_HOME"):
        return str(Path(environ["ONNX_HOME"]) / "hub")
    if environ.get("XDG_CACHE_HOME"):
        return str(Path(environ["XDG_CACHE_HOME"]) / "onnx" / "hub")
    return str(home_folder("ONNX_HOME") / ".cache" / "onnx" / "hub")


# What `set_dir` chose.
_dir: str | None = None


class ModelInfo:
    """An entry of the manifest: one model at one opset.

    `model` is its name, `model_path` its file, `model_sha` the file's SHA-256 or `None`, `tags` a
    set of words, `opset` its opset (0 where the model names none of ai.onnx), `metadata` what else
    the manifest has: sizes in bytes, inputs and outputs, the archive with test data.
    """

    def __init__(self, raw_model_info: dict[str, Any]) -> None:
        """Take an entry as the manifest has it."""
        self.raw_model_info = raw_model_info
        self.model: str = raw_model_info["model"]
        self.model_path: str = raw_model_info["model_path"]
        self.metadata: dict[str, Any] = raw_model_info["metadata"]
        self.model_sha: str | None = self.metadata.get("model_sha")
        self.tags: set[str] = set(self.metadata.get("tags") or ())
        self.opset: int = raw_model_info["opset_version"]

    def __str__(self) -> str:
        return (
            f"ModelInfo(model={self.model}, opset={self.opset}, path={self.model_path}, "
            f"metadata={self.metadata})"
        )

    __repr__ = __str__


def set_dir(new_dir: str) -> None:
    """Use another folder for what is downloaded."""
    global _dir  # noqa: PLW0603  (the one configured folder, as in onnx.hub)
    _dir = new_dir


def get_dir() -> str:
    """Return the folder for what is downloaded."""
    return default_dir(os.environ) if _dir is None else _dir


def list_models(
    repo: str = EVERYTHING, model: str | None = None, tags: list[str] | None = None
) -> list[ModelInfo]:
    """Return the models of a repository with that name and any of those tags, case ignored.

    `repo` is `owner/repo[:ref]`. `onnx/models` is every model that the caller may see, named like
    `resnet50` for those of the namespace `zoo` and like `lab/resnet50` for others;
    `<namespace>/models` is every model of a namespace, `<namespace>/<model>` one model. `ref` is an
    alias, a tag, a branch, a label or a number (`v3`), and only models that have it are listed;
    `main`, which is meant without one, is each model's newest published version. Other variants
    than one for each opset are named like `resnet50:fp16`. Models with weights in files of their
    own are not listed: use `hub.load`. Private models are there with a token (HUB_TOKEN or
    `hub login`).

    Raise `AssertionError` when the hub has no such repository, `hub.errors.Unreachable` when there
    is no answer; with HUB_OFFLINE the last answer counts, and `NotCached` says that there is none.
    """
    models = [ModelInfo(entry) for entry in _manifest(repo)]
    if model is not None:
        named = [entry for entry in models if entry.model.lower() == model.lower()]
        models = named or [entry for entry in models if hub_name(entry.model) == hub_name(model)]
    if tags is None:
        return models
    selected = {tag.lower() for tag in tags}
    return [entry for entry in models if selected & {tag.lower() for tag in entry.tags}]


def get_model_info(model: str, repo: str = EVERYTHING, opset: int | None = None) -> ModelInfo:
    """Return one model at that opset, or at its largest.

    Raise `AssertionError` when there is no such model or it does not have that opset.
    """
    models = list_models(repo, model)
    if not models:
        raise AssertionError(
            f"No models found with name {model} in {repo}. Models with external weights are not "
            "listed here; use hub.load for those."
        )
    if opset is None:
        return max(models, key=lambda entry: entry.opset)
    for entry in models:
        if entry.opset == opset:
            return entry
    opsets = [entry.opset for entry in models]
    raise AssertionError(f"{model} has no version with opset {opset}. Valid opsets: {opsets}")


def load(
    model: str,
    repo: str = EVERYTHING,
    opset: int | None = None,
    force_reload: bool = False,  # noqa: FBT001, FBT002  (the signature of onnx.hub)
    silent: bool = False,  # noqa: FBT001, FBT002
) -> onnx.ModelProto | None:
    """Return a model of the repository at that opset, or at its largest; from the cache if there.

    Asks on standard input before it takes something from another repository than `onnx/models`,
    unless `silent`; `None` when the answer is no. `force_reload` downloads it again. Raise
    `AssertionError` as `get_model_info` does, and for a file with another SHA-256 than the
    manifest says.
    """
    import onnx  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    info = get_model_info(model, repo, opset)
    path = _local(info.model_path, info.model_sha)
    if not _bring(model, info.model_path, path, repo, force_reload=force_reload, silent=silent):
        return None
    content = path.read_bytes()
    if info.model_sha is not None:
        _compare(info.model, hashlib.sha256(content).hexdigest(), info.model_sha)
    return onnx.load(io.BytesIO(content))


def download_model_with_test_data(
    model: str,
    repo: str = EVERYTHING,
    opset: int | None = None,
    force_reload: bool = False,  # noqa: FBT001, FBT002  (the signature of onnx.hub)
    silent: bool = False,  # noqa: FBT001, FBT002
) -> str | None:
    """Return a folder with `model.onnx` and `test_data_set_N/{input,output}_M.pb`.

    Asks as `load` does. Raise `KeyError` for a model that comes without test data,
    `AssertionError` as `load` does, and `hub.errors.HubError` for an archive that is not safe.
    """
    from hub.client import archives  # noqa: PLC0415  (only this function needs it)

    info = get_model_info(model, repo, opset)
    try:
        remote = info.metadata["model_with_data_path"]
        sha256 = info.metadata["model_with_data_sha"]
    except KeyError as error:
        error.add_note(f"{info.model} at opset {info.opset} has no test data.")
        raise
    path = _local(remote, sha256)
    if not _bring(model, remote, path, repo, force_reload=force_reload, silent=silent):
        return None
    if sha256 is not None:
        with path.open("rb") as reader:
            _compare(info.model, hashlib.file_digest(reader, "sha256").hexdigest(), sha256)
    folder = Path(str(path).removesuffix(_ARCHIVE))
    folder.mkdir(exist_ok=True)
    paths = archives.extract(path, folder)
    return f"{folder}/{paths[0].partition('/')[0]}"


def load_composite_model(
    network_model: str,
    preprocessing_model: str,
    network_repo: str = EVERYTHING,
    preprocessing_repo: str = EVERYTHING,
    opset: int | None = None,
    force_reload: bool = False,  # noqa: FBT001, FBT002  (the signature of onnx.hub)
    silent: bool = False,  # noqa: FBT001, FBT002
) -> onnx.ModelProto | None:
    """Return one model that does a preprocessing model's work and then a network's.

    The outputs of the first become the inputs of the second in their order. The one with the older
    opset of ai.onnx is converted to the newer. Raise what `load` raises, `RuntimeError` when one
    was declined, and `ValueError` when another domain has two versions.
    """
    from onnx import checker, compose, version_converter  # noqa: PLC0415

    first = load(preprocessing_model, preprocessing_repo, opset, force_reload, silent)
    if first is None:
        raise RuntimeError(f"Could not load the preprocessing model: {preprocessing_model}")
    second = load(network_model, network_repo, opset, force_reload, silent)
    if second is None:
        raise RuntimeError(f"Could not load the network model: {network_model}")
    before, after = _domains(first), _domains(second)
    for domain in before.keys() & after.keys() - {""}:
        if before[domain] != after[domain]:
            raise ValueError(
                f"Can not merge {preprocessing_model} and {network_model} because they contain "
                f"different opset versions for domain {domain} ({before[domain]} and "
                f"{after[domain]}). Only the default domain can be automatically converted to the "
                "highest version of the two."
            )
    lower, upper = before.get("", 0), after.get("", 0)
    if 0 < upper < lower:
        second = version_converter.convert_version(second, lower)
        second.ir_version = first.ir_version
        checker.check_model(second)
    elif 0 < lower < upper:
        first = version_converter.convert_version(first, upper)
        first.ir_version = second.ir_version
        checker.check_model(first)
    pairs = zip(first.graph.output, second.graph.input, strict=False)
    return compose.merge_models(
        first, second, io_map=[(first.name, two.name) for first, two in pairs]
    )


def _domains(model: onnx.ModelProto) -> dict[str, int]:
    return {
        "" if entry.domain == "ai.onnx" else entry.domain: entry.version
        for entry in model.opset_import
    }


def _parts(repo: str) -> tuple[str, str, str]:
    place, _, ref = repo.partition(":")
    owner, slash, name = place.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise problems.InvalidReference(f"{repo!r} is not a repository. Write owner/repo[:ref].")
    return owner, name, ref or "main"


def _address(repo: str, *, media: bool = False) -> str:
    owner, name, ref = _parts(repo)
    middle = "onnx-hub/media" if media else "onnx-hub"
    return f"{api.default_hub().config.url}/{middle}/{quote(owner)}/{quote(name)}/{quote(ref)}/"


def _manifest(repo: str) -> Iterable[dict[str, Any]]:
    """The manifest of a repository, asked for each time; unchanged, it is not sent again."""
    hub = api.default_hub()
    address = _address(repo) + MANIFEST
    question = ("onnx-hub", address, hashlib.sha256((hub.config.token or "").encode()).hexdigest())
    stored = hub.cache.read_answer(hub.config.url, question)
    if hub.config.offline:
        if stored is None:
            raise problems.NotCached(
                f"The model list of {repo} is not cached, and HUB_OFFLINE prevents downloading "
                "it. Use HUB_OFFLINE=0."
            )
        return stored.content["entries"]  # type: ignore[no-any-return]
    headers = {"If-None-Match": stored.etag} if stored and stored.etag else {}
    try:
        answer = hub.transport.request("GET", address, headers=headers)
    except problems.Problem as error:
        raise AssertionError(f"Could not find manifest at {address}: {error}") from None
    if stored and answer.status == 304:
        return stored.content["entries"]  # type: ignore[no-any-return]
    entries = answer.json()
    if not isinstance(entries, list):
        raise problems.Unreachable(
            f"{address} is not a list of models. Is HUB_URL the address of a model hub?"
        )
    # Without a place for it the manifest is fetched whole the next time.
    with suppress(problems.CacheUnusable):
        content = {"entries": entries}
        hub.cache.keep_answer(hub.config.url, question, content, answer.headers.get("ETag"))
    return entries


def _local(remote: str, sha256: str | None) -> Path:
    """Where a file lies in the cache: at its own path, its digest before its name."""
    if remote.startswith("/") or "\\" in remote or ".." in remote.split("/"):
        raise problems.PathInvalid(f"{remote[:120]!r} in the manifest points outside the cache.")
    folder, _, name = remote.rpartition("/")
    return Path(get_dir(), folder, f"{sha256}_{name}" if sha256 is not None else name)


def _bring(
    model: str, remote: str, path: Path, repo: str, *, force_reload: bool, silent: bool
) -> bool:
    """Bring a file into the cache; False where the user declined."""
    if path.exists() and not force_reload:
        print(f"Using cached {model} model from {path}")  # noqa: T201  (as onnx.hub says it)
        return True
    if _parts(repo) != _parts(EVERYTHING) and not silent and not _is_wanted(repo):
        return False
    hub = api.default_hub()
    if hub.config.offline:
        raise problems.NotCached(
            f"{model} is not in {get_dir()}, and HUB_OFFLINE prevents downloading it. Use "
            "HUB_OFFLINE=0."
        )
    print(f"Downloading {model} to local path {path}")  # noqa: T201
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        download.write_file(hub.transport, _address(repo, media=True) + remote, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return True


def _is_wanted(repo: str) -> bool:
    message = (
        f"The model repo specification {repo} is not trusted and may contain security "
        "vulnerabilities. Only continue if you trust this repo."
    )
    print(message, file=sys.stderr)  # noqa: T201
    print("Continue?[y/n]")  # noqa: T201
    return input().lower() == "y"


def _compare(model: str, actual: str, expected: str) -> None:
    if actual != expected:
        raise AssertionError(
            f"The cached model {model} has SHA256 {actual} while checksum should be {expected}. "
            "The model in the hub may have been updated. Use force_reload to download the model "
            "from the model hub."
        )
