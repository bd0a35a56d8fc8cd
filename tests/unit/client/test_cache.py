from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hub.client.cache import Cache, Resolved, hub_key
from hub.protocol import problems

RACE = """
import sys, time
from pathlib import Path
from hub.client.hub import Hub
url, folder, start = sys.argv[1:]
hub = Hub(url, cache=folder)
while time.time() < float(start):
    pass
path = hub.download("zoo/m", progress=False)
print(path)
print(sum(file.stat().st_size for file in path.rglob("*") if file.is_file()))
"""


def answer(**changes):
    return {
        "namespace": "zoo",
        "model": "m",
        "number": 1,
        "state": "published",
        "manifest_sha256": "sha256:" + "a" * 64,
        "variant": {"name": "main", "entry": "model.onnx"},
        "files": [{"path": "model.onnx", "size": 3, "sha256": "sha256:" + "b" * 64, "url": "/x"}],
        "warning": None,
    } | changes


def test_processes_share_a_cache_without_locks(fake, tmp_path):
    files = {f"data/{n}.pb": os.urandom(3000) for n in range(6)}
    files |= {"model.onnx": os.urandom(3_000_000), "model.onnx.data": os.urandom(2_000_000)}
    fake.add("zoo/m", files)
    start = str(time.time() + 1.2)
    arguments = [sys.executable, "-c", textwrap.dedent(RACE), fake.url, str(tmp_path / "c"), start]
    racers = [
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = [racer.communicate(timeout=30) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4, outputs
    assert len({output for output, _ in outputs}) == 1
    folder, size = outputs[0][0].split()
    assert int(size) == sum(map(len, files.values()))
    cache = Cache(tmp_path / "c")
    for path in cache.blobs.iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    assert len(list(cache.blobs.iterdir())) == len(files)
    assert list(cache.partial.iterdir()) == []
    assert sorted(path.name for path in cache.snapshots.glob("zoo/m/*") if path.is_dir()) == [
        Path(folder).name
    ]


def test_blob_of_the_wrong_size_is_not_used(cache):
    content = b"bytes"
    path = cache.put(content, hashlib.sha256(content).hexdigest())
    assert cache.find(path.name, 5) == path
    path.chmod(0o644)
    path.write_bytes(b"byte")
    assert cache.find(path.name, 5) is None
    assert cache.put(content, path.name).read_bytes() == content
    assert cache.find(path.name, 5) == path


def test_put_refuses_other_bytes(cache):
    with pytest.raises(problems.DigestMismatch):
        cache.put(b"bytes", "0" * 64)
    assert not cache.blobs.exists()


def test_answers_are_kept_for_each_hub_and_question(cache):
    cache.keep_answer("http://one", ("zoo/m", "", ""), {"a": 1}, '"tag"')
    kept = cache.read_answer("http://one", ("zoo/m", "", ""))
    assert (kept.content, kept.etag) == ({"a": 1}, '"tag"')
    assert cache.read_answer("http://two", ("zoo/m", "", "")) is None
    assert cache.read_answer("http://one", ("zoo/m", "17", "")) is None


def test_damaged_answer_counts_as_none(cache):
    cache.keep_answer("http://one", ("zoo/m",), {"a": 1}, None)
    next(cache.answers.glob("*/*.json")).write_text("{")
    assert cache.read_answer("http://one", ("zoo/m",)) is None


def test_hubs_have_folders_of_their_own():
    urls = ["http://a", "https://a", "http://a:81", "http://a/prefix", "http://b", "http://../x"]
    assert len({hub_key(url) for url in urls}) == len(urls)
    assert all("/" not in hub_key(url) for url in urls)


def test_cache_marks_itself_for_backup_programs(cache):
    cache.prepare(cache.blobs)
    assert (cache.folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172")


def test_cache_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    with pytest.raises(problems.CacheUnusable, match="HUB_CACHE"):
        cache.prepare(cache.blobs)


@pytest.mark.parametrize(
    "changes",
    [
        {"files": [{"path": "../evil", "size": 1, "sha256": "sha256:" + "b" * 64, "url": "/x"}]},
        {"files": [{"path": "/etc/passwd", "size": 1, "sha256": "sha256:" + "b" * 64, "url": ""}]},
        {"files": [{"path": "a", "size": 1, "sha256": "sha256:../../evil", "url": "/x"}]},
        {"files": [{"path": "a", "size": "big", "sha256": "sha256:" + "b" * 64, "url": "/x"}]},
        {"files": [{"path": "a", "size": -1, "sha256": "sha256:" + "b" * 64, "url": "/x"}]},
        {"files": None},
        {"files": [3]},
        {"namespace": "../.."},
        {"model": "a/b"},
        {"number": None},
        {"number": 0},
        {"manifest_sha256": "md5:abc"},
        {"variant": 3},
    ],
)
def test_hostile_answers_are_refused(changes):
    with pytest.raises(problems.HubError):
        Resolved.from_json(answer(**changes))


@pytest.mark.parametrize("whole", [None, [], "text", 3, {}])
def test_answers_of_another_shape_are_refused(whole):
    with pytest.raises(problems.HubError):
        Resolved.from_json(json.loads(json.dumps(whole)))


def test_answer_is_read():
    found = Resolved.from_json(answer())
    assert (str(found.ref), found.entry, found.is_lasting) == ("zoo/m@1", "model.onnx", True)
    assert not Resolved.from_json(answer(state="draft")).is_lasting
