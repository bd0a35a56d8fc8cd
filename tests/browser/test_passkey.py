"""A passkey is added and used in Chromium, whose virtual authenticator makes real signatures."""

from __future__ import annotations

from tests.browser.conftest import Window

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def enter(page, secret):
    page.fill("[name=username]", "grace")
    page.fill("[name=password]", secret)
    page.click("main button:has-text('Sign in')")


def enter_first(window, secret):
    """Sign in with a first password, and change it; gives the new one."""
    enter(window.page, secret)
    window.page.wait_for_url("**/account/password")
    return window.change_password(secret)


def test_a_passkey_is_the_second_factor(chromium, hub):
    secret = hub.api("POST", "users", {"username": "grace"})["password"]
    # No browser takes a passkey for an address without a name.
    address = hub.url.replace("127.0.0.1", "localhost")
    one = Window(chromium, hub)
    page = one.page
    one.watch.origin = address
    tools = one.context.new_cdp_session(page)
    tools.send("WebAuthn.enable")
    made = tools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    page.goto(f"{address}/login?next=/account/factors/passkeys/new")
    secret = enter_first(one, secret)
    page.goto(f"{address}/account/factors/passkeys/new")
    page.wait_for_url("**/account/confirm?**")
    page.fill("[name=password]", secret)
    page.click("main button")
    page.wait_for_url("**/account/factors/passkeys/new")
    page.click("main button")
    page.wait_for_url("**/account/factors/codes")
    assert page.locator("main li code").count() == 10
    named = {"authenticatorId": made["authenticatorId"]}
    (credential,) = tools.send("WebAuthn.getCredentials", named)["credentials"]
    assert credential["rpId"] == "localhost"
    page.goto(f"{address}/account")
    page.click("main button:has-text('Sign out')")
    page.wait_for_url(f"{address}/")
    page.goto(f"{address}/login")
    enter(page, secret)
    page.wait_for_url("**/login/code")
    one.shoot("second-factor")
    assert one.axe() == []
    page.goto(f"{address}/account")
    assert "/login" in page.url
    page.goto(f"{address}/login/code")
    page.click("button:has-text('Use a passkey')")
    page.wait_for_url(f"{address}/")
    page.goto(f"{address}/account/factors")
    assert page.locator("main td").count() == 3
    tools.send("WebAuthn.removeVirtualAuthenticator", named)
    one.context.close()
    assert one.watch.complaints == []
