from __future__ import annotations

import pytest

from hub.protocol import problems, refs
from hub.protocol.refs import Ref

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("resnet50", Ref("resnet50")),
        ("zoo/resnet50", Ref("resnet50")),
        ("ada/resnet50@3", Ref("resnet50", "ada", number=3)),
        ("resnet50@1.4.0", Ref("resnet50", label="1.4.0")),
        ("resnet50@stable:int8", Ref("resnet50", label="stable", variant="int8")),
        ("resnet50:int8", Ref("resnet50", variant="int8")),
        (f"resnet50@sha256:{HEX}", Ref("resnet50", digest=HEX)),
        (f"resnet50@sha256:{HEX}:int8", Ref("resnet50", digest=HEX, variant="int8")),
        ("a/b@feature/x", Ref("b", "a", label="feature/x")),
        (f"a/b@{'a' * 40}", Ref("b", "a", label="a" * 40)),
    ],
)
def test_grammar(text, ref):
    assert refs.parse(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "a@",
        "a@0",
        "a@01",
        "a@-1",
        "a@99999999999",
        "a@٣",
        "a:",
        "a:INT8",
        "a:b:c",
        "a@1:",
        f"a@{refs.MAX_NUMBER + 1}",
        "a@1@2",
        "a b",
        "a\n",
        "../a",
        "a..b",
        "a--b",
        "a.git",
        "-a",
        "a-",
        "a" * 97,
        "a" * 600,
        "a@sha256:",
        "a@sha256:abc",
        f"a@sha256:{HEX.upper()}",
        "a@sha256",
        "a@x..y",
        "a@x//y",
        "a@x.lock",
        "é",
    ],
)
def test_what_is_no_reference_says_the_grammar(text):
    with pytest.raises(problems.InvalidReference, match=r"\[namespace/\]model|zoo/resnet50@3"):
        refs.parse(text)


def test_format_always_names_the_namespace():
    assert refs.format(refs.parse("resnet50@3:int8")) == "zoo/resnet50@3:int8"
    assert str(Ref("m", digest=HEX)) == f"zoo/m@sha256:{HEX}"


def test_pins():
    assert [refs.parse(text).is_pinned for text in ("m", "m@stable", "m@1", f"m@sha256:{HEX}")] == [
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    "path", ["model.onnx", "a/b/c.pb", ".gitattributes", "ä ö.onnx", "a" * 255]
)
def test_paths(path):
    assert refs.check_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "./a",
        "a\\b",
        "a\0b",
        "a\nb",
        "a\tb",
        "a\x7f",
        "a\x85",
        "a\u2028b",
        "a\u202eb",
        "a\ud800",
        ".git/config",
        "a/.GIT/b",
        "a" * 256,
        "/".join(["abcdefg"] * 65),
        "é" * 128,
    ],
)
def test_paths_that_no_version_may_hold(path):
    with pytest.raises(problems.PathInvalid, match="relative path"):
        refs.check_path(path)


def test_labels():
    for label in ("1.4.0", "stable", "feature/x", "v1+cpu"):
        assert refs.check_label(label) == label
    for label in ("12", "sha256", "", "a b", "-a", "a/", "x.lock", "x.lock/y"):
        with pytest.raises(problems.InvalidName):
            refs.check_label(label)


def test_names_and_variants():
    assert refs.check_name("ResNet-50.v1_5") == "ResNet-50.v1_5"
    assert refs.check_variant("int8-dynamic") == "int8-dynamic"
    for name in ("", "a--b", "a..b", "x.git", "x.GIT", "a/b", "_a", "a" * 97):
        with pytest.raises(problems.InvalidName):
            refs.check_name(name)
    for name in ("", "INT8", "-a", "a" * 64):
        with pytest.raises(problems.InvalidName):
            refs.check_variant(name)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("con.txt", "reserved name 'con'"),
        ("data/NUL", "reserved name 'nul'"),
        ("com1.tar.gz", "reserved name 'com1'"),
        ("lpt9/model.onnx", "reserved name 'lpt9'"),
        ("model.onnx.", "ends in a dot"),
        ("folder /model.onnx", "ends in a dot or a space"),
        ("a:b.onnx", "character ':'"),
        ("what?.onnx", "character"),
    ],
)
def test_paths_that_windows_cannot_hold(path, reason):
    with pytest.raises(problems.PathInvalid, match=reason):
        refs.check_portable([path])
    refs.check_portable([path], new=())


@pytest.mark.parametrize(
    "pair",
    [
        ("Model.onnx", "model.onnx"),
        ("caf\u00e9.onnx", "cafe\u0301.onnx"),
        ("Data/a.bin", "data/b.bin"),
        ("stra\u00dfe.bin", "STRASSE.bin"),
    ],
)
def test_pairs_that_windows_and_macos_take_for_one(pair):
    for new in (None, pair[:1], pair[1:]):
        with pytest.raises(problems.PathInvalid, match="differ only in case"):
            refs.check_portable(pair, new)
    refs.check_portable(pair, new=["other.onnx"])


@pytest.mark.parametrize(
    "path", ["console.txt", "com10.txt", "auxiliary/a", ".gitattributes", "a b.onnx", "nulls"]
)
def test_paths_that_every_system_holds(path):
    refs.check_portable([path, "model.onnx", "other/model.onnx"])


@pytest.mark.parametrize("name", ["refs/heads/dev", "Refs/tags/v1"])
def test_full_names_of_git_are_no_names_of_branches(name):
    with pytest.raises(problems.InvalidName, match="begins with 'refs/'"):
        refs.check_label(name)


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("3", 3),
        ("v3", 3),
        ("@3", 3),
        ("@v3", 3),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("0", None),
        ("03", None),
        ("v03", None),
        ("V3", None),
        ("v3.0", None),
        ("vv3", None),
        ("3v", None),
        ("", None),
        ("٣", None),
    ],
)
def test_numbers_of_versions(word, number):
    assert refs.version_number(word) == number


def test_a_number_with_a_v_is_a_number():
    assert refs.parse("lab/tiny@v3:int8") == refs.parse("lab/tiny@3:int8")
    assert refs.parse("lab/tiny@v3.0").label == "v3.0"
