"""No test reaches beyond this machine."""

from __future__ import annotations

import socket

import pytest


def test_the_network_is_closed():
    # 192.0.2.0/24 is set aside for examples (RFC 5737): nobody would answer even if it were open.
    refused = pytest.raises(UserWarning, match=r'connect\(\) with host "192.0.2.1"')
    with socket.socket() as line, refused:
        line.connect(("192.0.2.1", 80))
