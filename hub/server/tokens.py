"""`hub token create`: a token for scripts, created by the operator of the machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import timedelta

from hub.protocol import problems
from hub.server import start


def main(argv: Sequence[str]) -> int:
    """Print a new token on standard output, and nothing else, so that scripts can take it."""
    parser = argparse.ArgumentParser(prog="hub token")
    commands = parser.add_subparsers(dest="command", required=True)
    create = commands.add_parser("create", help="create a token and print it")
    create.add_argument("--user", required=True, help="owner of the token")
    create.add_argument(
        "--scope",
        action="append",
        choices=["read", "write", "publish", "admin"],
        help="what the token may do; repeatable (default: read)",
    )
    create.add_argument(
        "--name", default="made on the server", help="name shown in the list of tokens"
    )
    create.add_argument(
        "--namespace", action="append", help="limit the token to this namespace; repeatable"
    )
    create.add_argument(
        "--model", action="append", help="limit the token to this model; repeatable"
    )
    create.add_argument("--days", type=int, default=90, help="days until it expires (default: 90)")
    create.add_argument("--home", help="data folder of the hub (default: $HUB_HOME or ./var)")
    args = parser.parse_args(argv)
    if args.home:
        os.environ["HUB_HOME"] = args.home
    start.set_up()
    return _create(args)


def _create(args: argparse.Namespace) -> int:
    from django.db import DatabaseError  # noqa: PLC0415

    from registry.models import RegisteredModel, User  # noqa: PLC0415
    from registry.people import selectors  # noqa: PLC0415
    from registry.people.services import tokens  # noqa: PLC0415

    try:
        user = problems.expect(
            User.objects.filter(username=args.user).first(),
            problems.NotFound(f"User {args.user} not found on this hub."),
        )
        live = RegisteredModel.objects.filter(deleted_at=None)
        _, secret = tokens.issue(
            user,
            name=args.name,
            scopes=args.scope or ["read"],
            namespaces=[selectors.namespace(slug) for slug in args.namespace or ()],
            models=[tokens.model_of(live, ref) for ref in args.model or ()],
            expires=timedelta(days=args.days),
        )
    except DatabaseError as error:
        print(
            f"hub: this data folder holds no hub yet. Run `hub serve` first. ({error})",
            file=sys.stderr,
        )
        return 1
    except problems.Problem as problem:
        print(f"hub: {problem.detail}", file=sys.stderr)
        return 1
    print(secret)
    return 0
