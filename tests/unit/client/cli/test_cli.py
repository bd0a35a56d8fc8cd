from __future__ import annotations

import hashlib
import json
import re
import sys
import types
from pathlib import Path

import pytest

from hub.cli import command as cli_command
from hub.client import api
from tests.unit.client.conftest import make_model

pytestmark = pytest.mark.usefixtures("default")


def run(capsys, *arguments):
    code = cli_command.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_get_prints_the_folder(fake, capsys, tmp_path):
    fake.add("zoo/ones", make_model())
    code, out, err = run(capsys, "get", "ones")
    assert (code, err) == (0, "")
    assert [path.name for path in Path(out.strip()).iterdir()] == ["model.onnx"]
    code, out, _ = run(capsys, "get", "ones@1", "--to", str(tmp_path / "here"), "--quiet")
    assert (code, out.strip()) == (0, str(tmp_path / "here"))


def test_a_problem_is_one_message_and_an_exit_code(fake, capsys):
    assert run(capsys, "get", "nothing") == (3, "", "hub: There is no zoo/nothing.\n")


def test_what_the_server_says_cannot_drive_the_terminal(fake, capsys):
    body = json.dumps({"type": "/problems/not-found", "detail": "\x1b[2Jgone\u202e"}).encode()
    fake.answers.append((404, {"Content-Type": "application/problem+json"}, body))
    _, _, err = run(capsys, "get", "nothing")
    assert err == "hub: [2Jgone\n"


def test_usage_is_exit_2(capsys):
    for arguments in ([], ["get"], ["fly"], ["search", "--limit", "0"]):
        with pytest.raises(SystemExit) as caught:
            cli_command.main(arguments)
        assert caught.value.code == 2
    assert "usage: hub" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["get", "push", "variant", "search", "info", "login", "cache"])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as caught:
        cli_command.main([*filter(None, [command]), "--help"])
    assert caught.value.code == 0
    assert "usage: hub" in capsys.readouterr().out


def test_help_lists_every_command_by_section(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "usage: hub" in out
    for name in ("Models", "Versions", "yank", "serve"):
        assert name in out
    assert run(capsys, "help") == (0, out, "")
    assert "hub jobs watch 0a1b" in run(capsys, "help", "jobs", "watch")[1]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["yankk"], "unknown command 'yankk'. Did you mean yank?"),
        (["versions", "shw"], "unknown command 'shw'. Did you mean show?"),
        (["help", "job"], "unknown command 'job'. Did you mean jobs?"),
        (["qqq"], "unknown command 'qqq'. Commands: "),
    ],
)
def test_a_mistyped_command_gets_suggestions(capsys, arguments, hint):
    with pytest.raises(SystemExit) as caught:
        cli_command.main(arguments)
    assert caught.value.code == 2
    assert hint in capsys.readouterr().err


def test_interrupt_is_exit_130(monkeypatch, capsys):
    def interrupt(*_, **__):
        error = KeyboardInterrupt()
        error.add_note("The draft was kept.")
        raise error

    monkeypatch.setattr("hub.client.hub.Hub.resolve", interrupt)
    assert run(capsys, "get", "ones") == (130, "", "The draft was kept.\n")


def test_search(fake, capsys):
    fake.add("zoo/ones", make_model())
    fake.models["zoo/onesie"] = {"ref": "zoo/onesie"}
    fake.versions["zoo/onesie"] = []
    code, out, _ = run(capsys, "search", "ones")
    assert code == 0
    assert out.splitlines() == [
        "zoo/ones    v1 12.3 kB      A model.",
        "zoo/onesie  no version      A model.",
    ]
    assert [m["ref"] for m in json.loads(run(capsys, "search", "--json")[1])] == [
        "zoo/ones",
        "zoo/onesie",
    ]
    assert run(capsys, "search", "zzz") == (0, "", "hub: no models found\n")


SETUP = {"device": "example-cpu", "runtime": "onnxruntime", "provider": "CPUExecutionProvider"}


def timed(fake, **speeds):
    fake.list_fields = {"setup": SETUP}
    for name, speed in speeds.items():
        fake.models[f"zoo/{name}"] = {"ref": f"zoo/{name}", "speed": speed}
        fake.versions[f"zoo/{name}"] = []


def test_search_by_speed_says_how_fast_each_model_was(fake, capsys):
    fast, noisy = {"status": "accepted", "p50_ms": 2.4567}, {"status": "noisy", "p50_ms": 1234.4}
    timed(fake, a=fast, b=noisy, c=None)
    asked = [part for name, value in SETUP.items() for part in (f"--{name}", value)]
    code, out, _ = run(capsys, "search", "--sort", "fastest", *asked)
    assert code == 0
    assert [re.split(" {2,}", line)[2] for line in out.splitlines()] == [
        "2.46 ms",
        "1234 ms noisy",
        "not measured",
    ]
    assert (
        "&sort=fastest&device=example-cpu&runtime=onnxruntime&provider=CPUExecutionProvider"
        in (fake.requests[-1][1])
    )


