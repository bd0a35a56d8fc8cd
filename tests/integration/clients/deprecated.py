"""Reads a deprecated model with huggingface_hub; prints what it warned of, as JSON."""

import json
import logging
import sys

import huggingface_hub
from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.utils import logging as client_logging

OLD = "zoo/hidden"
messages = []


class Keep(logging.Handler):
    def emit(self, record):
        messages.append(record.getMessage())


client_logging.get_logger("huggingface_hub").addHandler(Keep())
hf_hub_download(OLD, "config.json")
card = HfApi().model_info(OLD).card_data
hf_hub_download(OLD, "README.md")
result = {
    "version": huggingface_hub.__version__,
    "warnings": messages,
    "new_version": card.get("new_version"),
    "deprecated": card.get("deprecated"),
}
sys.stdout.write(json.dumps(result) + "\n")
