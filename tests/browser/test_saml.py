"""Sign-in with a SAML provider of another site in Chromium, which keeps cookies of the hub back."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import threading
import urllib.request

import pytest

from tests import saml_provider
from tests.browser.conftest import HUB, ROOT, _greeting
from tests.directory import free_port

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        bool(saml_provider.needs_provider()), reason=saml_provider.needs_provider() or "none"
    ),
]
FORM = """<!doctype html><title>provider</title>
<form method="post" action="{address}">
<input type="hidden" name="SAMLResponse" value="{text}"></form>
<script>document.forms[0].submit()</script>"""


class Pages(http.server.BaseHTTPRequestHandler):
    """The provider's page, which posts its answer to the hub."""

    def do_GET(self):
        xml = self.server.provider.answer(self.path, username="grace")
        values = {"address": self.server.acs, "text": saml_provider.encoded(xml)}
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FORM.format(**values).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def hub_of_provider(tmp_path):
    """A hub at localhost, and a provider at 127.0.0.1, which is another site."""
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    port = free_port()
    url = f"http://localhost:{port}"
    certificates = tmp_path / "saml.pem"
    certificates.write_bytes(saml_provider.make_key(tmp_path, "former")[1].read_bytes())
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HUB_")}
    clean.pop("DJANGO_SETTINGS_MODULE", None)
    clean |= {
        "HUB_BENCH": "off",
        "HUB_PUBLIC_URL": url,
        "HUB_SAML_ISSUER": saml_provider.ISSUER,
        "HUB_SAML_URL": f"http://127.0.0.1:{pages.server_address[1]}/sso",
        "HUB_SAML_CERTIFICATES": str(certificates),
    }
    home = tmp_path / "home"
    home.mkdir()
    with (home / "serve.log").open("w+") as log:
        process = subprocess.Popen(
            [*HUB, "serve", "--port", str(port), "--home", str(home)],
            cwd=ROOT, env=clean, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            _greeting(process, home / "serve.log")
            with urllib.request.urlopen(f"{url}/login/with/saml/metadata") as answer:  # noqa: S310
                metadata = answer.read().decode()
            address = clean["HUB_SAML_URL"]
            pages.provider = saml_provider.Provider(tmp_path, metadata, url=address)
            pages.acs = f"{url}/login/with/saml/acs"
            certificates.write_bytes(pages.provider.certificate.read_bytes())
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            pages.shutdown()
            pages.server_close()


@pytest.mark.parametrize("with_scripts", [True, False])
def test_a_provider_of_another_site_signs_in(chromium, hub_of_provider, with_scripts):
    context = chromium.new_context()
    page = context.new_page()
    if not with_scripts:  # those of the hub; the provider's page needs its own
        page.route("**/send*.js", lambda route: route.abort())
    page.goto(f"{hub_of_provider}/login?next=/models")
    posts = []
    page.on("request", lambda request: posts.append(request) if request.method == "POST" else None)
    page.click("main button:has-text('single sign-on')")
    if not with_scripts:
        page.click("main button:has-text('Continue')")
    page.wait_for_url(f"{hub_of_provider}/models")
    assert len([post for post in posts if post.url.endswith("/acs")]) == 2
    answer = context.request.get(f"{hub_of_provider}/api/v1/whoami")
    assert answer.json()["username"] == "grace"
    context.close()
