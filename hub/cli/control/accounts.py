"""The commands of accounts: whoami, namespaces, members, tokens, users."""

from __future__ import annotations

import argparse
import sys
from getpass import getpass
from typing import TYPE_CHECKING

from hub.cli.control import output
from hub.cli.control.verbs import Noun, Task, Verb
from hub.client import api
from hub.protocol import problems
from hub.terminal import DONE, plain

if TYPE_CHECKING:
    from hub.client.rest.users import Whoami


def _show_account(account: Whoami) -> None:
    print(f"user    {plain(account.username)}\nscopes  {', '.join(account.scopes) or 'none'}\n")
    output.table(account.namespaces, ("slug=namespace", "role"), "no namespaces")


WHOAMI = Verb(
    "whoami",
    "users.whoami",
    "show the user and the scopes of your token",
    ("hub whoami", "hub whoami --json"),
    show=_show_account,
)

_TOKEN_COLUMNS = (
    "id",
    "name",
    "prefix=begins",
    "scopes",
    "namespaces",
    "models",
    "expires_at=expires",
    "last_used_at=used",
)


def _find_token(options: argparse.Namespace) -> int:
    # Never an option: command lines are seen by every user of a machine.
    is_typed = sys.stdin.isatty()
    secret = (getpass("Token (hf_...): ") if is_typed else sys.stdin.readline()).strip()
    rows = [row for row in api.default_hub().tokens.list() if secret.startswith(row.prefix)]
    if not rows:
        raise problems.NotFound(
            "None of your tokens begins like this one. It was revoked, or belongs to another "
            "account or hub."
        )
    if options.json:
        output.as_json(rows)
    else:
        output.table(rows, _TOKEN_COLUMNS, "")
    return DONE


NAMESPACES = Noun(
    "namespaces",
    "list, create and edit namespaces",
    (
        Verb(
            "list",
            "namespaces.list",
            "list the namespaces that you belong to",
            ("hub namespaces list",),
            columns=("slug=name", "role"),
        ),
        Verb(
            "show",
            "namespaces.read",
            "show the members' view of a namespace: name, storage and quota",
            ("hub namespaces show acme",),
            names={"slug": "namespace"},
        ),
        Verb(
            "create",
            "namespaces.create",
            "create an organisation that you own",
            ("hub namespaces create acme --display-name 'Acme Ltd'",),
            positional=("slug",),
            names={"slug": "namespace"},
        ),
        Verb(
            "edit",
            "namespaces.edit",
            "change the name, deletions by tokens, or, as an administrator, the quota",
            (
                "hub namespaces edit acme --display-name Acme",
                "hub namespaces edit acme --no-allows-token-deletion",
                "hub namespaces edit acme --quota-bytes 50000000000",
            ),
            names={"slug": "namespace"},
            texts={
                "allows_token_deletion": "whether tokens without the scope admin may delete and "
                "move models",
            },
        ),
    ),
)

MEMBERS = Noun(
    "members",
    "list, add and remove the members of a namespace",
    (
        Verb(
            "list",
            "members.list",
            "list the members of a namespace",
            ("hub members list acme",),
            columns=("username=user", "role"),
            names={"slug": "namespace"},
        ),
        Verb(
            "set",
            "members.set",
            "add a member or change their role; for owners",
            ("hub members set acme ada --role writer",),
            names={"slug": "namespace", "username": "user"},
        ),
        Verb(
            "remove",
            "members.remove",
            "remove a member; for owners",
            ("hub members remove acme ada --yes",),
            question="Remove {username} from {slug}? They lose access to its private models.",
            message="Removed {username} from {slug}",
            names={"slug": "namespace", "username": "user"},
        ),
    ),
)

