"""ada/net with a published version of two files, which publishers sign."""

from __future__ import annotations

import pytest

from registry.versions import selectors
from tests import factories, samples, shared
from tests.api.provenance.readers import deliver


@shared.rows
def start():
    ada = factories.somebody("ada")
    return factories.version(ada, None, {"model.onnx": samples.mlp(), "labels.txt": b"cat\ndog\n"})


@pytest.fixture
def version(start, db):
    row = shared.fresh(start)
    deliver()
    return row


@pytest.fixture
def files(version):
    return selectors.signed_files(version)
