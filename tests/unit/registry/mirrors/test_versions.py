"""What a mirror may take from storage, and what its source must send."""

from __future__ import annotations

import pytest

from registry.mirrors.services import versions
from tests import factories, samples

pytestmark = pytest.mark.django_db


def sha256_of(version, path="model.onnx"):
    return version.files.get(path=path).blob_id


def test_a_digest_alone_brings_no_private_file(ada, bob):
    """A hostile source that names the digest of a private file must send its bytes."""
    admin = factories.admin()
    target = factories.model(ada)
    private = factories.version(
        bob, factories.model(bob, "hidden", visibility="private"),
        {"model.onnx": samples.unlike_others(samples.mlp())},
    )  # fmt: skip
    own = factories.version(
        ada, factories.model(ada, "secret", visibility="private"),
        {"model.onnx": samples.unlike_others(samples.mlp())},
    )  # fmt: skip
    for actor in (ada, admin):
        wanted = {sha256_of(private), sha256_of(own)}
        assert versions.missing(actor, target, wanted) == wanted
    assert versions.missing(admin, target, wanted, by_hand=True) == wanted


def test_public_files_and_those_of_the_model_are_not_fetched_again(ada, bob):
    target = factories.model(ada)
    draft = factories.draft(ada, target, {"model.onnx": samples.unlike_others(samples.mlp())})
    public = factories.version(
        bob, factories.model(bob, "open"), {"model.onnx": samples.unlike_others(samples.mlp())}
    )
    present = {sha256_of(draft), sha256_of(public)}
    assert versions.missing(ada, target, present | {"0" * 64}) == {"0" * 64}
