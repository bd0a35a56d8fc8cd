"""Signing from the command line: the options of a key, and the command `sign`."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from pathlib import Path
from typing import Any

from hub.client import api
from hub.client.signing import PKCS11, SigningKey
from hub.terminal import DONE, add_flags, plain


def add_sign(commands: Any) -> None:
    parser = commands.add_parser(
        "sign",
        help="add a publisher's signature to a version",
        description="Sign all files of a published version with your key, or add a bundle that "
        "`model_signing sign` made of the same files.",
    )
    parser.add_argument("ref", help="a version, such as zoo/resnet50@3")
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="path",
        help="your files: nothing is signed if the version has others",
    )
    add_key(parser, "--key")
    parser.add_argument("--bundle", metavar="FILE", help="add this Sigstore bundle instead")
    parser.add_argument(
        "--public-key", metavar="FILE", help="PEM file of the public key that made the bundle"
    )
    add_flags(parser, "json")
    parser.set_defaults(command=_sign)


def add_key(parser: argparse.ArgumentParser, option: str) -> None:
    """Add the options of a private key to sign with."""
    parser.add_argument(
        option,
        metavar="KEY",
        help="private key of the publisher: a PEM file, a PKCS #11 URI (HUB_KEY_PASSWORD is the "
        "password of the file), or keyless, to sign by an identity",
    )
    parser.add_argument(
        "--certificate", type=Path, metavar="FILE", help="PEM file of the key's certificate"
    )
    parser.add_argument(
        "--chain",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="PEM file of a certificate between that one and its authority; may be repeated",
    )


def key_of(options: argparse.Namespace, place: str | None) -> SigningKey | None:
    """The key that the options name, asking for its password where it has one."""
    if place is None:
        return None
    password = os.environ.get("HUB_KEY_PASSWORD") or _password(place)
    return SigningKey(place, options.certificate, tuple(options.chain), password)


def _password(place: str) -> str | None:
    """The password of an encrypted PEM file, typed on a terminal."""
    try:
        is_encrypted = not place.startswith(PKCS11) and "ENCRYPTED" in Path(place).read_text()
    except (OSError, UnicodeDecodeError):
        return None
    if is_encrypted and sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass(f"Password of {place}: ")
    return None


def _sign(options: argparse.Namespace) -> int:
    row = api.sign(
        options.ref,
        *options.paths,
        key=key_of(options, options.key),
        bundle=options.bundle,
        public_key=options.public_key,
    )
    if options.json:
        print(json.dumps(row, indent=2))
        return DONE
    counts = f"it counts as {row['declared_as']}" if row["counts"] else "it does not count yet: "
    if not row["counts"]:
        counts += "an owner of the namespace can declare the signer with `hub signers add`"
    print(plain(f"signed by {row['signed_by']}; {counts}"))
    return DONE
