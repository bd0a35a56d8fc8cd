"""Loads a configuration and a tokenizer with transformers; prints what they hold, as JSON.

Arguments: the model and a text.
"""

import json
import sys

import transformers
from transformers import AutoConfig, AutoTokenizer

MODEL, TEXT = sys.argv[1:]
config = AutoConfig.from_pretrained(MODEL)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
sys.stdout.write(
    json.dumps(
        {
            "version": transformers.__version__,
            "kind": config.model_type,
            "labels": [config.id2label[number] for number in range(len(config.id2label))],
            "ids": tokenizer(TEXT)["input_ids"],
        }
    )
)
