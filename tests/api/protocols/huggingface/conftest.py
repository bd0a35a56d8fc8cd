"""A model with a large file, seen through the Hub protocol."""

from __future__ import annotations

import pytest

from tests import factories, samples, shared

CONFIG = b'{"model_type": "resnet", "architectures": ["ResNet"], "hidden": 1}'
WEIGHTS = bytes(range(256)) * 4_000  # 1,024,000 bytes: large enough for git-LFS
CARD = """---
license: apache-2.0
pipeline_tag: image-classification
library_name: timm
language: [en]
datasets: [mnist]
tags: [digits, tiny]
---
# A model

It tells digits apart. It is small.
"""


@shared.rows
def start():
    """ada/net at its first version, published."""
    contents = {
        "model.onnx": samples.mlp(),
        "config.json": CONFIG,
        "weights/model.onnx_data": WEIGHTS,
        "weights/deep/notes.txt": b"deep\n",
    }
    return factories.published(factories.somebody("ada"), contents=contents, card=CARD)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture
def net(ada):
    """ada/net, without a version."""
    return factories.model(ada)


@pytest.fixture
def writer(api, ada):
    return api(ada)


def body(response):
    """The bytes of an answer, sent as a stream or not."""
    return b"".join(response.streaming_content) if response.streaming else response.content


def refused(response, status, code=""):
    """That an answer is this error, with its words in the body and in a header."""
    assert response.status_code == status, response.content
    assert response.get("X-Error-Code", "") == code
    assert response["X-Error-Message"]
    assert response["X-Request-Id"]
    if response.content:
        assert set(response.json()) == {"error"}
