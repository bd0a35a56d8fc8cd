"""What huggingface_hub does with a gated model, and with one that moves; prints what held.

Run with the address in HF_ENDPOINT, an owner's token in HF_TOKEN, a stranger's in STRANGER.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.utils import GatedRepoError, RepositoryNotFoundError

owner = HfApi()
stranger = HfApi(token=os.environ["STRANGER"])
guest = HfApi(token=False)
repo, new = os.environ["REPO"], os.environ["NEW"]
held = {}


def gated(call):
    """The status with which a call is refused as gated; 0 where it is not."""
    try:
        call()
    except GatedRepoError as error:
        return error.response.status_code
    return 0


def names(rows):
    return [row.username for row in rows]


before = owner.model_info(repo).sha
owner.update_repo_settings(repo, gated="manual")
held["told"] = guest.model_info(repo).gated == "manual"
held["tree"] = "model.onnx" in guest.list_repo_files(repo)
held["guest"] = gated(lambda: guest.hf_hub_download(repo, "model.onnx")) == 401
held["stranger"] = gated(lambda: stranger.hf_hub_download(repo, "model.onnx")) == 403
held["auth_check"] = gated(lambda: stranger.auth_check(repo)) == 403
owner.grant_access(repo, "reader")
held["granted"] = names(owner.list_accepted_access_requests(repo)) == ["reader"]
owner.cancel_access_request(repo, "reader")
held["cancelled"] = names(owner.list_pending_access_requests(repo)) == ["reader"]
held["closed"] = gated(lambda: stranger.auth_check(repo)) == 403
owner.reject_access_request(repo, "reader", rejection_reason="not now")
held["rejected"] = names(owner.list_rejected_access_requests(repo)) == ["reader"]
owner.accept_access_request(repo, "reader")
stranger.auth_check(repo)
held["let in"] = Path(stranger.hf_hub_download(repo, "model.onnx")).stat().st_size > 0

owner.move_repo(repo, new)
for api in (owner, stranger):
    held[f"info {len(held)}"] = api.model_info(repo).id == new
    held[f"file {len(held)}"] = Path(api.hf_hub_download(repo, "config.json")).read_text() == "{}"
held["fixed"] = owner.model_info(repo, revision=before).sha == before
held["range"] = len(owner.list_repo_commits(repo)) == 1
folder = stranger.snapshot_download(repo, allow_patterns="*.json")
held["snapshot"] = (Path(folder) / "config.json").exists()
owner.update_repo_settings(new, gated=False, private=True)
held["owner follows"] = owner.model_info(repo).private is True
try:
    stranger.model_info(repo)
    held["hidden"] = False
except RepositoryNotFoundError:
    held["hidden"] = True
made = owner.upload_file(
    path_or_fileobj=b"more", path_in_repo="more.txt", repo_id=repo, commit_message="More"
)
held["commit"] = made.commit_url.endswith(f"/{new}/commit/{made.oid}")
held["there"] = owner.file_exists(new, "more.txt", revision=made.oid)
sys.stdout.write(json.dumps(held))
