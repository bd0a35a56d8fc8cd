"""Sign-in by a certified OpenID provider (npm's oidc-provider), as a browser goes."""

from __future__ import annotations

import re
import socket
import subprocess
from html import unescape
from urllib.parse import urljoin

import pytest
import requests

from tests.faults.conftest import Hub
from tests.integration.environments import node_with


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub that is registered with a provider."""
    place = node_with("openid", "oidc-provider")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    issuer = f"http://127.0.0.1:{port}"
    made = Hub(
        tmp_path_factory.mktemp("openid") / "home",
        HUB_OIDC_ISSUER=issuer,
        HUB_OIDC_CLIENT_ID="hub",
        HUB_OIDC_CLIENT_SECRET="secret",
        HUB_OIDC_GROUPS="chemists=lab:maintainer",
    )
    command = ["node", "openid_provider.mjs", str(port), f"{made.address}/login/with/oidc/callback"]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "listening\n"
        yield made
    finally:
        made.stop()
        process.kill()
        process.communicate()


def submit(browser, page, **fields):
    """Send the form of a page, with its hidden fields."""
    form = re.search(r"<form[^>]*action=\"([^\"]+)\"[^>]*>(.*?)</form>", page.text, re.DOTALL)
    hidden = re.findall(r"<input[^>]*name=\"([^\"]+)\"[^>]*value=\"([^\"]*)\"", form[2])
    url = urljoin(page.url, unescape(form[1]))
    return browser.post(url, data=dict(hidden) | fields, timeout=30)


def test_a_user_of_the_provider_signs_in_with_the_role_of_the_group(hub):
    made = hub.call("POST", "namespaces", {"slug": "lab"})
    assert made[0] == 201, made
    browser = requests.Session()
    login = browser.get(f"{hub.address}/login", timeout=30)
    token = re.search(r"name=\"csrfmiddlewaretoken\" value=\"([^\"]+)\"", login.text)[1]
    page = browser.post(
        f"{hub.address}/login/with/oidc", data={"csrfmiddlewaretoken": token}, timeout=30
    )
    assert page.url.startswith(hub.environment["HUB_OIDC_ISSUER"])
    page = submit(browser, page, login="g-1", password="any")
    page = submit(browser, page)  # consent
    assert page.url == f"{hub.address}/"
    said = browser.get(f"{hub.address}/api/v1/whoami", timeout=30).json()
    assert said["username"] == "grace"
    assert {"slug": "lab", "role": "maintainer"} in said["namespaces"]
