"""Hubs in MLflow: `hub://` as a store of artifacts, and MLflow's ONNX models as versions.

MLflow finds the store by its entry point, so `mlflow.onnx.load_model("hub://zoo/net@1")` reads a
version that was registered here.
"""

from __future__ import annotations

import posixpath
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow.entities import FileInfo
from mlflow.store.artifact.artifact_repo import ArtifactRepository

from hub.bridges.filesystem import HubFileSystem
from hub.client import api
from hub.protocol import problems, refs

if TYPE_CHECKING:
    from mlflow.models import Model

FLAVOR = "onnx"


class HubArtifactRepository(ArtifactRepository):  # type: ignore[misc]  # MLflow is not installed here
    """The files of one version, `hub://NAMESPACE/MODEL[@VERSION]`, or of a folder of it.

    Whole folders are written as a new version, see `register`; single artifacts are not.
    """

    def __init__(
        self,
        artifact_uri: str,
        tracking_uri: str | None = None,
        registry_uri: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(artifact_uri, tracking_uri, registry_uri)
        self._files = HubFileSystem()
        self._root = HubFileSystem._strip_protocol(artifact_uri)  # noqa: SLF001 - fsspec's

    def list_artifacts(self, path: str | None = None) -> list[FileInfo]:
        """What a folder holds; nothing for a file."""
        place = posixpath.join(self._root, path or "")
        if not self._files.isdir(place):
            return []
        return [
            FileInfo(
                posixpath.relpath(entry["name"], self._root),
                entry["type"] == "directory",
                entry["size"],
            )
            for entry in self._files.ls(place)
        ]

    def _download_file(self, remote_file_path: str, local_path: str) -> None:
        self._files.get_file(posixpath.join(self._root, remote_file_path), local_path)

    def log_artifacts(self, local_dir: str, artifact_path: str | None = None) -> None:
        """Publish a saved MLflow model as the next version of the model."""
        if artifact_path:
            raise self._refused()
        register_folder(Path(local_dir), self._root)

    def log_artifact(self, local_file: str, artifact_path: str | None = None) -> None:
        """Refuse: versions are immutable, so a file alone cannot be added."""
        raise self._refused()

    def _refused(self) -> problems.InvalidRequest:
        return problems.InvalidRequest(
            f"Versions are immutable, so no single artifact can be added to {self.artifact_uri}. "
            "Register a whole model with hub.mlflow.register."
        )


def register(
    model_uri: str, ref: str, *, card: str | None = None, **options: Any
) -> dict[str, Any]:
    """Publish an ONNX model of MLflow, such as `models:/net/3`, as a version; return that version.

    `card` and `options` are those of `hub.push`; without a card one is written that names the run,
    the model and its signature. Every file of the MLflow model is part of the version, so MLflow
    loads it back. Raise `InvalidRequest` for a model without the flavor `onnx`.
    """
    import mlflow  # noqa: PLC0415  (large, and only this needs it)

    with tempfile.TemporaryDirectory() as folder:
        place = mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=folder)
        options = {"message": f"MLflow {model_uri}"} | options
        return register_folder(Path(place), ref, card=card, **options)


def register_folder(
    folder: Path, ref: str, *, card: str | None = None, **options: Any
) -> dict[str, Any]:
    """Publish an MLflow model that was saved to a folder; see `register`."""
    from mlflow.models import Model  # noqa: PLC0415  (large, and only this needs it)

    model = Model.load(str(folder))
    if FLAVOR not in model.flavors:
        flavors = ", ".join(sorted(model.flavors)) or "none"
        raise problems.InvalidRequest(
            f"{folder.name} has no flavor {FLAVOR} (its flavors: {flavors}). Convert the model to "
            "ONNX and log it with mlflow.onnx.log_model."
        )
    if card is None and not (folder / "README.md").exists():
        card = _card(model, refs.parse(ref).model)
    return api.push(ref, folder, card=card, **options)


def _card(model: Model, name: str) -> str:
    """A card of what MLflow knows of a model."""
    facts = {
        "MLflow": model.mlflow_version,
        "Model": model.model_id,
        "Run": model.run_id,
        "Created": model.utc_time_created,
    }
    lines = [f"- {label}: `{value}`" for label, value in facts.items() if value]
    if model.signature is not None:
        lines += ["", "```", *str(model.signature).strip().splitlines(), "```"]
    text = "\n".join(lines)
    return f"---\ntags: [mlflow]\n---\n# {name}\n\nAn ONNX model of MLflow.\n\n{text}\n"
