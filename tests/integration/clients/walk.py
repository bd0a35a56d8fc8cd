"""Calls each public method of HfApi that concerns repositories, files, refs, cards and users.

Prints as JSON: method -> "works", or "refused: STATUS MESSAGE" as the hub put it into words, or
"fault: …" for an answer without words, and the methods that nothing here calls or leaves out.
Arguments: the model to make, and the name of its owner.
"""

import json
import re
import sys
import tempfile
import time
from pathlib import Path

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.utils import HfHubHTTPError, NotASafetensorsRepoError

REPO, OWNER = sys.argv[1:]
OTHER_THINGS = re.compile(
    "space|bucket|inference|endpoint|job|webhook|collection|paper|dataset|kernel|zero_gpu"
    "|run_as_future|quota"
)
api = HfApi()
folder = Path(tempfile.mkdtemp())
(folder / "a.txt").write_text("a")
(folder / "sub").mkdir()
header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
tensors = len(header).to_bytes(8, "little") + header + bytes(4)
(folder / "sub" / "b.txt").write_text("b")
oids = {}


def first_commit():
    oids["first"] = api.create_commit(
        REPO,
        [
            CommitOperationAdd("tokenizer.json", b"{}"),
            CommitOperationAdd("model.safetensors", tensors),
        ],
        commit_message="First",
    ).oid


def get_repo_discussions():
    (one,) = api.get_repo_discussions(REPO)
    assert (one.num, one.title, one.status) == (1, "A question", "open")
    assert not one.is_pull_request


def list_models():
    """A list has a repository without a published version too, soon after it was made."""
    owner = REPO.partition("/")[0]
    for _ in range(50):
        if any(model.id == REPO for model in api.list_models(author=owner)):
            return
        time.sleep(0.2)
    raise AssertionError("not listed")


def comment_discussion():
    oids["comment"] = api.comment_discussion(REPO, 1, comment="x").id


def get_discussion_details():
    details = api.get_discussion_details(REPO, 1)
    assert (details.title, details.status) == ("x", "closed")
    assert [event.type for event in details.events] == ["comment"] * 3 + ["status-change"]
    assert details.events[1].hidden
    assert details.events[1].edited
    assert details.events[2].content == "Done"


def preupload():
    api.preupload_lfs_files(REPO, [CommitOperationAdd("c.txt", b"c")])


