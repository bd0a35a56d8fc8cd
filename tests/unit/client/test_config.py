from __future__ import annotations

import json
import stat

import pytest

from hub.client import config
from hub.client.config import Config
from hub.protocol import problems


def test_defaults_without_any_setting():
    found = Config.from_environment()
    assert (found.url, found.token, found.offline) == ("http://127.0.0.1:8000", None, False)


def test_environment_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv("HUB_URL", "https://hub.example.org/")
    monkeypatch.setenv("HUB_TOKEN", "hf_abc")
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "here"))
    monkeypatch.setenv("HUB_OFFLINE", "1")
    found = Config.from_environment()
    assert found == Config("https://hub.example.org", "hf_abc", tmp_path / "here", offline=True)


@pytest.mark.parametrize("word", ["0", "", "false", "no"])
def test_offline_is_off_for(monkeypatch, word):
    monkeypatch.setenv("HUB_OFFLINE", word)
    assert Config.from_environment().offline is False


@pytest.mark.parametrize(
    "url",
    ["hub.example.org", "ftp://hub", "http://", "http://a:b@hub", "http://hub:port", "http://h?q"],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(problems.InvalidRequest, match="HUB_URL"):
        Config(url)


def test_stored_token_is_private_and_belongs_to_one_hub():
    path = config.store("http://one.example", "hf_one")
    config.store("http://two.example", "hf_two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Config.from_environment(url="http://one.example").token == "hf_one"
    assert Config.from_environment().token == "hf_two"
    assert Config.from_environment().url == "http://two.example"
    assert Config.from_environment(url="http://three.example").token is None
    assert Config.from_environment(url="http://one.example:81").token is None
    assert Config.from_environment(url="https://one.example").token is None


def test_token_of_the_environment_is_for_the_configured_hub_alone(monkeypatch):
    monkeypatch.setenv("HUB_URL", "http://one.example")
    monkeypatch.setenv("HUB_TOKEN", "hf_one")
    assert Config.from_environment(url="http://one.example/").token == "hf_one"
    assert Config.from_environment(url="http://two.example").token is None


@pytest.mark.parametrize("content", ["{", "[]", '{"tokens": 3}'])
def test_damaged_sign_in_says_what_to_do(content):
    path = config.stored_path()
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(problems.HubError, match="hub login"):
        Config.from_environment()


def test_token_is_never_shown():
    assert "hf_secret" not in repr(Config("http://hub", "hf_secret"))


def test_token_cannot_add_a_header():
    with pytest.raises(problems.InvalidRequest):
        Config("http://hub", "hf_x\r\nEvil: 1")


def test_stored_file_is_json_with_the_last_hub():
    path = config.store("http://one.example/", "hf_one")
    assert json.loads(path.read_text()) == {
        "url": "http://one.example",
        "tokens": {"http://one.example:80": "hf_one"},
    }


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "soon"])
def test_a_time_for_retries_that_is_none_is_refused(monkeypatch, text):
    monkeypatch.setenv("HUB_RETRY_SECONDS", text)
    with pytest.raises(problems.InvalidRequest, match="HUB_RETRY_SECONDS"):
        Config.from_environment()


def test_retries_and_verification_are_read(monkeypatch):
    assert (Config.from_environment().retry_seconds, Config.from_environment().verify) == (
        60.0,
        "changed",
    )
    monkeypatch.setenv("HUB_RETRY_SECONDS", "2.5")
    monkeypatch.setenv("HUB_VERIFY", "Always")
    read = Config.from_environment()
    assert (read.retry_seconds, read.verify) == (2.5, "always")
    assert Config.from_environment(retry_seconds=0, verify="changed").retry_seconds == 0
