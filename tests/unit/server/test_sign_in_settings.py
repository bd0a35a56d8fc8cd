"""Settings of LDAP and SAML: a start names everything that is missing, packages included."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# A Python without the packages of the extras.
WITHOUT = """
import sys
sys.modules["ldap"] = sys.modules["onelogin"] = None
import importlib.util
real = importlib.util.find_spec
missing = ("ldap", "onelogin")
importlib.util.find_spec = lambda name, *more: name not in missing and real(name, *more) or None
"""
READ = "from hub.server import settings"
LDAP = {"HUB_LDAP_URL": "ldaps://ldap.example.org", "HUB_LDAP_BASE": "dc=example,dc=org"}
SAML = {"HUB_SAML_ISSUER": "https://id.example.org", "HUB_SAML_URL": "https://id.example.org/sso"}


def read(tmp_path, *, before="", **variables):
    """What a process that reads settings writes on standard error."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith("HUB_")}
    clean |= {"HUB_HOME": str(tmp_path), "HUB_SECRET_KEY": "x" * 50, **variables}
    run = [sys.executable, "-c", before + READ]
    return subprocess.run(run, env=clean, capture_output=True, text=True, check=False).stderr


def test_without_the_packages_a_start_names_the_extras(tmp_path):
    (tmp_path / "ca.pem").touch()
    certificates = {"HUB_SAML_CERTIFICATES": str(tmp_path / "ca.pem")}
    words = read(tmp_path, before=WITHOUT, **LDAP, **SAML, **certificates)
    assert "HUB_LDAP_URL is set, but the package python-ldap is not installed." in words
    assert "HUB_SAML_ISSUER is set, but the package python3-saml is not installed." in words
    assert "'onnx-hub[server,ldap]'" in words
    assert "'onnx-hub[server,saml]'" in words
    assert read(tmp_path, before=WITHOUT) == ""


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"HUB_LDAP_URL": "ldaps://ldap.example.org"}, "HUB_LDAP_BASE is not set"),
        (LDAP | {"HUB_LDAP_FILTER": "(uid=*)"}, "HUB_LDAP_FILTER has no {name}"),
        (LDAP | {"HUB_LDAP_CA": "/nowhere.pem"}, "HUB_LDAP_CA is '/nowhere.pem', where there is"),
        (LDAP | {"HUB_LDAP_GROUPS": "a=b:reader"}, "HUB_LDAP_GROUP_BASE is not set"),
        (LDAP | {"HUB_LDAP_GROUPS": "a=b:king"}, "HUB_LDAP_GROUPS has 'a=b:king', which is"),
        ({"HUB_LDAP_URL": "http://ldap"}, "HUB_LDAP_URL is no address of an LDAP server"),
        (SAML, "HUB_SAML_CERTIFICATES names no file"),
        (SAML | {"HUB_SAML_URL": "http://id.example.org"}, "HUB_SAML_URL is 'http://id.example.org'"),
        (SAML | {"HUB_SAML_URL": "ftp://localhost"}, "HUB_SAML_URL is 'ftp://localhost'"),
        (SAML | {"HUB_SAML_GROUPS": "a"}, "HUB_SAML_GROUPS has 'a', which is no role"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(tmp_path, variables, words):
    assert words in read(tmp_path, **variables)
