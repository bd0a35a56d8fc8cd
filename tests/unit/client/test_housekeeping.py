from __future__ import annotations

import json
import os

import pytest

from hub.client import housekeeping
from hub.client.partial_downloads import Partial
from hub.protocol import problems
from tests.unit.client.conftest import make_model


def age(path):
    os.utime(path, (0, 0))


@pytest.fixture
def filled(fake, client, cache):
    """A cache with two versions, each a blob and a folder."""
    fake.add("zoo/ones", make_model(rows=3))
    fake.add("zoo/ones", make_model(rows=4))
    client.download("ones@1")
    client.download("ones@2")
    return cache


def blobs(cache):
    return {path.name for path in cache.blobs.iterdir()}


def test_holdings(filled):
    held = housekeeping.holdings(filled)
    assert [holding.ref for holding in held] == ["zoo/ones@1", "zoo/ones@2"]
    assert all(holding.bytes_held == holding.bytes_total > 0 for holding in held)


def test_clean_keeps_what_is_used(filled):
    before = blobs(filled)
    assert housekeeping.prune(filled) == housekeeping.Freed(0, 0)
    assert blobs(filled) == before


def test_clean_removes_left_overs(filled):
    before = blobs(filled)
    for path in (filled.blobs / ("f" * 64), filled.partial / "abc.tmp-1"):
        path.write_bytes(b"left")
        age(path)
    (filled.blobs / ("e" * 64)).write_bytes(b"young")
    cut = Partial.open(filled, "a" * 64, 1000)
    cut.write_journal([(0, 10)])
    cut.close()
    busy = Partial.open(filled, "b" * 64, 1000)
    freed = housekeeping.prune(filled)
    assert (freed.files, freed.bytes) == (3, 8 + 1000 + 4096)
    assert blobs(filled) == before | {"e" * 64}
    assert busy.path.exists()
    busy.discard()


def test_clean_forgets_what_was_not_used_for_long(fake, client, filled):
    for path in filled.answers.glob("*/*.json"):
        if json.loads(path.read_text())["answer"]["number"] == 1:
            age(path)
    for path in filled.snapshots.glob("zoo/ones/1-*"):
        age(path)
    for path in filled.blobs.iterdir():
        age(path)
    housekeeping.prune(filled, unused_days=30)
    assert [holding.ref for holding in housekeeping.holdings(filled)] == ["zoo/ones@2"]
    assert len(blobs(filled)) == 1
    assert client.load("ones@1").graph.name == "ones"


def test_clean_everything(filled):
    housekeeping.prune(filled, everything=True)
    assert housekeeping.holdings(filled) == []
    assert [path.name for path in filled.folder.rglob("*") if path.is_file()] == ["CACHEDIR.TAG"]


def test_verify_finds_and_removes_damage(fake, client, filled):
    folder = client.download("ones@1")
    victim = next(path for path in sorted(filled.blobs.iterdir()))
    victim.chmod(0o644)
    content = bytearray(victim.read_bytes())
    content[-1] ^= 1
    victim.write_bytes(content)
    (folder / "model.onnx").chmod(0o644)
    (folder / "model.onnx").write_bytes(b"x" * (folder / "model.onnx").stat().st_size)
    wrong = {path for path, is_right in housekeeping.verify(filled) if not is_right}
    assert victim in wrong
    assert folder / "model.onnx" in wrong
    assert not folder.exists()
    assert all(is_right for _, is_right in housekeeping.verify(filled))
    assert client.download("ones@1") == folder
    assert client.load("ones@1").graph.name == "ones"


def test_a_damaged_blob_is_set_aside(filled):
    victim = next(iter(sorted(filled.blobs.iterdir())))
    victim.chmod(0o644)
    victim.write_bytes(b"x")
    list(housekeeping.verify(filled))
    assert (filled.damaged / victim.name).read_bytes() == b"x"
    age(filled.damaged / victim.name)
    housekeeping.prune(filled)
    assert not list(filled.damaged.iterdir())


def held(cache):
    return [holding.ref for holding in housekeeping.holdings(cache)]


@pytest.mark.parametrize("how", [{"everything": True}, {"unused_days": 0}, {"most_bytes": 0}])
def test_pinned_versions_are_never_pruned(filled, client, how):
    housekeeping.pin(filled, "zoo/ones@1")
    assert [one.is_pinned for one in housekeeping.holdings(filled)] == [True, False]
    housekeeping.prune(filled, **how)
    assert held(filled) == ["zoo/ones@1"]
    assert client.load("ones@1").graph.name == "ones"
    assert housekeeping.unpin(filled, "zoo/ones@1")
    assert not housekeeping.unpin(filled, "zoo/ones@1")
    housekeeping.prune(filled, **how)
    assert held(filled) == []


def test_pruning_to_a_size_takes_the_least_recently_used(filled):
    first, second = housekeeping.holdings(filled)
    for path in filled.answers.glob("*/*.json"):
        if json.loads(path.read_text())["answer"]["number"] == 1:
            age(path)
    housekeeping.prune(filled, most_bytes=first.bytes_total + second.bytes_total)
    assert held(filled) == ["zoo/ones@1", "zoo/ones@2"]
    housekeeping.prune(filled, most_bytes=first.bytes_total + second.bytes_total - 1)
    assert held(filled) == ["zoo/ones@2"]


@pytest.mark.parametrize(
    ("ref", "error"),
    [
        ("zoo/ones", problems.InvalidReference),
        ("zoo/ones@stable", problems.InvalidReference),
        ("zoo/ones@1:int8", problems.InvalidReference),
        ("zoo/ones@9", problems.NotCached),
    ],
)
def test_what_cannot_be_pinned(filled, ref, error):
    with pytest.raises(error):
        housekeeping.pin(filled, ref)
    assert housekeeping.pinned(filled) == set()


def test_empty_cache(cache):
    assert housekeeping.holdings(cache) == []
    assert housekeeping.size(cache) == 0
    assert housekeeping.prune(cache, unused_days=1) == housekeeping.Freed(0, 0)
    assert list(housekeeping.verify(cache)) == []


def test_strange_answers_are_passed_over(filled):
    folder = next(filled.answers.iterdir())
    (folder / "a.json").write_text("[]")
    (folder / "b.json").write_text('{"answer": {}}')
    assert len(housekeeping.holdings(filled)) == 2
