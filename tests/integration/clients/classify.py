"""Runs a model of the hub with optimum and ONNX Runtime; prints the logits and label, as JSON.

Arguments: the model and a text.
"""

import json
import sys
from importlib.metadata import version

from optimum.onnxruntime import ORTModelForSequenceClassification
from transformers import AutoTokenizer

MODEL, TEXT = sys.argv[1:]
model = ORTModelForSequenceClassification.from_pretrained(MODEL)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
logits = model(**tokenizer(TEXT, return_tensors="pt")).logits[0]
named = ("optimum", "optimum-onnx", "transformers", "huggingface_hub")
sys.stdout.write(
    json.dumps(
        {
            "version": ", ".join(f"{name} {version(name)}" for name in named),
            "logits": logits.tolist(),
            "label": model.config.id2label[int(logits.argmax())],
        }
    )
)