CALLS = {
    "whoami": api.whoami,
    "get_token_permission": lambda: api.get_token_permission(),  # noqa: PLW0108 - old releases alone
    "create_repo": lambda: api.create_repo(REPO),
    "get_full_repo_name": lambda: api.get_full_repo_name("net"),
    "create_commit": first_commit,
    "preupload_lfs_files": preupload,
    "upload_file": lambda: api.upload_file(
        path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=REPO
    ),
    "upload_folder": lambda: api.upload_folder(repo_id=REPO, folder_path=folder),
    "upload_large_folder": lambda: api.upload_large_folder(
        repo_id=REPO, folder_path=folder, repo_type="model", print_report=False
    ),
    "model_info": lambda: api.model_info(REPO, files_metadata=True),
    "repo_info": lambda: api.repo_info(REPO, revision=oids["first"]),
    "repo_exists": lambda: api.repo_exists(REPO) or 1 / 0,
    "revision_exists": lambda: api.revision_exists(REPO, oids["first"]) or 1 / 0,
    "resolve_revision": lambda: api.resolve_revision(REPO, revision="main"),
    "file_exists": lambda: api.file_exists(REPO, "a.txt") or 1 / 0,
    "auth_check": lambda: api.auth_check(REPO),
    "list_models": list_models,
    "list_repo_files": lambda: api.list_repo_files(REPO),
    "list_repo_tree": lambda: list(api.list_repo_tree(REPO, recursive=True, expand=True)),
    "list_repo_commits": lambda: api.list_repo_commits(REPO, formatted=True),
    "list_repo_refs": lambda: api.list_repo_refs(REPO, include_pull_requests=True),
    "get_paths_info": lambda: api.get_paths_info(REPO, ["a.txt", "sub"], expand=True),
    "get_hf_file_metadata": lambda: api.get_hf_file_metadata(
        url=f"{api.endpoint}/{REPO}/resolve/main/a.txt"
    ),
    "hf_hub_download": lambda: api.hf_hub_download(REPO, "a.txt"),
    "snapshot_download": lambda: api.snapshot_download(REPO),
    "verify_repo_checksums": lambda: api.verify_repo_checksums(
        repo_id=REPO, local_dir=api.snapshot_download(REPO, local_dir=folder / "copy")
    ),
    "create_tag": lambda: api.create_tag(REPO, tag="one", tag_message="x"),
    "delete_tag": lambda: api.delete_tag(REPO, tag="one"),
    "create_branch": lambda: api.create_branch(REPO, branch="next"),
    "delete_branch": lambda: api.delete_branch(REPO, branch="next"),
    "delete_file": lambda: api.delete_file("x.txt", REPO),
    "delete_files": lambda: api.delete_files(REPO, ["a.*"]),
    "delete_folder": lambda: api.delete_folder("sub", REPO),
    "copy_files": lambda: api.copy_files(f"hf://{REPO}/tokenizer.json", f"hf://{REPO}/copy.json"),
    "super_squash_history": lambda: api.super_squash_history(REPO),
    "list_lfs_files": lambda: list(api.list_lfs_files(REPO)),
    "permanently_delete_lfs_files": lambda: api.permanently_delete_lfs_files(REPO, []),
    "get_safetensors_metadata": lambda: api.get_safetensors_metadata(REPO),
    "get_sharded_safetensors_metadata": lambda: api.get_sharded_safetensors_metadata(REPO),
    "parse_safetensors_file_metadata": lambda: api.parse_safetensors_file_metadata(
        REPO, "model.safetensors"
    ),
    "update_repo_visibility": lambda: api.update_repo_visibility(REPO, private=False),
    "update_repo_settings": lambda: api.update_repo_settings(REPO, gated="manual"),
    "list_pending_access_requests": lambda: list(api.list_pending_access_requests(REPO)),
    "list_accepted_access_requests": lambda: list(api.list_accepted_access_requests(REPO)),
    "list_rejected_access_requests": lambda: list(api.list_rejected_access_requests(REPO)),
    "grant_access": lambda: api.grant_access(REPO, OWNER),
    "cancel_access_request": lambda: api.cancel_access_request(REPO, OWNER),
    "accept_access_request": lambda: api.accept_access_request(REPO, OWNER),
    "reject_access_request": lambda: api.reject_access_request(REPO, OWNER, rejection_reason="x"),
    "create_pull_request": lambda: api.create_pull_request(REPO, title="A change"),
    "create_discussion": lambda: api.create_discussion(REPO, title="A question"),
    "get_repo_discussions": get_repo_discussions,
    "comment_discussion": comment_discussion,
    "edit_discussion_comment": lambda: api.edit_discussion_comment(
        REPO, 1, oids["comment"], new_content="y"
    ),
    "hide_discussion_comment": lambda: api.hide_discussion_comment(REPO, 1, oids["comment"]),
    "rename_discussion": lambda: api.rename_discussion(REPO, 1, new_title="x"),
    "change_discussion_status": lambda: api.change_discussion_status(
        REPO, 1, "closed", comment="Done"
    ),
    "get_discussion_details": get_discussion_details,
    "merge_pull_request": lambda: api.merge_pull_request(REPO, 1),
    "upload_attachment": lambda: api.upload_attachment(folder / "a.txt"),
    "get_model_tags": api.get_model_tags,
    "get_user_overview": lambda: api.get_user_overview(OWNER),
    "list_user_repos": lambda: list(api.list_user_repos(OWNER)),
    "list_user_followers": lambda: list(api.list_user_followers(OWNER)),
    "list_user_following": lambda: list(api.list_user_following(OWNER)),
    "list_liked_repos": lambda: api.list_liked_repos(OWNER),
    "list_repo_likers": lambda: list(api.list_repo_likers(REPO)),
    "unlike": lambda: api.unlike(REPO),
    "get_organization_overview": lambda: api.get_organization_overview("zoo"),
    "list_organization_members": lambda: list(api.list_organization_members("zoo")),
    "list_organization_followers": lambda: list(api.list_organization_followers("zoo")),
    "duplicate_repo": lambda: api.duplicate_repo(REPO, f"{REPO}-twin"),
    "move_repo": lambda: api.move_repo(REPO, f"{REPO}-moved"),
    "delete_repo": lambda: api.delete_repo(f"{REPO}-moved"),
}


def result(call):
    try:
        call()
    except HfHubHTTPError as error:
        answer = error.response
        words = answer.headers.get("X-Error-Message", "")
        if answer.status_code < 500 and words and "json" in answer.headers.get("Content-Type", ""):
            return f"refused: {answer.status_code} {words}"
        return f"fault: {answer.status_code} {answer.text[:200]}"
    except (ValueError, NotASafetensorsRepoError) as error:  # the client's own words
        return f"refused: by the client, {error!r:.100}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no refusal
        return f"fault: {error!r:.200}"
    return "works"


methods = {
    name
    for name in dir(HfApi)
    if not name.startswith("_") and callable(getattr(HfApi, name)) and not OTHER_THINGS.search(name)
}
results = {name: result(call) for name, call in CALLS.items() if name in methods}
results |= dict.fromkeys(sorted(methods - set(CALLS)), "not called")
sys.stdout.write(json.dumps(results))
