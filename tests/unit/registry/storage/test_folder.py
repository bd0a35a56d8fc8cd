"""A folder as storage; ``tests/integration/test_s3.py`` asks the same of a bucket."""

from __future__ import annotations

import pytest

from registry.storage.folder import FolderStore
from tests.stores import StoreContract


class TestFolder(StoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return FolderStore(tmp_path / "store")
