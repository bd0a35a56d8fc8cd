"""Accounts, organisations and roles from a CSV file: all or nothing, and the same twice."""

from __future__ import annotations

import csv
import stat

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command

from registry.models import Event, Membership, Namespace, User
from tests import factories

pytestmark = pytest.mark.django_db
TABLE = """username,email,namespace,role
eve,eve@example.org,lab,writer
ada,,lab,owner
eve,,shop,owner
mallory,,,
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "people.csv"


@pytest.fixture(autouse=True)
def people(admin, ada):
    """An administrator, and ada, who exists already."""


def run(capsys, file, *words):
    call_command("import_people", str(file), *words)
    return capsys.readouterr().out.splitlines()


def state():
    users = User.objects.order_by("pk").values_list("username", "email", "password")
    roles = Membership.objects.order_by("pk").values_list("namespace__slug", "user", "role")
    return list(users), list(roles), Namespace.objects.count(), Event.objects.count()


def refusal(file, text):
    before = state()
    file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
    with pytest.raises(CommandError) as error:
        call_command("import_people", str(file))
    assert state() == before
    first, *lines = str(error.value).splitlines()
    assert first == "Nothing was changed."
    return lines


def test_a_dry_run_prints_what_an_import_then_does(capsys, file):
    file.write_text(TABLE)
    before = state()
    planned = run(capsys, file, "--dry-run")
    assert planned == [
        "create the account eve",
        "create the account mallory",
        "create the organisation lab of ada",
        "create the organisation shop of eve",
        "make eve writer of lab",
        "5 changes would be made",
    ]
    assert state() == before
    assert run(capsys, file) == [*planned[:-1], "5 changes made"]
    assert User.objects.get(username="eve").email == "eve@example.org"
    roles = Membership.objects.filter(namespace__slug="lab").values_list("user__username", "role")
    assert dict(roles) == {"ada": "owner", "eve": "writer"}
    assert Namespace.objects.get(slug="mallory").kind == Namespace.Kind.USER


def test_a_second_run_changes_nothing(capsys, file):
    file.write_text(TABLE)
    run(capsys, file)
    before = state()
    assert run(capsys, file) == ["0 changes made"]
    assert state() == before


def test_roles_and_addresses_follow_the_file(capsys, file):
    file.write_text(TABLE)
    run(capsys, file)
    file.write_text("username,email,namespace,role\neve,e@example.org,lab,owner\nada,,lab,reader\n")
    assert run(capsys, file) == [
        "change the e-mail address of eve",
        "make eve owner instead of writer of lab",
        "make ada reader instead of owner of lab",
        "3 changes made",
    ]


def test_first_passwords_are_written_for_their_owner_alone(capsys, file, tmp_path):
    passwords = tmp_path / "passwords.csv"
    file.write_text(TABLE)
    run(capsys, file, "--dry-run", "--passwords", str(passwords))
    assert not passwords.exists()
    run(capsys, file, "--passwords", str(passwords))
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600
    rows = list(csv.DictReader(passwords.read_text().splitlines()))
    assert [row["username"] for row in rows] == ["eve", "mallory"]
    for row in rows:
        assert authenticate(**row).username == row["username"]


def test_accounts_without_a_password_sign_in_nowhere(capsys, file):
    file.write_text(TABLE)
    run(capsys, file)
    assert not User.objects.get(username="eve").has_usable_password()


def test_every_fault_of_the_file_is_named_with_its_line(file):
    text = (
        "username,email,namespace,role\n"
        "eve,not an address,,\n"
        ",,lab,owner\n"
        "frank,,lab,\n"
        "grace,,lab,king\n"
        "no spaces,,,\n"
        "heidi,h@example.org,lab,reader\n"
        "heidi,i@example.org,lab,writer\n"
        "ivan\n"
    )
    lines = refusal(file, text)
    assert [line.partition(":")[0] for line in lines] == [
        "line 2", "line 3", "line 4", "line 5", "line 6", "line 9", "line 8", "line 8",
    ]  # fmt: skip
    assert lines[0] == "line 2: 'not an address' is no e-mail address"
    assert lines[1] == "line 3: the username is missing"
    assert "choose from reader, writer, maintainer, owner" in lines[3]
    assert "line 7 gives heidi another e-mail address" in lines[6]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("username,town\neve,Oslo\n", "line 1: name the columns"),
        ("", "line 1: name the columns"),
        ("username\ne\0ve\n", "line 2: "),
        (b"username\n\xff\xfe\n", "is not UTF-8"),
        ('username\n"eve\n', "unexpected end of data"),
        ("username,namespace,role\neve,ada,writer\n", "line 2: ada is the namespace of a user."),
        ("username,namespace,role\neve,lab,writer\n", "line 2: lab does not exist."),
        ("username\neve\nmodels\n", "line 3: "),
    ],
)
def test_what_cannot_be_imported_changes_nothing(file, text, words):
    (line,) = refusal(file, text)
    assert words in line


def test_the_last_owner_is_kept_and_nothing_else_is_changed(capsys, file):
    factories.namespace(User.objects.get(username="ada"))
    (line,) = refusal(file, "username,namespace,role\neve,,\nada,lab,reader\n")
    assert line.startswith("line 3: lab would have no owner.")


def test_a_refused_import_leaves_no_passwords(file, tmp_path):
    passwords = tmp_path / "passwords.csv"
    file.write_text("username,namespace,role\neve,lab,writer\n")
    with pytest.raises(CommandError):
        call_command("import_people", str(file), "--passwords", str(passwords))
    assert not passwords.exists()
