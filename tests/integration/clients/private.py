"""Reads a private model with huggingface_hub and a token; prints what held, as JSON."""

import json
import sys
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.utils import HfHubHTTPError, RepositoryNotFoundError

HIDDEN = "zoo/hidden"
api = HfApi()


def status(ask):
    try:
        ask()
    except HfHubHTTPError as error:
        return error.response.status_code
    return 200


def raised(kind, ask):
    try:
        ask()
    except kind:
        return True
    return False


me = api.whoami()
sys.stdout.write(
    json.dumps(
        {
            "whoami": me["name"] == "admin" and [org["name"] for org in me["orgs"]] == ["zoo"],
            "auth_check": api.auth_check(HIDDEN) is None,
            "model_info": api.model_info(HIDDEN).private is True,
            "list_models": "zoo/hidden" in [each.id for each in api.list_models()],
            "download": Path(hf_hub_download(HIDDEN, "config.json")).read_bytes() == b"{}",
            "no model": raised(RepositoryNotFoundError, lambda: api.auth_check("zoo/nope")),
            "bad token": status(lambda: HfApi(token="hf_bad").model_info(HIDDEN)) == 401,
        }
    )
)
