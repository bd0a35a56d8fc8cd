"""Which of PostgreSQL's programs make a dump."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from registry.storage.backups import database

# Writes its own path to the file that it is to dump to.
PROGRAM = """#!/bin/sh
while [ "$1" != --file ]; do shift; done
printf %s "$0" > "$2"
"""


class Store:
    """Stages what it is given."""

    def stage(self, reader):
        return reader.read().decode()


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """A server of version 16, and a function that installs pg_dump in a folder."""
    settings = {"NAME": "hub", "USER": "", "HOST": "", "PORT": "", "PASSWORD": "", "OPTIONS": {}}
    server = SimpleNamespace(
        vendor="postgresql", settings_dict=settings, get_database_version=lambda: (16, 4)
    )
    monkeypatch.setattr(database, "connection", server)
    monkeypatch.setattr(database, "PROGRAMS", (f"{tmp_path}/{{version}}/bin",))
    monkeypatch.setenv("PATH", f"{tmp_path}/path:/usr/bin:/bin")

    def install(folder):
        path = tmp_path / folder / "pg_dump"
        path.parent.mkdir(parents=True)
        path.write_text(PROGRAM)
        path.chmod(0o755)
        return str(path)

    return install


def test_a_dump_is_made_by_the_program_of_the_version_of_the_server(programs):
    used, *_others = map(programs, ("16/bin", "15/bin", "17/bin", "path"))
    assert database.dump(Store()) == used


def test_a_dump_is_made_by_the_program_of_the_path_without_one_of_that_version(programs):
    _other, used = map(programs, ("17/bin", "path"))
    assert database.dump(Store()) == used


def test_a_missing_program_is_named(programs, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(database.DumpError, match="pg_dump is not installed here"):
        database.dump(Store())
