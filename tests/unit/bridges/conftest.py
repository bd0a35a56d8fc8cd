"""The fake hub of the client's tests."""

from tests.unit.client.conftest import (  # noqa: F401 - fixtures
    _isolated,
    client,
    default,
    fake,
    pauses,
)
