"""A bridge without its tool says what to install."""

from __future__ import annotations

import sys

import pytest

import hub


@pytest.mark.parametrize(("name", "library"), [("mlflow", "mlflow"), ("spark", "pyspark")])
def test_the_extra_is_named(monkeypatch, name, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"hub.bridges.{name}", raising=False)
    with pytest.raises(hub.errors.LibraryMissing, match=rf"pip install 'onnx-hub\[{name}\]'"):
        getattr(hub, name)
