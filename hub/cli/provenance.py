"""The commands of provenance: verify, witness."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hub.client import api, log_heads, verification
from hub.protocol import problems
from hub.terminal import DONE, PROBLEM, add_flags, plain


def add_verify(commands: Any) -> None:
    parser = commands.add_parser(
        "verify",
        help="verify the history, the records, the attestations and the bytes of a version",
        description="Verify what a hub shows of a version: that its transparency log continues the "
        "head that you had, that it recorded this version, that the results are those that the hub "
        "signed, and that the files have these bytes. The exit code is 1 where something differs.",
        epilog="hub verify zoo/resnet50@3 --save resnet50.json",
    )
    parser.add_argument("ref", nargs="?", help="a version, such as zoo/resnet50@3")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write a bundle for --bundle")
    parser.add_argument(
        "--bundle", type=Path, metavar="FILE", help="verify a saved bundle, without a network"
    )
    parser.add_argument(
        "--cosigned", type=Path, metavar="FILE", help="a head that a witness cosigned"
    )
    parser.add_argument("--witness", metavar="KEY", help="the public key of that witness")
    parser.add_argument("--head", action="store_true", help="print the last head that you have")
    parser.add_argument(
        "--forget", action="store_true", help="accept whatever log the hub has the next time"
    )
    add_flags(parser, "json")
    parser.set_defaults(command=_verify)


def add_witness(commands: Any) -> None:
    parser = commands.add_parser(
        "witness",
        help="cosign the head of a hub's log for others",
        description="Verify that the hub's log continues the head that was cosigned before, and "
        "print its head with your cosignature (C2SP cosignature/v1).",
        epilog="hub witness witness-key > head.txt",
    )
    parser.add_argument("key", type=Path, help="the file of your key; made where there is none")
    parser.add_argument("--public", action="store_true", help="print the public key instead")
    parser.set_defaults(command=_witness)


def _verify(options: argparse.Namespace) -> int:
    hub = api.default_hub()
    if options.forget:
        log_heads.forget(hub.cache, hub.config.url)
        return DONE
    if options.head:
        head = problems.expect(
            log_heads.find(hub.cache, hub.config.url),
            problems.NotCached(f"You have no head of {hub.config.url}."),
        )
        print(plain(head.checkpoint, keep="\n"), end="")
        return DONE
    bundle: dict[str, Any] = {}
    if options.bundle:
        results = verification.verify_bundle(hub, verification.read_bundle(options.bundle))
    elif options.ref:
        results, bundle = verification.verify(hub, options.ref)
    else:
        raise problems.InvalidReference("Name a version, such as zoo/resnet50@3, or a --bundle.")
    if options.cosigned:
        results.append(_cosigned(hub, options))
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        for result in results:
            word = "verified" if result.is_verified else "DIFFERS"
            print(plain(f"{word:8}  {result.subject}: {result.text}"))
    if options.save and bundle:
        options.save.write_text(json.dumps(bundle))
        print(f"Saved to {options.save}.", file=sys.stderr)
    return DONE if all(result.is_verified for result in results) else PROBLEM


def _cosigned(hub: Any, options: argparse.Namespace) -> verification.Result:
    try:
        content = options.cosigned.read_text()
        seconds = verification.verify_cosigned(hub, content, options.witness or "")
    except problems.RecordMismatch as error:
        return verification.Result("witness", False, str(error))
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    text = f"the log continues the head that {options.witness} saw at {at}."
    return verification.Result("witness", True, text)


def _witness(options: argparse.Namespace) -> int:
    hub = api.default_hub()
    if options.public:
        print(verification.witness_key(options.key).verifier)
    else:
        print(verification.witness(hub, options.key), end="")
    return DONE
