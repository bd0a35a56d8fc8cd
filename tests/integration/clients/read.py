"""Reads a public model with huggingface_hub, as a guest; prints what held, as JSON."""

import json
import sys
from pathlib import Path

import huggingface_hub
from huggingface_hub import HfApi, HfFileSystem, hf_hub_download, snapshot_download
from huggingface_hub.utils import (
    EntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

NET = "zoo/net"
api = HfApi()


def raised(kind, ask):
    try:
        ask()
    except kind:
        return True
    return False


info = api.model_info(NET, files_metadata=True, securityStatus=True)
commit = info.sha
tree = {entry.path: entry for entry in api.list_repo_tree(NET, recursive=True, expand=True)}
folder = Path(snapshot_download(NET))
names = ["README.md", "config.json", "model.onnx", "weights.bin"]
files = HfFileSystem(token=False)
with files.open(f"{NET}@v1/weights.bin", "rb") as opened:
    opened.seek(1000)
    part = opened.read(16)

sys.stdout.write(
    json.dumps(
        {
            "version": huggingface_hub.__version__,
            "sizes": {
                name: (folder / name).stat().st_size for name in ("model.onnx", "weights.bin")
            },
            "model_info": info.pipeline_tag == "image-classification" and not info.private,
            "siblings": sorted(each.rfilename for each in info.siblings) == names,
            "revision": api.model_info(NET, revision="v1").sha == commit,
            "alias": api.model_info(NET, revision="@champion").sha == commit,
            "bare name": api.model_info("net").id == NET,
            "list_models": [each.id for each in api.list_models(author="zoo")] == [NET],
            "filters": [
                each.id
                for each in api.list_models(
                    search="net",
                    filter=["onnx", "license:mit"],
                    sort="downloads",
                    limit=5,
                    full=True,
                )
            ]
            == [NET],
            "list_repo_tree": sorted(tree) == names,
            "lfs": tree["weights.bin"].lfs is not None and tree["config.json"].lfs is None,
            "last_commit": tree["config.json"].last_commit.oid == commit,
            "list_repo_files": sorted(api.list_repo_files(NET)) == names,
            "get_paths_info": [
                each.path for each in api.get_paths_info(NET, ["config.json", "nope"], expand=True)
            ]
            == ["config.json"],
            "list_repo_commits": [each.commit_id for each in api.list_repo_commits(NET)]
            == [commit],
            "list_repo_refs": api.list_repo_refs(NET).branches[0].target_commit == commit,
            "file_exists": api.file_exists(NET, "config.json") and not api.file_exists(NET, "nope"),
            "repo_exists": not api.repo_exists("zoo/nope"),
            "revision_exists": not api.revision_exists(NET, "nope"),
            "snapshot_download": sorted(path.name for path in folder.iterdir()) == names,
            "folder is the commit": folder.name == commit,
            "hf_hub_download": Path(hf_hub_download(NET, "config.json", revision="v1")).read_bytes()
            == b"{}",
            "bare download": Path(hf_hub_download("net", "config.json")).read_bytes() == b"{}",
            "file system": sorted(files.ls(NET, detail=False))
            == [f"{NET}/{name}" for name in names],
            "part of a file": part == bytes(index % 256 for index in range(1000, 1016)),
            "no file": raised(EntryNotFoundError, lambda: hf_hub_download(NET, "nope")),
            "no folder": raised(EntryNotFoundError, lambda: list(api.list_repo_tree(NET, "nope"))),
            "no revision": raised(
                RevisionNotFoundError, lambda: api.model_info(NET, revision="nope")
            ),
            "no model": raised(RepositoryNotFoundError, lambda: api.model_info("zoo/nope")),
            "hidden": raised(RepositoryNotFoundError, lambda: api.model_info("zoo/hidden")),
            "hidden file": raised(
                RepositoryNotFoundError, lambda: hf_hub_download("zoo/hidden", "config.json")
            ),
        }
    )
)
