"""What must hold for every reference, path, digest and manifest, also those nobody thought of."""

from __future__ import annotations

import hashlib
import io

from hypothesis import given
from hypothesis import strategies as st

from hub.client.cache import Resolved
from hub.protocol import digests, manifests, problems, refs
from hub.protocol.refs import Ref

EDGE = "abcXYZ019"
NAMES = st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda name: not refs._name_fault(name)
)
LABELS = st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9._+/-]{0,40}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda label: not refs._label_fault(label) and not label.isdigit()
)
VARIANTS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,62}", fullmatch=True)
HEX = st.binary(min_size=32, max_size=32).map(bytes.hex)
PATHS = (
    st.lists(
        st.text(
            st.characters(
                exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"], exclude_characters="/\\"
            )
        )
        .filter(lambda part: part not in {"", ".", ".."} and part.lower() != ".git")
        .map(lambda part: part[:20]),
        min_size=1,
        max_size=4,
    )
    .map("/".join)
    .filter(lambda path: not refs._path_fault(path))
)


@st.composite
def any_ref(draw):
    selector = draw(
        st.one_of(
            st.just({}),
            st.integers(1, refs.MAX_NUMBER).map(lambda number: {"number": number}),
            LABELS.map(lambda label: {"label": label}),
            HEX.map(lambda digest: {"digest": digest}),
        )
    )
    variant = draw(st.none() | VARIANTS)
    return Ref(draw(NAMES), draw(NAMES), variant=variant, **selector)


@given(any_ref())
def test_parse_undoes_format(ref):
    assert refs.parse(refs.format(ref)) == ref


@given(st.text() | st.text(alphabet="ab1@:/.-sha256 \n\0"))
def test_any_text_is_a_reference_or_refused_as_one(text):
    try:
        ref = refs.parse(text)
    except problems.InvalidReference:
        return
    assert refs.parse(refs.format(ref)) == ref
    refs.check_name(ref.namespace)
    refs.check_name(ref.model)


@given(st.text() | st.text(alphabet="a./\\\0 "))
def test_accepted_paths_stay_in_their_folder(text):
    try:
        path = refs.check_path(text)
    except problems.PathInvalid:
        return
    parts = path.split("/")
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(parts)
    assert "\n" not in path
    assert "\t" not in path


@given(st.text())
def test_any_text_is_a_digest_or_refused(text):
    try:
        found = digests.parse(text)
    except problems.InvalidRequest:
        return
    assert digests.format(found) == text


@given(HEX)
def test_digest_round_trip(hex_digits):
    assert digests.parse(digests.format(hex_digits)) == hex_digits


@given(st.binary(max_size=5000))
def test_copying_keeps_every_byte(content):
    writer = io.BytesIO()
    found, size = digests.copy_and_hash(io.BytesIO(content), writer)
    assert (writer.getvalue(), size) == (content, len(content))
    assert found == hashlib.sha256(content).hexdigest()


@given(st.dictionaries(PATHS, st.tuples(HEX, st.integers(0, 2**40)), max_size=6), st.randoms())
def test_manifest_does_not_depend_on_order_and_tells_every_change(files, random):
    entries = [(path, sha256, size) for path, (sha256, size) in files.items()]
    before = manifests.digest(entries)
    random.shuffle(entries)
    assert manifests.digest(iter(entries)) == before
    if entries:
        path, sha256, size = entries[0]
        assert manifests.digest([(path, sha256, size + 1), *entries[1:]]) != before
        assert manifests.digest(entries[1:]) != before
    lines = manifests.lines(entries).splitlines()
    assert len(lines) == len(entries)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(JSON, st.integers(400, 599))
def test_any_document_becomes_a_problem(document, status):
    problem = problems.Problem.from_json(document, status)
    assert problem.status == status
    assert str(problem)


@given(JSON | st.dictionaries(st.sampled_from(["files", "number", "model", "namespace"]), JSON))
def test_any_answer_is_read_or_refused(answer):
    try:
        Resolved.from_json(answer)
    except problems.HubError:
        return