def test_an_order_by_speed_that_is_none_is_an_error(fake, capsys):
    assert run(capsys, "search", "--sort", "fastest")[0] == 0  # nothing matches, in any order
    timed(fake, a={"status": "noisy", "p50_ms": 1.0}, b=None)
    code, out, said = run(capsys, "search", "--sort", "fastest")
    assert (code, out) == (3, "")
    assert "accepted result on example-cpu with onnxruntime and CPUExecutionProvider" in said
    fake.list_fields = {"setup": None}
    assert (
        "No model of this hub has been measured yet"
        in run(capsys, "search", "--sort", "fastest")[2]
    )
    assert run(capsys, "search", "--device", "example-cpu")[0] == 0


def test_info_lists_the_versions_that_errors_send_for(fake, capsys):
    for rows in (2, 3):
        fake.add("zoo/ones", make_model(rows=rows))
    versions = next(
        line for line in run(capsys, "info", "ones")[1].splitlines() if line.startswith("versions")
    )
    assert sorted(versions.removeprefix("versions").replace(",", "").split()) == ["1", "2"]
    told = json.loads(run(capsys, "info", "ones", "--json")[1])["versions"]
    assert {one["number"] for one in told} == {1, 2}


def test_info(fake, capsys):
    fake.add("zoo/ones", make_model(), label="1.0")
    code, out, _ = run(capsys, "info", "ones")
    assert code == 0
    assert "version    1 (published)" in out.splitlines()
    assert "variant    main  model.onnx  opset 17, float32" in out.splitlines()
    assert json.loads(run(capsys, "info", "ones", "--json")[1])["version"]["label"] == "1.0"


def test_push(fake, capsys, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(make_model()["model.onnx"])
    code, out, _ = run(capsys, "push", "ada/ones", str(path), "-m", "first", "--quiet")
    assert code == 0
    assert out.startswith("ada/ones@1 published\n")
    fake.verdict = "failed"
    code, out, err = run(capsys, "push", "--force", "ada/ones", str(path), "--quiet")
    assert (code, out) == (1, "")
    assert "not-protobuf (model.onnx: graph): The file ends in the middle of a field." in err


def test_what_was_done_as_json(fake, capsys, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(make_model()["model.onnx"])
    code, out, _ = run(capsys, "push", "ada/ones", str(path), "--quiet", "--json")
    assert (code, json.loads(out)["state"]) == (0, "published")
    code, out, _ = run(capsys, "get", "ada/ones", "--quiet", "--json")
    got = json.loads(out)
    assert (code, got["ref"]) == (0, "ada/ones@1")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    model = {"path": "model.onnx", "size": path.stat().st_size, "sha256": f"sha256:{sha256}"}
    assert model in got["files"]
    assert (Path(got["folder"]) / "model.onnx").read_bytes() == path.read_bytes()
    assert json.loads(run(capsys, "login", "--url", fake.url, "--json")[1])["username"] == "ada"


def test_login_reads_the_token_from_standard_input(fake, capsys, monkeypatch):
    import io

    monkeypatch.delenv("HUB_TOKEN")
    monkeypatch.setattr(sys, "stdin", io.StringIO("hf_typed\n"))
    assert run(capsys, "login", "--url", fake.url)[:2] == (0, "signed in as ada\n")
    assert api.default_hub().config.token == "hf_typed"
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run(capsys, "login")[0] == 4


def test_warning_is_one_line(fake, capsys):
    fake.add("zoo/ones", make_model())
    fake.warning = "yanked: wrong weights"
    code, _, err = run(capsys, "get", "ones@1")
    assert (code, err) == (0, "hub: warning: zoo/ones@1: yanked: wrong weights\n")


def test_cache_commands(fake, capsys):
    fake.add("zoo/ones", make_model())
    cli_command.main(["get", "ones"])
    capsys.readouterr()
    _, out, _ = run(capsys, "cache", "list")
    assert out.startswith("zoo/ones@1  ")
    assert run(capsys, "cache", "verify") == (0, "2 files intact, 0 damaged\n", "")
    code, out, _ = run(capsys, "cache", "clean", "--all")
    assert (code, out.startswith("removed ")) == (0, True)
    assert run(capsys, "cache", "verify") == (0, "0 files intact, 0 damaged\n", "")


def test_server_commands_are_handed_on(monkeypatch):
    seen = []
    for name, command in (("serve", "serve"), ("tokens", "token"), ("manage", "manage")):
        module = types.ModuleType(f"hub.server.{name}")
        module.main = lambda argv, command=command: seen.append((command, argv)) or 3
        monkeypatch.setitem(sys.modules, f"hub.server.{name}", module)
    assert cli_command.main(["serve", "--port", "8001"]) == 3
    assert cli_command.main(["token", "create", "--user", "admin"]) == 3
    assert cli_command.main(["manage", "verify_blobs"]) == 3
    assert seen == [
        ("serve", ["--port", "8001"]),
        ("token", ["create", "--user", "admin"]),
        ("manage", ["verify_blobs"]),
    ]


def test_server_commands_without_the_server(monkeypatch, capsys):
    class Finder:
        @staticmethod
        def find_spec(name, *_):
            if name.startswith("hub.server"):
                raise ModuleNotFoundError("No module named 'django'", name="django")

    for name in [name for name in sys.modules if name.startswith("hub.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    code, _, err = run(capsys, "serve")
    assert code == 1
    assert err == (
        "hub serve needs the server packages (django is missing): pip install 'onnx-hub[server]'\n"
    )
