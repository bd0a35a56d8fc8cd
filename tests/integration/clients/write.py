"""Writes with huggingface_hub as a user does, reads back; prints what held, as JSON.

Arguments: the model to make, and `xet` or `lfs`, which is what the environment makes of it.
"""

import hashlib
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path

import huggingface_hub
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
)
from huggingface_hub.utils import EntryNotFoundError, HfHubHTTPError

REPO, ONNX = sys.argv[1], sys.argv[2]
WEIGHTS = 30_000_000
api = HfApi()


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def status(ask):
    try:
        ask()
    except HfHubHTTPError as error:
        return error.response.status_code
    return 200


api.create_repo(REPO)
api.create_repo(REPO, exist_ok=True)
first = api.model_info(REPO).sha
api.upload_file(path_or_fileobj=b"# Net\n\nSmall.\n", path_in_repo="README.md", repo_id=REPO)
api.upload_file(path_or_fileobj=io.BytesIO(b"note"), path_in_repo="notes/a.txt", repo_id=REPO)

folder = Path(tempfile.mkdtemp())
(folder / "model.onnx").write_bytes(Path(ONNX).read_bytes())
(folder / "deep").mkdir()
(folder / "deep" / "w.bin").write_bytes(random.Random(1).randbytes(WEIGHTS))
for number in range(20):
    (folder / "deep" / f"{number}.txt").write_text(f"{number}\n" * 100)
whole = api.upload_folder(folder_path=folder, repo_id=REPO).oid
got = Path(api.snapshot_download(REPO, revision=whole))
same = all(
    digest(path) == digest(got / path.relative_to(folder))
    for path in folder.rglob("*")
    if path.is_file()
)
weights = bytearray((folder / "deep" / "w.bin").read_bytes())
weights[1_000_000 : 1_000_000 + WEIGHTS // 100] = random.Random(2).randbytes(WEIGHTS // 100)
(folder / "deep" / "w.bin").write_bytes(weights)
second = api.upload_file(
    path_or_fileobj=str(folder / "deep" / "w.bin"), path_in_repo="deep/w.bin", repo_id=REPO
).oid
again = digest(api.hf_hub_download(REPO, "deep/w.bin", revision=second))
mixed = api.create_commit(
    REPO,
    operations=[
        CommitOperationDelete("notes/a.txt"),
        CommitOperationCopy("deep/w.bin", "w2.bin"),
        CommitOperationAdd("x.txt", b"x"),
    ],
    commit_message="mixed",
    parent_commit=second,
).oid
files = api.list_repo_files(REPO)
api.create_branch(REPO, branch="dev")
api.upload_file(path_or_fileobj=b"d", path_in_repo="d.txt", repo_id=REPO, revision="dev")
api.create_tag(REPO, tag="one")
add = [CommitOperationAdd("y.txt", b"y")]
late = {"operations": add, "commit_message": "late", "parent_commit": first}
try:
    gone = [CommitOperationDelete("none.txt")]
    api.create_commit(REPO, operations=gone, commit_message="gone")
    missing = False
except EntryNotFoundError:
    missing = True
private = f"{REPO}-private"
api.create_repo(private, private=True)
api.upload_file(path_or_fileobj=ONNX, path_in_repo="model.onnx", repo_id=private)
sys.stdout.write(
    json.dumps(
        {
            "version": huggingface_hub.__version__,
            "xet": os.environ.get("HF_HUB_DISABLE_XET") != "1",
            "first": len(first),
            "same": same,
            "again": again == digest(folder / "deep" / "w.bin"),
            "notes": "notes/a.txt" in files,
            "copy": "w2.bin" in files and "x.txt" in files,
            "dev": [
                api.file_exists(REPO, "d.txt", revision="dev"),
                api.file_exists(REPO, "d.txt"),
            ],
            "tag": status(lambda: api.create_tag(REPO, tag="one")),
            "late": status(lambda: api.create_commit(REPO, **late)),
            "missing": missing,
            "hidden": HfApi(token=False).repo_exists(private),
            "head": mixed,
        }
    )
)
api.delete_repo(private)
