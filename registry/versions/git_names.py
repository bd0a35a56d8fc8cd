"""Names in git's own form for files, folders and versions, so that every Hub client knows them.

Large and binary model files are named as git-LFS would: by their pointer. Source: gitformat-pack,
git-lfs specification 1.x; the ids are computed by dulwich.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from dulwich.objects import Blob, Commit, ObjectID, Tree

LFS_BYTES = 10_000_000
LFS_BYTES_WEIGHTS = 1_000_000
WEIGHTS = (".onnx", ".onnx_data", ".safetensors", ".bin", ".data", ".pb", ".npz", ".npy")
ATTRIBUTES = ".gitattributes"
_GLOB = frozenset("*?[\\")
_QUOTED = frozenset(' "\\')
FILE_MODE = 0o100644
FOLDER_MODE = 0o040000


@dataclass(frozen=True, slots=True)
class Signature:
    """Who made a commit, and when."""

    name: str
    at: datetime


def is_lfs(path: str, size: int) -> bool:
    """Whether a file is named by its LFS pointer; ``size`` in bytes (Hub protocol, preupload)."""
    return size > LFS_BYTES or (size > LFS_BYTES_WEIGHTS and path.lower().endswith(WEIGHTS))


def pointer(sha256: str, size: int) -> bytes:
    """The git-LFS pointer of a blob."""
    return (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n"
    ).encode()


def blob_id(content: bytes) -> str:
    """The 40-hex id of a file's content."""
    return Blob.from_string(content).id.decode()


def tree_id(files: Iterable[tuple[str, str]]) -> str:
    """The 40-hex id of a folder of ``(path, 40-hex blob id)`` pairs."""
    return _tree(list(files)).id.decode()


def folder_ids(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The 40-hex id of every folder, by its path, in which ``(path, blob id)`` pairs lie."""
    ids: dict[str, str] = {}
    _tree(list(files), "", ids)
    return ids


def tree_objects(files: Iterable[tuple[str, str]]) -> dict[str, Tree]:
    """The folders of ``(path, 40-hex blob id)`` pairs as git has them, by their ids; the root too.

    The root is the last.
    """
    trees: list[Tree] = []
    _tree(list(files), trees=trees)
    return {tree.id.decode(): tree for tree in trees}


def attributes(files: Iterable[tuple[str, str, bool]]) -> bytes:
    """The `.gitattributes` that git sees beside files of ``(path, 40-hex id, is LFS)``.

    It names each LFS object, since a pattern would make small files of that kind look changed.
    Empty where there are none, or where the files have a `.gitattributes` of their own.
    """
    rows = sorted(files)
    if any(path == ATTRIBUTES for path, _, _ in rows):
        return b""
    objects = (path for path, _, lfs in rows if lfs)
    lines = (f"{_pattern(path)} filter=lfs diff=lfs merge=lfs -text\n" for path in objects)
    return "".join(lines).encode()


def committed(files: Iterable[tuple[str, str, bool]]) -> list[tuple[str, str]]:
    """The ``(path, 40-hex id)`` pairs of a commit's tree: the files, and their attributes."""
    rows = list(files)
    text = attributes(rows)
    own = [(path, oid) for path, oid, _ in rows]
    return [*own, (ATTRIBUTES, blob_id(text))] if text else own


def _pattern(path: str) -> str:
    """The pattern of gitattributes(5) that matches one path alone, quoted as C does."""
    escaped = "".join(f"\\{letter}" if letter in _GLOB else letter for letter in path)
    quoted = escaped.replace("\\", "\\\\").replace('"', '\\"')
    return f'"/{quoted}"' if _QUOTED & set(escaped) else f"/{escaped}"


def commit_id(tree: str, parent: str | None, message: str, by: Signature) -> str:
    """The 40-hex id of a commit."""
    return commit_object(tree, parent, message, by).id.decode()


def commit_object(tree: str, parent: str | None, message: str, by: Signature) -> Commit:
    """A commit as git has it."""
    commit = Commit()
    commit.tree = ObjectID(tree.encode())
    commit.parents = [ObjectID(parent.encode())] if parent else []
    who = f"{by.name} <{by.name}@users.noreply.localhost>".encode()
    commit.author = commit.committer = who
    commit.author_time = commit.commit_time = int(by.at.timestamp())
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = b"UTF-8"
    commit.message = message.encode()
    return commit


def _tree(
    files: list[tuple[str, str]],
    above: str = "",
    ids: dict[str, str] | None = None,
    trees: list[Tree] | None = None,
) -> Tree:
    """A folder as git has it; those inside are added to ``ids``, all to ``trees``."""
    tree = Tree()
    folders: dict[str, list[tuple[str, str]]] = {}
    for path, oid in files:
        head, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(head, []).append((rest, oid))
        else:
            tree.add(head.encode(), FILE_MODE, ObjectID(oid.encode()))
    for name, inside in folders.items():
        path = f"{above}{name}"
        folder = _tree(inside, f"{path}/", ids, trees)
        tree.add(name.encode(), FOLDER_MODE, folder.id)
        if ids is not None:
            ids[path] = folder.id.decode()
    if trees is not None:
        trees.append(tree)
    return tree
