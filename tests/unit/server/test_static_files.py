"""Static files are collected when something changed, and not when nothing did."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from hub.server import static_files

WHITENOISE = "whitenoise.storage.CompressedManifestStaticFilesStorage"


@pytest.fixture
def site(tmp_path, settings, monkeypatch):
    """A folder with one source, where it is collected to, and how often it was."""
    source = tmp_path / "source" / "page.css"
    source.parent.mkdir()
    source.write_text("a { color: red }")
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATICFILES_DIRS = [source.parent]
    settings.STATIC_ROOT = tmp_path / "home" / "static"
    settings.STATIC_ROOT.parent.mkdir()
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": WHITENOISE}}
    times = []
    command = static_files.call_command

    def count(name, **options):
        times.append(name)
        command(name, **options)

    monkeypatch.setattr(static_files, "call_command", count)
    static_files.collect()
    assert times == ["collectstatic"]
    times.clear()
    return source, settings.STATIC_ROOT, times


def contents(collected):
    """What pages link to, by its name."""
    names = json.loads((collected / "staticfiles.json").read_text())["paths"]
    return {name: (collected / hashed).read_text() for name, hashed in names.items()}


def test_nothing_is_collected_twice_even_in_a_copy_of_the_home(site, settings, tmp_path):
    _, collected, times = site
    static_files.collect()
    shutil.copytree(collected.parent, tmp_path / "copy")
    settings.STATIC_ROOT = tmp_path / "copy" / "static"
    static_files.collect()
    assert times == []


def test_a_changed_new_or_removed_source_is_collected(site):
    source, collected, times = site
    state = source.stat()
    source.write_text("a { color: tan }")  # as many bytes, at another time
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    static_files.collect()
    assert contents(collected) == {"page.css": "a { color: tan }"}
    other = source.with_name("other.css")
    other.write_text("b { color: red }")
    static_files.collect()
    assert contents(collected)["other.css"] == "b { color: red }"
    other.unlink()
    static_files.collect()
    assert contents(collected) == {"page.css": "a { color: tan }"}
    assert len(times) == 3


def test_another_release_of_a_library_collects_again(site, monkeypatch):
    _, _, times = site
    monkeypatch.setattr(static_files, "version", lambda name: f"{name} 9.9")
    static_files.collect()
    static_files.collect()
    assert times == ["collectstatic"]


@pytest.mark.parametrize("loss", ["one file", "one file's content", "the manifest", "all"])
def test_what_was_lost_is_collected_again(site, loss):
    _, collected, times = site
    (page,) = collected.glob("*.css")
    match loss:
        case "one file":
            page.unlink()
        case "one file's content":
            page.write_text("")
        case "the manifest":
            (collected / "staticfiles.json").unlink()
        case "all":
            shutil.rmtree(collected)
    static_files.collect()
    assert times == ["collectstatic"]
    assert contents(collected) == {"page.css": "a { color: red }"}


class Killed(BaseException):
    """Ends a process: nothing is done after it."""


def test_what_a_killed_process_left_is_collected_again(site, monkeypatch):
    source, collected, times = site
    (page,) = collected.glob("*.css")

    def end_half_way(name, **options):
        page.unlink()
        raise Killed

    source.write_text("a { color: green }")
    with monkeypatch.context() as patched:
        patched.setattr(static_files, "call_command", end_half_way)
        with pytest.raises(Killed):
            static_files.collect()
    assert [path.name for path in collected.parent.iterdir()] == ["static"]
    static_files.collect()
    assert times == ["collectstatic"]
    assert contents(collected) == {"page.css": "a { color: green }"}
