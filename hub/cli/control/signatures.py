"""The commands of signatures: signatures, signers."""

from __future__ import annotations

from hub.cli.control.verbs import Noun, Verb

SIGNATURES = Verb(
    "signatures",
    "signatures.list",
    "list the signatures of a version, and whether its namespace declares their signers",
    ("hub signatures zoo/resnet50@3",),
    columns=("signed_by", "declared_as", "created_at=added", "created_by=by"),
)

SIGNERS = Noun(
    "signers",
    "list, declare and remove the signers whose signatures count in a namespace",
    (
        Verb(
            "list",
            "signers.list",
            "list the signers of a namespace; for members",
            ("hub signers list acme",),
            columns=("id", "title", "sentence=signer"),
            names={"slug": "namespace"},
        ),
        Verb(
            "add",
            "signers.add",
            "declare a signer: a key, a name that authorities certify, or an identity; for owners",
            (
                "hub signers add acme --title 'Release key' --public-key @key.pub",
                "hub signers add acme --title Ada --authorities @ca.pem --name ada@acme.example",
                "hub signers add acme --title Ada --name ada@acme.example --identity-issuer URL",
            ),
            names={"slug": "namespace"},
            texts={
                "title": "what the key or name is, for readers",
                "public_key": "public key as PEM; @ and the name of a file reads it",
                "authorities": "certificate authorities as PEM; @ and the name of a file reads it",
            },
        ),
        Verb(
            "remove",
            "signers.remove",
            "remove a signer: its signatures stay and do not count any more; for owners",
            ("hub signers remove acme 4 --yes",),
            question="Remove the signer {signer_id} of {slug}? Its signatures do not count any "
            "more.",
            message="Removed the signer {signer_id} of {slug}",
            names={"slug": "namespace", "signer_id": "id"},
            texts={"signer_id": "id of the signer; see hub signers list"},
        ),
    ),
)
