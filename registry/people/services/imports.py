"""Accounts, organisations and roles from one table: all of it, or nothing."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from hub.protocol import problems, refs
from registry.core import events
from registry.core.permissions import ROLES, require_admin
from registry.models import Membership, Namespace, User
from registry.people import selectors
from registry.people.services import namespaces, users

COLUMNS = ("username", "email", "namespace", "role")
MOST_LINES = 100_000
MOST_FAULTS = 100


class ImportRefused(Exception):  # noqa: N818 - it says what happened
    """The table cannot be imported; ``faults`` say why, each with its line."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: an account, and perhaps its role in an organisation."""

    line: int
    username: str
    email: str = ""
    namespace: str = ""
    role: str = ""


@dataclass(slots=True)
class _Reading:
    rows: list[Row] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read(lines: Iterable[str]) -> list[Row]:
    """The rows of a CSV file whose first line names columns of ``COLUMNS``; raises ImportRefused.

    Every fault is named, up to ``MOST_FAULTS``; nothing is read from the database.
    """
    reader = csv.DictReader(lines, strict=True)
    reading = _Reading()
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        unknown = [name for name in names if name not in COLUMNS]
        if unknown or "username" not in names or len(set(names)) < len(names):
            raise ImportRefused(
                [f"line 1: name the columns {', '.join(COLUMNS)}, each once; username is needed"]
            )
        reader.fieldnames = names
        for values in reader:
            if len(reading.faults) >= MOST_FAULTS or reader.line_num > MOST_LINES:
                break
            _read_row(reader.line_num, values, reading)
    except csv.Error as error:
        reading.faults.append(f"line {reader.line_num}: {error}")
    except UnicodeDecodeError:
        reading.faults.append(f"line {reader.line_num + 1}: the text is not UTF-8")
    if reader.line_num > MOST_LINES:
        reading.faults.append(f"line {MOST_LINES + 1}: a file has up to {MOST_LINES:,} lines")
    _find_contradictions(reading)
    if reading.faults:
        raise ImportRefused(reading.faults[:MOST_FAULTS])
    return reading.rows


def _read_row(line: int, values: Mapping[str | None, str | list[str] | None], to: _Reading) -> None:
    if None in values or None in values.values():
        to.faults.append(f"line {line}: the number of fields differs from that of the first line")
        return
    texts = {str(name): str(value).strip() for name, value in values.items()}
    if not any(texts.values()):
        return
    row = Row(line, **texts)
    to.rows.append(row)
    to.faults += [f"line {line}: {text}" for text in _faults_of(row)]


def _faults_of(row: Row) -> Iterator[str]:
    for name in filter(None, (row.username, row.namespace)):
        try:
            refs.check_name(name)
            namespaces.check_free_word(name)
        except problems.Problem as problem:
            yield problem.detail
    if not row.username:
        yield "the username is missing"
    if row.email:
        try:
            validate_email(row.email)
        except ValidationError:
            yield f"{row.email!r} is no e-mail address"
    if bool(row.namespace) != bool(row.role):
        yield "namespace and role belong together"
    elif row.role and row.role not in ROLES:
        yield f"{row.role!r} is no role; choose from {', '.join(ROLES)}"


def _find_contradictions(reading: _Reading) -> None:
    """Note lines that give an account two addresses, or two roles in one organisation."""
    emails: dict[str, Row] = {}
    roles: dict[tuple[str, str], Row] = {}
    for row in reading.rows:
        user = row.username.lower()
        if row.email and (first := emails.setdefault(user, row)).email != row.email:
            reading.faults.append(
                f"line {row.line}: line {first.line} gives {row.username} another e-mail address"
            )
        if row.namespace:
            first = roles.setdefault((user, row.namespace.lower()), row)
            if first.role != row.role:
                reading.faults.append(
                    f"line {row.line}: line {first.line} gives {row.username} another role in "
                    f"{row.namespace}"
                )


def new_usernames(rows: Iterable[Row]) -> list[str]:
    """The accounts that do not exist yet, each once, in the order of the rows."""
    names = {row.username: None for row in rows}
    existing = set(User.objects.filter(username__in=names).values_list("username", flat=True))
    return [name for name in names if name not in existing]


@transaction.atomic
def carry_out(
    administrator: User,
    rows: list[Row],
    *,
    passwords: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Create the missing accounts, organisations and roles; returns the changes as texts.

    ``passwords`` are those of new accounts, hashed; others get one by a reset. A ``dry_run`` does
    the same and takes it back. Raises NotAllowed, and ImportRefused; then nothing is changed.
    """
    require_admin(administrator)
    changes: list[str] = []
    faults: list[str] = []
    # Owners first: an organisation begins with one, and none loses its last.
    by_role = sorted(rows, key=lambda row: row.role != Membership.Role.OWNER)
    for work in (_account, _role):
        for row in rows if work is _account else by_role:
            try:
                with transaction.atomic():
                    changes += work(administrator, row, passwords or {})
            except problems.Problem as problem:
                faults.append(f"line {row.line}: {problem.detail}")
        if faults:
            raise ImportRefused(faults[:MOST_FAULTS])
    if dry_run:
        transaction.set_rollback(True)
    return changes


def _account(administrator: User, row: Row, passwords: Mapping[str, str]) -> Iterator[str]:
    user = User.objects.filter(username=row.username).first()
    if user is None:
        user = users.create(username=row.username, email=row.email)
        if row.username in passwords:
            hashed = passwords[row.username]
            User.objects.filter(pk=user.pk).update(password=hashed, must_change_password=True)
        events.record("user.created", user, actor=administrator)
        yield f"create the account {row.username}"
    elif row.email and row.email != user.email:
        user.email = row.email
        user.save(update_fields=["email"])
        events.record("user.edited", user, actor=administrator)
        yield f"change the e-mail address of {row.username}"


def _role(administrator: User, row: Row, _passwords: Mapping[str, str]) -> Iterator[str]:
    if not row.namespace:
        return
    user = User.objects.get(username=row.username)
    space = selectors.by_slug(row.namespace).first()
    if space is None:
        if row.role != Membership.Role.OWNER:
            raise problems.StateConflict(
                f"{row.namespace} does not exist. Name an owner for it in another line."
            )
        namespaces.open_for(user, slug=row.namespace)
        yield f"create the organisation {row.namespace} of {row.username}"
        return
    if space.kind != Namespace.Kind.ORG:
        raise problems.StateConflict(f"{space.slug} is the namespace of a user.")
    role = Membership.objects.filter(namespace=space, user=user).values_list("role", flat=True)
    if (before := role.first()) != row.role:
        namespaces.set_member(administrator, namespace=space, user=user, role=row.role)
        was = f"instead of {before} " if before else ""
        yield f"make {row.username} {row.role} {was}of {space.slug}"
