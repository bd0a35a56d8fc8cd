"""Ids in git's form, compared with git itself."""

from __future__ import annotations

import datetime
import shutil
import subprocess

import pytest

from registry.versions import git_names

FILES = {"README.md": b"hello\n", "a/b/c.txt": b"deep\n", "a/d.txt": b"", "a.txt": b"beside a\n"}


def test_ids_are_those_of_git(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed on this machine")

    def run(*words, **more):
        env = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_DATE": "1700000000 +0000",
            "GIT_COMMITTER_DATE": "1700000000 +0000",
            "PATH": "/usr/bin:/bin:/usr/local/bin",
        }
        found = subprocess.run(
            ["git", *words], cwd=tmp_path, env=env, check=True, capture_output=True, **more
        )
        return found.stdout.decode().strip()

    run("init", "-q", "-b", "main")
    for path, content in FILES.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    run("add", ".")
    who = ["-c", "user.name=ada", "-c", "user.email=ada@users.noreply.localhost"]
    run(
        *who, "-c", "i18n.commitEncoding=UTF-8", "commit", "-q", "-m", "First", "--cleanup=verbatim"
    )
    tree = git_names.tree_id((path, git_names.blob_id(content)) for path, content in FILES.items())
    assert tree == run("rev-parse", "HEAD^{tree}")
    raw = run("cat-file", "commit", "HEAD")
    at = datetime.datetime.fromtimestamp(1700000000, tz=datetime.UTC)
    ours = git_names.commit_id(tree, None, "First\n", git_names.Signature("ada", at))
    assert f"tree {tree}" in raw
    text = git_commit_text(tree, "First\n", at)
    assert ours == run("hash-object", "-t", "commit", "-w", "--stdin", input=text)
    later = at + datetime.timedelta(hours=5)
    second = git_names.commit_id(tree, ours, "Second\n", git_names.Signature("ada", later))
    text = git_commit_text(f"{tree}\nparent {ours}", "Second\n", later)
    assert second == run("hash-object", "-t", "commit", "-w", "--stdin", input=text)


def git_commit_text(tree, message, at):
    who = f"ada <ada@users.noreply.localhost> {int(at.timestamp())} +0000"
    return (f"tree {tree}\nauthor {who}\ncommitter {who}\nencoding UTF-8\n\n{message}").encode()


def test_large_weights_are_named_by_their_pointer():
    assert git_names.is_lfs("model.onnx", 1_000_001)
    assert not git_names.is_lfs("model.onnx", 1_000_000)
    assert not git_names.is_lfs("notes.txt", 9_000_000)
    assert git_names.is_lfs("notes.txt", 10_000_001)
    assert git_names.pointer("a" * 64, 5).splitlines()[1] == b"oid sha256:" + b"a" * 64


def test_attributes_name_each_large_file_alone(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed on this machine")
    paths = ["a.bin", "deep/[b] c.bin", 'x"y*.bin', "\\z?.bin", "#h.bin", "!n.bin", "größe.bin"]
    text = git_names.attributes([(path, "", True) for path in paths] + [("small.bin", "", False)])
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitattributes").write_bytes(text)
    others = ["small.bin", "deep/a.bin", "deep/b c.bin", "xy.bin", 'x"yz.bin', "zz.bin", "h.bin"]
    done = subprocess.run(
        ["git", "check-attr", "-z", "--stdin", "filter"],
        cwd=tmp_path, input="\0".join(paths + others).encode(), capture_output=True, check=True,
    )  # fmt: skip
    fields = done.stdout.decode().split("\0")
    values = dict(zip(fields[::3], fields[2::3], strict=False))
    assert {path for path, value in values.items() if value == "lfs"} == set(paths)


def test_a_commit_has_attributes_only_where_a_file_needs_them():
    oid = git_names.blob_id(b"x")
    assert git_names.committed([("a.txt", oid, False)]) == [("a.txt", oid)]
    own = [("a.bin", oid, True), (".gitattributes", oid, False)]
    assert git_names.committed(own) == [("a.bin", oid), (".gitattributes", oid)]
    text = b"/a.bin filter=lfs diff=lfs merge=lfs -text\n"
    added = (".gitattributes", git_names.blob_id(text))
    assert git_names.committed([("a.bin", oid, True)]) == [("a.bin", oid), added]
