"""What completes in a shell, asked of a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from hub.cli import command, completion

ASK = """
eval "$(hub completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_hub
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ya"], ["yank"]),
        (["jobs", "wa"], ["watch"]),
        (["jobs", "list", "--sta"], ["--state"]),
        (["jobs", "list", "--state", "f"], ["failed"]),
        (["visibility", "zoo/net", "pri"], ["private"]),
        (["members", "set", "acme", "ada", "--role", "w"], ["writer"]),
        (["nothing", ""], []),
        (["get", "--to", "fold"], []),  # files are the shell's own
    ],
)
def test_words_that_fit(words, expected):
    assert completion.candidates(words) == expected


def test_every_command_is_offered():
    assert {"yank", "serve", "jobs", "bench"} <= set(completion.candidates([""]))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_valid(shell, capsys):
    assert command.main(["completion", shell]) == 0
    program = shutil.which(shell)
    script = capsys.readouterr().out
    assert completion.COMPLETE in script
    if program:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_bash_completes(tmp_path):
    hub = tmp_path / "hub"
    hub.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hub "$@"\n')
    hub.chmod(0o755)
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK.format(words="hub jobs ca")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "cancel\n"
