"""`hub manage`: what manage.py does, also where there is none."""

from __future__ import annotations

import logging
import sys

import pytest

from hub.server import manage
from registry.storage import verification


@pytest.mark.django_db
def test_a_command_runs_and_says_what_came_of_it(capsys):
    assert manage.main(["verify_blobs"]) == 0
    assert "all blobs are intact" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_failure_ends_with_1(capsys, monkeypatch):
    monkeypatch.setattr(verification, "verify", lambda _tell: [("0" * 64, "has changed on disk")])
    with pytest.raises(SystemExit) as ended:
        manage.main(["verify_blobs"])
    assert ended.value.code == 1
    assert "1 blob is missing or damaged" in capsys.readouterr().err


@pytest.mark.capability("tryouts")
def test_alone_it_lists_the_commands(capsys):
    assert manage.main([]) == 0
    assert "fetch_browser_runtime" in capsys.readouterr().out


def test_the_log_outlives_a_command(capsys):
    """A command sets Django up once more; lines of the log go where they went before."""
    manage.main([])
    (handler,) = (
        each for each in logging.getLogger().handlers if type(each) is logging.StreamHandler
    )
    assert handler.stream is sys.__stderr__
    assert capsys.readouterr().err == ""
