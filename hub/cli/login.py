"""The command login: a token verified and kept."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from hub.client import api
from hub.terminal import DONE, add_flags, plain


def add_to(commands: Any) -> None:
    login = commands.add_parser(
        "login",
        help="sign in with a token",
        description="Verify a token and save it for this hub in a file that only you can read. The "
        "token comes from HUB_TOKEN, from standard input, or from a prompt.",
    )
    login.add_argument("--url", help="URL of the hub, which becomes the default")
    add_flags(login, "json")
    login.set_defaults(command=_login)


def _login(options: argparse.Namespace) -> int:
    # Never an option: command lines are seen by every user of a machine.
    token = None
    if not os.environ.get("HUB_TOKEN") and not sys.stdin.isatty():
        token = sys.stdin.readline().strip()
    who = api.login(token, options.url)
    if options.json:
        print(json.dumps(who, indent=2))
        return DONE
    print(f"signed in as {plain(str(who['username']))}")
    return DONE