TOKEN = Noun(
    "token",
    "list, find, create and revoke tokens; on the hub's machine, create also without a running hub",
    (
        Verb(
            "list",
            "tokens.list",
            "list your tokens, without their secrets; asks the hub",
            ("hub token list",),
            columns=_TOKEN_COLUMNS,
        ),
        Task(
            "find",
            "find which of your tokens a text is, such as one that leaked. It comes from standard "
            "input or a prompt, and is compared here: no hub receives it",
            ("hub token find",),
            arguments=lambda _: None,
            run=_find_token,
        ),
        Verb(
            "create",
            "tokens.create",
            "create a token and print it, only once; asks the hub. On the hub's machine, with "
            "--user NAME, it needs neither a running hub nor a token",
            (
                "hub token create laptop --scope read --scope write",
                "hub token create ci --scope publish --model acme/resnet50 --expires-days 30",
                "hub token create nightly --scope write --namespace acme --namespace zoo",
            ),
            positional=("name",),
            fixed={"namespace": None},
            names={"scopes": "scope", "namespaces": "namespace", "models": "model"},
            texts={
                "scopes": "permission of the token: read, write, publish or admin; repeatable",
                "name": "name shown in the list of tokens",
                "namespaces": "limit the token to this namespace; repeatable",
                "models": "limit the token to this model; repeatable",
            },
            show=lambda token: print(token.token),
        ),
        Verb(
            "revoke",
            "tokens.revoke",
            "revoke a token immediately; asks the hub",
            ("hub token revoke 3 --yes",),
            names={"token_id": "id"},
            question="Revoke token {token_id}? Programs that use it lose access. This cannot be "
            "undone.",
            message="Revoked token {token_id}",
        ),
    ),
)

SESSION_COLUMNS = ("id", "device", "address", "created_at=begun", "last_seen_at=used")

SESSIONS = Noun(
    "sessions",
    "list and end your sessions in browsers",
    (
        Verb(
            "list",
            "sessions.list",
            "list your sessions, last used first",
            ("hub sessions list",),
            columns=SESSION_COLUMNS,
        ),
        Verb(
            "end",
            "sessions.delete",
            "end a session immediately",
            ("hub sessions end 3 --yes",),
            names={"session_id": "id"},
            question="End session {session_id}? The browser has to sign in again.",
            message="Ended session {session_id}",
        ),
        Verb(
            "end-all",
            "sessions.delete_others",
            "end all your sessions immediately; tokens stay",
            ("hub sessions end-all --yes",),
            question="End all your sessions? The browsers have to sign in again.",
            message="Ended all sessions",
        ),
    ),
)

USERS = Noun(
    "users",
    "list, create and close accounts; for administrators",
    (
        Verb(
            "list",
            "users.list",
            "list accounts, newest first; for administrators",
            ("hub users list --limit 100",),
            columns=(
                "username=user",
                "is_active=active",
                "is_admin=administrator",
                "created_at=created",
            ),
        ),
        Verb(
            "create",
            "users.create",
            "create an account and print its first password",
            ("hub users create ada --email ada@example.org",),
            positional=("username",),
            names={"username": "user"},
        ),
        Verb(
            "edit",
            "users.edit",
            "open or close an account; its published models remain",
            (
                "hub users edit ada --no-active",
                "hub users edit ada --no-active --heir bob",
                "hub users edit ada --no-active --end-dependents",
            ),
            names={
                "username": "user",
                "is_active": "active",
                "ends_dependents": "end-dependents",
            },
        ),
        Verb(
            "dependents",
            "users.dependents",
            "list what acts for an account: tokens, mirrors, trainings",
            ("hub users dependents ada",),
            columns=("kind", "name", "namespace", "is_transferable=transferable"),
            names={"username": "user"},
        ),
        Verb(
            "erase",
            "users.erase",
            "replace the name and address of an account by a pseudonym, and close it",
            ("hub users erase ada --yes",),
            names={"username": "user"},
            question="Erase the account {username}? Published versions, comments and events stay "
            "under a pseudonym. This cannot be undone.",
            message="Erased {username}",
        ),
        Verb(
            "sessions",
            "users.sessions",
            "list the sessions of an account, last used first",
            ("hub users sessions ada",),
            columns=SESSION_COLUMNS,
            names={"username": "user"},
        ),
        Verb(
            "end-session",
            "users.end_session",
            "end a session of an account immediately",
            ("hub users end-session ada 3 --yes",),
            names={"username": "user", "session_id": "id"},
            question="End session {session_id} of {username}? The browser has to sign in again.",
            message="Ended session {session_id} of {username}",
        ),
        Verb(
            "end-sessions",
            "users.end_sessions",
            "end all sessions of an account; its tokens stay",
            ("hub users end-sessions ada --yes",),
            names={"username": "user"},
            question="End all sessions of {username}? Their browsers have to sign in again.",
            message="Ended all sessions of {username}",
        ),
        Verb(
            "reset-password",
            "users.password",
            "set a new password and print it",
            ("hub users reset-password ada --yes",),
            names={"username": "user"},
            question="Reset the password of {username}? All their sessions end and their tokens "
            "are revoked.",
        ),
    ),
)
