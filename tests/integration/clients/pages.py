"""Goes through lists page by page with huggingface_hub's own pager; prints what it found, as JSON.

Arguments: a model of two versions.
"""

import json
import sys

from huggingface_hub import HfApi
from huggingface_hub.utils import build_hf_headers
from huggingface_hub.utils._pagination import paginate

REPO = sys.argv[1]
api = HfApi()


def paged(path):
    address = f"{api.endpoint}/api/models{path}"
    return list(paginate(address, params={"limit": 1}, headers=build_hf_headers(token=False)))


sys.stdout.write(
    json.dumps(
        {
            "models": [each["id"] for each in paged("")],
            "files": [each["path"] for each in paged(f"/{REPO}/tree/main")],
            "commits": [each["id"] for each in paged(f"/{REPO}/commits/main")],
        }
    )
)
