"""Commands against a real hub over HTTP: what they do, what they refuse, and how they exit."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from hub.cli import command
from hub.cli.control import events, queue
from hub.client import sessions
from hub.client.hub import Hub
from hub.protocol import problems
from registry.core import outbox
from registry.core.events import record
from registry.models import RegisteredModel
from runners.models import Job
from runners.queue import services
from tests import factories, samples

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


class Handler(BaseHTTPRequestHandler):
    """Hands requests to the hub; its thread uses the connection, and so the rows, of the test."""

    database = None

    def answer(self):
        connections[self.database.alias] = self.database
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = Client(raise_request_exception=False).generic(
            self.command,
            self.path,
            body,
            content_type=self.headers.get("Content-Type") or "",
            headers={
                name: value
                for name, value in self.headers.items()
                if name not in {"Host", "Content-Length", "Content-Type", "Accept-Encoding"}
            },
        )
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name != "Content-Length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def address(db):
    """A server of the hub on loopback that sees the rows of the test."""
    connection.inc_thread_sharing()
    handler = type("TestHandler", (Handler,), {"database": connections[connection.alias]})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()
    connection.dec_thread_sharing()


@pytest.fixture
def ada():
    return factories.user("ada")


@pytest.fixture
def run(address, settings, monkeypatch, tmp_path, capsys, ada):
    """Run a command as somebody, by default ada: code, output, errors."""
    settings.HUB_PUBLIC_URL = address
    monkeypatch.setenv("HUB_URL", address)
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HUB_RETRY_SECONDS", "0")
    tokens = {"ada": factories.token(ada), "": ""}

    def call(*arguments, who="ada"):
        if who not in tokens:
            tokens[who] = factories.token(factories.somebody(who))
        monkeypatch.setenv("HUB_TOKEN", tokens[who])
        capsys.readouterr()
        code = command.main(arguments)
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


def test_accounts(run):
    assert run("whoami")[1].splitlines()[:2] == ["user    ada", "scopes  admin"]
    code, secret, _ = run("token", "create", "ci", "--scope", "read", "--expires-days", "3")
    assert code == 0
    assert secret.startswith("hf_")
    tokens = json.loads(run("token", "list", "--json")[1])
    token = next(one for one in tokens if one["name"] == "ci")
    assert token["scopes"] == ["read"]
    assert run("token", "revoke", str(token["id"]))[0] == 2
    assert run("token", "revoke", str(token["id"]), "--yes")[0] == 0
    assert "ci" not in run("token", "list")[1]
    assert run("namespaces", "create", "acme", "--display-name", "Acme Ltd")[0] == 0
    factories.user("bob")
    assert run("members", "set", "acme", "bob", "--role", "writer")[0] == 0
    assert run("members", "list", "acme")[1].splitlines()[1].split() == ["ada", "owner"]
    assert run("members", "remove", "acme", "bob", "--yes") == (0, "Removed bob from acme\n", "")
    assert run("namespaces", "show", "acme", who="bob")[0] == 3
    assert run("users", "list")[0] == 4  # for administrators


def test_limited_tokens_and_service_accounts(run, ada):
    assert run("namespaces", "create", "acme")[0] == 0
    factories.model(ada, "net", slug="acme", visibility="private")
    limits = ("--model", "acme/net", "--namespace", "ada")
    assert run("token", "create", "ci", "--scope", "write", *limits)[0] == 0
    token = next(
        one for one in json.loads(run("token", "list", "--json")[1]) if one["name"] == "ci"
    )
    assert (token["namespaces"], token["models"]) == (["ada"], ["acme/net"])
    noun = ("service-accounts",)
    assert run(*noun, "create", "acme", "ci", "--role", "writer")[0] == 0
    code, secret, _ = run(*noun, "create-token", "acme", "ci", "night", "--scope", "write")
    assert (code, secret[:3]) == (0, "hf_")
    assert "acme+ci" in run(*noun, "list", "acme")[1]
    assert run(*noun, "edit", "acme", "ci", "--role", "reader")[0] == 0
    [row] = json.loads(run(*noun, "tokens", "acme", "ci", "--json")[1])
    assert row["name"] == "night"
    assert run(*noun, "revoke-token", "acme", "ci", str(row["id"]), "--yes")[0] == 0
    assert run(*noun, "close", "acme", "acme+ci", "--yes")[0] == 0
    assert run(*noun, "list", "acme", who="bob")[0] == 3


@pytest.mark.capability("publishers")
def test_publishers(run):
    assert run("namespaces", "create", "acme")[0] == 0
    where = ("--issuer", "https://gitlab.com", "--repository", "acme/zoo", "--workflow", "ci.yml")
    assert run("publishers", "create", "acme", *where)[0] == 0
    [row] = json.loads(run("publishers", "list", "acme", "--json")[1])
    assert (row["provider"], row["account"]) == ("gitlab", "acme+publisher")
    assert run("publishers", "exchange", "no.such.token")[0] == 4
    assert run("publishers", "delete", "acme", str(row["id"]), "--yes")[0] == 0
    assert json.loads(run("publishers", "list", "acme", "--json")[1]) == []


def test_one_form_of_references(run, ada):
    """The table of docs/decisions."""
    assert run("create", "ada/net")[::2] == (0, "")
    factories.version(ada, RegisteredModel.objects.get(name="net"))
    assert run("alias", "set", "ada/net@1", "a")[::2] == (0, "")
    assert run("alias", "set", "ada/net@a", "c")[::2] == (0, "")
    assert run("tag", "set", "ada/net@1", "1.0")[::2] == (0, "")
    refs = {
        row["name"]: row["number"]
        for row in json.loads(run("alias", "list", "ada/net", "--json")[1])
    }
    assert refs == {"a": 1, "c": 1}
    code, _, errors = run("alias", "set", "ada/net", "d")
    assert (code, "Name the version, such as ada/net@3" in errors) == (1, True)
    assert run("collection", "create", "ada/small", "--title", "Small")[::2] == (0, "")
    opened = run("discussion", "open", "ada/net@1", "--title", "A", "--body", "B", "--json")[1]
    assert json.loads(opened)["version"] == 1
    opened = run("discussion", "open", "ada/net", "--title", "A", "--body", "B", "--json")[1]
    assert json.loads(opened)["version"] is None


@pytest.mark.parametrize("verb", ["delete", "edit", "visibility", "move", "like", "versions list"])
def test_a_version_is_no_model(run, ada, verb):
    version = factories.version(ada, factories.model(ada))
    more = {"visibility": ["private"], "move": ["--name", "x"], "delete": ["--yes"]}.get(verb, [])
    code, _, errors = run(*verb.split(), version.ref, *more)
    assert code == 1
    assert errors == (
        "hub: ada/net@1 names a version or variant, and this command is about a model. "
        "Write ada/net.\n"
    )
    version.model.refresh_from_db()
    assert (version.model.deleted_at, version.model.visibility) == (None, "public")


def test_the_life_of_a_model(run, ada):
    assert run("create", "ada/net", "--visibility", "private")[0] == 0
    assert run("info", "ada/net", who="")[0] == 3
    assert "hub login --url" in run("info", "ada/net", who="")[2]
    assert run("visibility", "ada/net", "public")[0] == 0
    assert run("edit", "ada/net", "--summary", "Small", "--keywords", "tiny")[0] == 0
    model = json.loads(run("edit", "ada/net", "--gate", "manual", "--json")[1])
    assert (model["summary"], model["keywords"], model["gate"]) == ("Small", ["tiny"], "manual")
    assert run("versions", "create", "ada/net", "--message", "First")[0] == 0
    assert run("versions", "list", "ada/net")[1].splitlines()[1].split()[:2] == ["1", "draft"]
    assert run("versions", "delete", "ada/net@1", "--yes")[0] == 0
    assert run("move", "ada/net", "--name", "tiny")[0] == 0
    code, _, message = run("delete", "ada/tiny")
    assert (code, "Delete ada/tiny with 0 versions" in message) == (2, True)
    assert run("delete", "ada/tiny", who="bob")[0] in {3, 4}
    assert run("delete", "ada/tiny", "--yes") == (0, "Deleted ada/tiny\n", "")
    assert run("info", "ada/tiny")[0] == 3


def test_deprecations(run, ada):
    model = factories.model(ada)
    for number in (1, 2):
        factories.version(ada, model, message=f"Version {number}")
    outbox.deliver()
    code, out, err = run("deprecate", "ada/net@1", "--message", "Old", "--successor", "ada/net@2")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split()[:3] == ["ada/net@1", "Old", "ada/net@2"]
    assert run("deprecate", "ada/net", "--message", "Over")[1].splitlines()[1].split()[:2] == [
        "ada/net",
        "Over",
    ]
    own = "ada/net@1 is deprecated: Old. Use ada/net@2 instead."
    code, out, err = run("info", "ada/net@1", who="")
    assert own in out
    assert err.splitlines() == [
        "hub: warning: ada/net is deprecated: Over.",
        f"hub: warning: {own}",
    ]
    assert run("info", "ada/net@1", who="")[2] == ""  # once for each reference
    assert "[deprecated]" in run("search", "net", who="")[1]
    assert own in run("get", "ada/net@1", who="")[2]
    assert run("undeprecate", "ada/net")[0] == run("undeprecate", "ada/net@1")[0] == 0
    assert "deprecated" not in run("info", "ada/net@1")[1]
    assert run("undeprecate", "ada/net")[2].startswith("hub: ada/net is not deprecated.")
    assert run("deprecate", "ada/net", "--message", "x", who="bob")[0] == 4


def test_the_life_of_a_version(run, ada):
    model = factories.model(ada)
    for number in (1, 2):
        factories.version(ada, model, message=f"Version {number}")
    assert run("yank", "ada/net", "--reason", "Wrong")[0] == 1  # a number is needed
    assert run("yank", "ada/net@2", "--reason", "Wrong", who="bob")[0] == 4
    assert "hub whoami" in run("yank", "ada/net@2", "--reason", "Wrong", who="bob")[2]
    code, out, err = run("yank", "ada/net@2", "--reason", "Wrong", who="")
    assert (code, out) == (4, "")
    assert "hub login --url" in err
    assert "Authorization" not in err
    assert "yanked" in run("yank", "ada/net@2", "--reason", "Wrong")[1]
    outbox.deliver()
    assert json.loads(run("versions", "show", "ada/net", "--json")[1])["number"] == 1
    assert run("restore", "ada/net@2")[0] == 0
    assert run("alias", "set", "ada/net@1", "champion")[0] == 0
    assert run("tag", "set", "ada/net@1", "1.0")[0] == 0
    resolved = json.loads(run("versions", "resolve", "ada/net@champion", "--json")[1])
    assert resolved["number"] == 1
    assert run("alias", "delete", "ada/net", "champion", "--yes")[0] == 0
    assert run("versions", "resolve", "ada/net@champion")[0] == 3
    assert run("withdraw", "ada/net@1", "--reason", "Licence", "--yes")[0] == 0
    assert run("versions", "list", "ada/net")[1].splitlines()[2].split()[:2] == ["1", "withdrawn"]


@pytest.mark.capability("community")
def test_the_life_of_a_collection(run, ada):
    for name in ("a", "b", "c"):
        factories.version(ada, factories.model(ada, name))
    assert run("collection", "create", "ada/small", "--title", "Small")[0] == 0
    for name in ("a", "b", "c"):
        assert run("collection", "add", "ada/small", f"ada/{name}", "--note", name)[0] == 0
    assert run("collection", "add", "ada/small", "ada/a", who="bob")[0] == 4
    assert "already contains ada/a" in run("collection", "add", "ada/small", "ada/a")[2]
    assert run("collection", "reorder", "ada/small", "ada/c", "ada/b")[0] == 0
    assert run("collection", "note", "ada/small", "ada/b", "Second best")[0] == 0
    assert run("collection", "remove", "ada/small", "ada/a") == (
        0, "Removed ada/a from ada/small\n", "",
    )  # fmt: skip
    entries = json.loads(run("collection", "show", "ada/small", "--json", who="")[1])["entries"]
    assert [(one["model"], one["note"]) for one in entries] == [
        ("ada/c", "c"), ("ada/b", "Second best"),
    ]  # fmt: skip
    lines = run("collection", "list", "--model", "ada/b", who="")[1].splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "TITLE", "MODELS", "VISIBILITY"]
    assert lines[1].split() == ["ada", "small", "Small", "2", "public"]
    assert run("collection", "edit", "ada/small", "--visibility", "private")[0] == 0
    assert run("collection", "show", "ada/small", who="bob")[0] == 3
    code, _, message = run("collection", "delete", "ada/small")
    assert (code, "Delete the collection ada/small" in message) == (2, True)
    assert run("collection", "delete", "ada/small", "--yes")[1] == (
        "Deleted the collection ada/small\n"
    )
    assert run("collection", "list")[1:] == ("", "hub: no collections\n")
    assert run("collection", "show", "small")[0] == 1
    assert "'small' is not a collection" in run("collection", "show", "small")[2]


def test_cards_and_differences(run, ada, tmp_path):
    model = factories.model(ada)
    factories.version(ada, model)
    factories.version(ada, model, {"model.onnx": b"other", "a.txt": b"1"} | one_model())
    code, out, _ = run("diff", "ada/net@1", "@2")
    assert code == 0
    assert "added    a.txt  1 B" in out
    card = tmp_path / "README.md"
    card.write_text(factories.CARD.replace("It is small.", "It is tiny."))
    factories.draft(ada, model)
    assert json.loads(run("card", "check", str(card), "--json")[1])["ok"] is True
    assert run("card", "put", "ada/net@3", str(card))[0] == 0  # the present ETag is read first
    assert "It is tiny." in run("card", "show", "ada/net@3")[1]
    assert json.loads(run("diff", "ada/net@1", "ada/net@3", "--json")[1])["card"]
    assert run("files", "get", "ada/net@2", "a.txt", "--to", str(tmp_path / "b.txt"))[0] == 0
    assert (tmp_path / "b.txt").read_bytes() == b"1"
    assert run("files", "delete", "ada/net@3", "model.onnx", "--yes")[0] == 0
    with pytest.raises(problems.PreconditionFailed):
        Hub().cards.put("ada/net", 3, content=card, etag='"old"')


def one_model():
    from tests import samples

    return {"model.onnx": samples.mlp()}


def test_access(run, ada):
    model = factories.model(ada)
    factories.version(ada, model)
    run("edit", "ada/net", "--gate", "manual")
    assert run("access", "request", "ada/net", "--message", "Please", who="bob")[0] == 0
    assert run("access", "list", "ada/net")[1].splitlines()[1].split()[:2] == ["bob", "pending"]
    assert run("access", "grant", "ada/net", "bob", who="bob")[0] == 4
    assert run("access", "grant", "ada/net", "bob")[0] == 0
    assert json.loads(run("access", "show", "ada/net", "--json", who="bob")[1])["may_download"]
    assert run("access", "revoke", "ada/net", "bob", "--reason", "Over", "--yes")[0] == 0
    assert "rejected" in run("access", "list", "ada/net", "--status", "rejected")[1]


def test_a_private_model_is_shared(run, ada):
    factories.version(ada, factories.model(ada, visibility="private"))
    assert run("info", "ada/net", who="bob")[0] == 3
    assert run("access", "grant", "ada/net", "bob")[0] == 0
    assert run("access", "list", "ada/net")[1].splitlines()[1].split()[:3] == [
        "bob", "accepted", "yes",
    ]  # fmt: skip
    assert "ada/net@1" in run("info", "ada/net", "--json", who="bob")[1]
    assert run("access", "revoke", "ada/net", "bob", "--yes")[0] == 0
    assert run("info", "ada/net", who="bob")[0] == 3


def test_a_deleted_model_is_restored_or_erased(run, ada, as_script):
    factories.version(ada, factories.model(ada))
    for verb, message in (("restore", "ada/net"), ("erase", "permanently")):
        as_script.delete("models/ada/net")
        key = run("deletions", "list", "ada")[1].splitlines()[1].split()[0]
        flags = ["--yes"] if verb == "erase" else []
        status, output = run("deletions", verb, "ada", key, *flags)[:2]
        assert (status, message in output) == (0, True)
    assert "was deleted" in "".join(map(str, run("info", "ada/net")))
    assert run("namespaces", "edit", "ada", "--no-allows-token-deletion")[0] == 0


@pytest.fixture
def as_script(api, ada):
    return api(ada, ["write"])


def test_jobs(run, ada, monkeypatch):
    factories.submitted(ada)
    factories.submitted(ada, factories.model(ada, "other"))
    jobs = json.loads(run("jobs", "list", "--state", "queued", "--json")[1])
    assert len(jobs) >= 2
    watched = jobs[0]["uuid"]

    # A worker that does its jobs in the pauses.
    monkeypatch.setattr(queue.time, "sleep", lambda _seconds: factories.work())
    code, out, err = run("jobs", "watch", watched)
    assert (code, out.split()[-1]) == (0, "succeeded")
    assert "queued, no worker takes jobs of the pool" in err
    factories.submitted(ada, factories.model(ada, "third"))
    waiting = json.loads(run("jobs", "list", "--state", "queued", "--json")[1])[0]["uuid"]
    assert run("jobs", "cancel", waiting, who="bob")[0] in {3, 4}
    assert run("jobs", "cancel", waiting) == (0, f"{waiting} cancelled\n", "")
    assert run("jobs", "watch", waiting, "--quiet")[0] == 1


def test_an_interrupt_leaves_the_job(run, ada, monkeypatch):
    factories.submitted(ada)
    waiting = json.loads(run("jobs", "list", "--state", "queued", "--json")[1])[0]["uuid"]

    def interrupt(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(queue.time, "sleep", interrupt)
    code, _, err = run("jobs", "watch", waiting)
    assert (code, f"hub jobs cancel {waiting}" in err) == (130, True)
    assert Job.objects.get(uuid=waiting).state == Job.State.QUEUED


def test_data_sets(run):
    assert run("dataset", "create", "stones", "--namespace", "ada", "--rows", "7")[0] == 0
    assert run("dataset", "edit", "stones", "--title", "Stones", "--rows", "none")[0] == 0
    stones = json.loads(run("dataset", "show", "stones", "--json")[1])
    assert (stones["title"], stones["rows"]) == ("Stones", None)
    assert run("dataset", "withdraw", "stones", "--reason", "Consent", "--yes")[0] == 0
    assert run("dataset", "restore", "stones", who="bob")[0] == 4
    assert run("dataset", "restore", "stones")[0] == 0
    assert run("dataset", "versions", "stones") == (0, "", "hub: no dataset versions\n")


@pytest.mark.capability("federated")
def test_fleets(run, ada):
    factories.version(ada)
    code, out, _ = run("fleet", "create", "ada/net", "cameras", "--halt-percent", "10", "--json")
    assert code == 0
    assert json.loads(out)["token"]
    assert run("fleet", "rollout", "ada/net@1", "cameras", "--percent", "50")[0] == 0
    assert run("fleet", "list", "ada/net")[1].splitlines()[1].split()[:4] == [
        "cameras",
        "-",
        "1",
        "50",
    ]
    assert run("fleet", "list", "ada/net", who="bob")[0] in {3, 4}


def test_a_model_with_a_wrong_name_gets_suggestions(run, ada):
    factories.version(ada, factories.model(ada, "resnet50"))
    code, _, err = run("versions", "list", "ada/resnt50")
    assert (code, "Did you mean ada/resnet50?" in err) == (3, True)


def test_logout_removes_the_token_of_this_hub_alone(run, address):
    from hub.client import config

    config.store("https://other.example.org", "hf_other")
    config.store(address, "hf_mine")
    assert run("logout", who="")[0] == 0
    assert config.read_stored().tokens.keys() == {"https://other.example.org:443"}
    assert sessions.logout() is False


def test_pages_are_followed(run, ada, monkeypatch):
    from hub.client.rest import calls

    for _ in range(4):  # beside the one that asks
        factories.token(ada)
    monkeypatch.setattr(calls, "PAGE", 2)
    assert run("token", "list")[0] == 0
    assert len(list(Hub().tokens.list())) == 5
    assert len(list(Hub().tokens.list(limit=3))) == 3


def test_no_hub_is_exit_5(run, monkeypatch):
    assert run("whoami")[0] == 0
    monkeypatch.setenv("HUB_URL", "http://127.0.0.1:9")
    code, _, err = run("jobs", "list")
    assert (code, "HUB_URL" in err) == (5, True)


@pytest.mark.capability("community")
def test_the_life_of_a_discussion(run, ada, bob):
    factories.version(ada, factories.model(ada))
    opened = run(
        "discussion", "open", "ada/net@1", "--title", "It diverges", "--body", "See\nbelow.",
        "--node", "/conv1/Conv", who="bob",
    )  # fmt: skip
    assert opened[0] == 0, opened
    lines = opened[1].splitlines()
    assert lines[0] == "#1 It diverges"
    assert lines[1].startswith("open, opened by bob, ")
    assert lines[2] == "About version 1, node /conv1/Conv"
    assert lines[-2:] == ["See", "below."]
    assert run("discussion", "open", "ada/net", "--title", "A", "--body", "B", who="")[0] == 4
    assert "Which driver?" in run("discussion", "comment", "ada/net", "1", "Which driver?")[1]
    assert run("discussion", "edit", "ada/net", "1", "1", "Mine now")[0] == 4
    edited = run("discussion", "edit", "ada/net", "1", "1", "See the log.", who="bob")[1]
    assert edited.startswith("[1] bob, ")
    assert ", edited\nSee the log.\n" in edited
    assert "#1 On H100" in run("discussion", "rename", "ada/net", "1", "On H100", who="bob")[1]
    assert "closed, opened by bob" in run("discussion", "close", "ada/net", "1")[1]
    lines = run("discussion", "list", "ada/net", "--status", "closed", who="")[1].splitlines()
    assert lines[0].split() == ["NUMBER", "STATUS", "TITLE", "VERSION", "AUTHOR", "COMMENTS"]
    assert lines[1].split() == ["1", "closed", "On", "H100", "1", "bob", "2"]
    assert "open, opened by bob" in run("discussion", "reopen", "ada/net", "1")[1]
    assert run("discussion", "hide", "ada/net", "1", "1", who="bob")[0] == 4
    assert run("discussion", "hide", "ada/net", "1", "1", "--reason", "Spam")[0] == 0
    shown = run("discussion", "show", "ada/net", "1", who="")[1]
    assert ", hidden: Spam\n" in shown
    assert "See the log." not in shown
    assert run("discussion", "unhide", "ada/net", "1", "1")[0] == 0
    comments = json.loads(run("discussion", "comments", "ada/net", "1", "--json", who="")[1])
    assert [one["body"] for one in comments] == ["See the log.", "Which driver?"]
    assert run("discussion", "list", "ada/net", "--version", "2")[1:] == (
        "", "hub: no discussions\n",
    )  # fmt: skip
    assert run("discussion", "show", "ada/net", "2")[0] == 3


@pytest.fixture
def audit(run, ada):
    """The command as an administrator."""
    ada.is_superuser = True
    ada.save()
    return lambda *arguments: run("events", *arguments)


def test_the_command_lists_events(audit, run):
    assert run("events", who="bob")[0] == 4
    code, _, _ = audit("--verb", "token.created", "--actor", "ada")
    assert code == 0
    factories.model(factories.somebody("eve"))
    lines = audit("--actor", "eve", "--json")[1].splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)
    assert {row["actor"] for row in rows} == {"eve"}
    title, first = audit("--actor", "eve", "--limit", "1")[1].splitlines()
    assert title.split()[:3] == ["AT", "ACTOR", "VERB"]
    assert "eve" in first


def test_the_command_follows_events(audit, ada, monkeypatch):
    for _ in range(3):
        record("model.edited", ada, actor=ada)
    pauses = []

    def sleep(_seconds):
        """Two later events, one of which a slow transaction commits after the other."""
        pauses.append(len(pauses))
        if len(pauses) == 1:
            factories.event(ada, "user.opened", at=timezone.now() - timedelta(seconds=30))
        elif len(pauses) == 2:
            record("user.closed", ada, actor=ada)
        elif len(pauses) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(events.time, "sleep", sleep)
    code, out, _ = audit("--follow", "--limit", "1", "--json")
    verbs = [json.loads(line)["verb"] for line in out.splitlines()]
    assert (code, verbs) == (130, ["model.edited", "user.opened", "user.closed"])


def test_pools(run, ada, monkeypatch):
    assert run("pools", "list")[0] == 4
    ada.is_superuser = True
    ada.save()
    factories.submitted(ada)
    claimed = services.claim("w", ["cpu"], host="h")
    waits = []

    def end_the_job(_seconds):
        waits.append(Job.objects.get(pk=claimed.pk).state)
        Job.objects.filter(pk=claimed.pk).update(state=Job.State.SUCCEEDED)

    monkeypatch.setattr(queue.time, "sleep", end_the_job)
    assert run("pools", "drain", "cpu", "--no-wait") == (0, "cpu draining\n", "")
    assert run("pools", "drain", "cpu", "--reason", "New disk")[:2] == (0, "cpu drained\n")
    assert waits == [Job.State.RUNNING]
    row = json.loads(run("pools", "pause", "cpu", "--json")[1])
    assert (row["state"], row["running"]) == ("paused", 0)
    assert "paused" in run("pools", "list")[1]
    assert run("pools", "resume", "cpu")[1].splitlines()[1].split()[:2] == ["cpu", "open"]
    assert run("pools", "pause", "none")[0] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("access", "show", "zoo/nothing"), "Model zoo/nothing not found. Check the name"),
        (("jobs", "show", "123"), "'123' is not the id of a job"),
        (("jobs", "cancel", "123"), "`hub jobs list` lists the jobs"),
        (("jobs", "show", "00000000-0000-4000-8000-000000000000"), "`hub jobs list` lists"),
    ],
)
def test_a_wrong_name_is_an_error_with_its_cure(run, arguments, words):
    code, _, errors = run(*arguments)
    assert code == 3
    assert words in errors
    assert "/api/" not in errors


@pytest.mark.parametrize(
    ("arguments", "usage", "hint"),
    [
        (("edit", "zoo/net", "--sumary", "x"), "usage: hub edit ", "Did you mean --summary?"),
        (("edit", "zoo/net", "--colour", "x"), "usage: hub edit ", "--keywords"),
        (("alias", "set", "zoo/net", "a", "--nonsense"), "usage: hub alias set ", "--message"),
        (("get", "zoo/net", "--opsett", "3"), "usage: hub get ", "Did you mean --opset?"),
    ],
)
def test_an_unknown_field_is_an_error_of_its_verb(capsys, arguments, usage, hint):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith(usage)
    assert hint in errors


def test_a_version_that_is_still_checked_is_an_answer_of_its_own(run, ada):
    version = factories.submitted(ada)
    job = Job.objects.filter(version=version).latest("queued_at")
    ref = version.model.ref
    code, _, errors = run("get", ref)
    assert code == 1
    assert f"{ref}@1 is still being checked" in errors
    assert f"hub jobs watch {job.uuid}" in errors
    code, _, errors = run("get", ref, who="bob")
    assert code == 3
    assert "checked" not in errors


def test_aliases_are_listed_with_their_history(run, ada):
    version = factories.version(ada)
    factories.version(ada, version.model, {"model.onnx": samples.mlp(hidden=9)})
    assert run("alias", "set", "ada/net@1", "champion")[0] == 0
    moved = run("alias", "set", "ada/net@2", "champion", "--message", "Better")
    assert moved[0] == 0
    assert run("tag", "set", "ada/net@1", "1.0")[0] == 0
    header, row = run("alias", "list", "ada/net")[1].splitlines()
    assert header.split() == ["ALIAS", "VERSION", "STATE", "MOVED", "BY", "MESSAGE"]
    assert row.split()[:3] == ["champion", "2", "published"]
    assert row.split()[-2:] == ["ada", "Better"]
    history = json.loads(run("alias", "history", "ada/net", "champion", "--json")[1])
    assert [(move["number"], move["previous"]) for move in history] == [(2, 1), (1, None)]
    assert "no refs" in run("alias", "history", "ada/net", "champion", "--at", "2020-05-03")[2]
    assert "never had an alias" in run("alias", "history", "ada/net", "none")[2]
    assert run("tag", "list", "ada/net")[1].splitlines()[1].split() == ["1.0", "1", "published"]
    rows = [line.split() for line in run("versions", "list", "ada/net")[1].splitlines()]
    assert rows[0][:5] == ["VERSION", "STATE", "BRANCH", "ALIASES", "TAGS"]
    assert [row[:5] for row in rows[1:]] == [
        ["2", "published", "main", "champion", "-"],
        ["1", "published", "main", "-", "1.0"],
    ]
    info = run("info", "ada/net")[1]
    assert "aliases    champion (2)" in info
    assert "tags       1.0 (1)" in info


def test_an_end_asks_and_names_what_it_breaks(run, ada):
    version = factories.version(ada)
    factories.version(ada, version.model, {"model.onnx": samples.mlp(hidden=9)})
    run("alias", "set", "ada/net@1", "champion")
    for act, words in (("yank", "all the same?"), ("withdraw", "cannot be undone")):
        code, _, errors = run(act, "ada/net@1", "--reason", "Wrong labels")
        assert (code, words in errors) == (2, True)
        assert "These depend on ada/net@1:\n  alias champion\n" in errors
        code, output, _ = run(act, "ada/net@1", "--reason", "Wrong labels", "--yes")
        assert (code, f"{act.removesuffix('k')}" in output) == (0, True)
    assert run("yank", "ada/net@2", "--reason", "Wrong labels")[0] == 0
    code, _, errors = run("alias", "set", "ada/net@2", "champion")
    assert (code != 0, "ada/net@2 is yanked: Wrong labels" in errors) == (True, True)
    assert run("alias", "set", "ada/net@2", "champion", "--allow-yanked")[0] == 0


def test_a_rule_of_an_alias_is_set_listed_overridden_and_deleted(run, ada):
    factories.version(ada)
    condition = '{"kind": "conformance", "runtimes": 2}'
    assert run("alias", "set-rule", "ada/net", "champion", "--condition", condition)[0] == 0
    row = run("alias", "rules", "ada/net")[1].splitlines()[1]
    assert row.startswith("champion  conformance passed on 2 runtimes  ada")
    move = ("alias", "set", "ada/net@1", "champion")
    code, _, errors = run(*move)
    assert (code != 0, "passed on none" in errors) == (True, True)
    assert "Say why the rule is overridden." in run(*move, "--force")[2]
    assert run(*move, "--force", "--message", "Demo today")[0] == 0
    assert run("alias", "delete-rule", "ada/net", "champion", "--yes")[0] == 0
    assert "no alias rules" in run("alias", "rules", "ada/net")[2]
