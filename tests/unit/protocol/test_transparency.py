"""The tree, heads and proofs of the log, against the vectors and implementations of others."""

from __future__ import annotations

import hashlib

import pymerkle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.protocol.transparency import merkle, notes
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Checkpoint, Note, NoteError, Signer, Verifier
from hub.protocol.transparency.records import Record, RecordKind

# Leaves and roots of the reference tests of Certificate Transparency, used by RFC 6962's authors.
LEAVES = [
    bytes.fromhex(digits)
    for digits in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
# The proof of leaf 5 in the tree of eight, and that this begins with the tree of six.
PATH_5_8 = [
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]
CONSISTENCY_6_8 = [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]
# The example of Go's package note (golang.org/x/mod/sumdb/note), which C2SP specifies.
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
SIGNED = (
    f"{TEXT}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfq"
    "dngotpRZb6KE6RyyBwJnAM=\n"
)


def node_of(leaves):
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    return lambda level, index: merkle.fold(hashes[index << level : (index + 1) << level])


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_certificate_transparency(size):
    assert merkle.root(node_of(LEAVES), size).hex() == ROOTS[size]


def test_proofs_are_those_of_certificate_transparency():
    node = node_of(LEAVES)
    assert [value.hex() for value in merkle.inclusion(node, 5, 8)] == PATH_5_8
    assert [value.hex() for value in merkle.consistency(node, 6, 8)] == CONSISTENCY_6_8


def test_an_independent_implementation_agrees_on_every_tree_up_to_40():
    leaves = [bytes([number]) * 3 for number in range(40)]
    node, theirs = node_of(leaves), pymerkle.InmemoryTree(algorithm="sha256")
    for leaf in leaves:
        theirs.append_entry(leaf)
    for size in range(1, 41):
        root = merkle.root(node, size)
        assert root == theirs.get_root(size)
        for index in range(size):
            path = merkle.inclusion(node, index, size)
            merkle.verify_inclusion(merkle.leaf_hash(leaves[index]), index, size, path, root)
            # Theirs counts from 1, and begins with the leaf.
            assert [hash_.hex() for hash_ in path] == (
                theirs.prove_inclusion(index + 1, size).serialize()["path"][1:]
            )
        for old in range(1, size + 1):
            path = merkle.consistency(node, old, size)
            pymerkle.verify_consistency(
                theirs.get_root(old), root, theirs.prove_consistency(old, size)
            )
            merkle.verify_consistency(old, size, merkle.root(node, old), root, path)


@given(st.data())
def test_what_is_not_in_a_tree_has_no_proof(data):
    leaves = data.draw(st.lists(st.binary(max_size=4), min_size=2, max_size=40))
    node, size = node_of(leaves), len(leaves)
    index = data.draw(st.integers(0, size - 1))
    path, root = merkle.inclusion(node, index, size), merkle.root(node, size)
    with pytest.raises(ProofError):
        merkle.verify_inclusion(merkle.leaf_hash(b"other"), index, size, path, root)
    with pytest.raises(ProofError):
        merkle.verify_inclusion(merkle.leaf_hash(leaves[index]), index, size, path[1:], root)
    old = data.draw(st.integers(1, size - 1))
    forged = [*leaves[: old - 1], b"other", *leaves[old:]]
    path = merkle.consistency(node, old, size)
    with pytest.raises(ProofError):
        merkle.verify_consistency(old, size, merkle.root(node_of(forged), old), root, path)
    with pytest.raises(ProofError):
        merkle.verify_consistency(old, size, merkle.root(node, old), b"\0" * 32, path)


def test_notes_are_those_of_go():
    verifier, signer = Verifier.parse(PUBLIC), Signer.parse(PRIVATE)
    assert (str(verifier), str(signer), signer.verifier) == (PUBLIC, PRIVATE, verifier)
    note = Note.parse(SIGNED)
    assert (note.text, str(note)) == (TEXT, SIGNED)
    note.verify(verifier)
    assert str(Note(TEXT).signed_by(signer)) == SIGNED


@pytest.mark.parametrize(
    "content",
    [
        SIGNED.replace("answer", "reply"), SIGNED.replace("x08go/Z", "x08go/a"),
        SIGNED.replace("PeterNeumann", "Peter"), SIGNED.replace("\n\n", "\n"), "",
        SIGNED[:-1], f"{TEXT}\n", SIGNED.replace("— ", "- "),
    ],
)  # fmt: skip
def test_a_changed_note_is_refused(content):
    with pytest.raises(NoteError):
        Note.parse(content).verify(Verifier.parse(PUBLIC))


def test_a_witness_signs_a_head_with_its_time():
    log = Signer("hub.example.org/log", notes.ED25519, b"a" * 32)
    witness = Signer("witness.example.org", notes.COSIGNATURE, b"b" * 32)
    checkpoint = Checkpoint(log.name, 7, hashlib.sha256(b"root").digest())
    note = Note(str(checkpoint)).signed_by(log).cosigned_by(witness, 1_800_000_000)
    read = Note.parse(str(note))
    assert Checkpoint.parse(read.text) == checkpoint
    assert (read.verify(log.verifier), read.verify(witness.verifier)) == (0, 1_800_000_000)
    later = Note(read.text, (note.signatures[0], notes.Signature(
        witness.name, witness.verifier.hash,
        (1_800_000_001).to_bytes(8, "big") + note.signatures[1].content[8:],
    )))  # fmt: skip
    with pytest.raises(NoteError):
        later.verify(witness.verifier)


@pytest.mark.parametrize("text", ["", "a\n1\n", "a\n01\n" + "A" * 43 + "=\n", "a\n-1\nAA==\n"])
def test_what_is_no_head_is_refused(text):
    with pytest.raises(NoteError):
        Checkpoint.parse(text)


def test_a_record_is_canonical():
    record = Record(RecordKind.YANKED, "2026-11-28T12:00:00+00:00", "zoo/net", 3, reason="wrong")
    assert record.encode() == (
        b'{"at":"2026-11-28T12:00:00+00:00","kind":"version.yanked","model":"zoo/net","number":3,'
        b'"reason":"wrong"}'
    )
    assert Record.decode(record.encode()) == record
    with pytest.raises(ProofError):
        Record.decode(b'{"kind":"version.yanked"}')
