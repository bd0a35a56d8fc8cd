"""Trainings by steps, invitations by link, and fleets, all with ordinary forms."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

import pytest
from django.test import Client

from frontend.pages.federated import consequences
from frontend.pages.federated.forms import FleetForm, TrainingForm
from hub.protocol import federated
from registry.federated.models import Fleet, Invite, Training
from registry.federated.services import participants, trainings
from registry.models import RegisteredModel
from tests import factories, learning
from tests.conftest import Api
from tests.shared import fresh, rows
from tests.unit.frontend.federated.test_trainings import begun, signed_in, text

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]
NEW, PAGE = "/models/ada/net/trainings/new", "/models/ada/net/trainings/1"
FLEETS = "/models/ada/net/fleets"


@rows
def start():
    ada = factories.user("ada")
    return ada, learning.training(ada, title="Digits at home")


@pytest.fixture
def ada(start):
    return fresh(start[0])


def review(browser, **changes):
    shown = text(browser.post(NEW, begun(step="review", **changes)))
    return " ".join(html.unescape(shown).split())


def test_the_review_states_what_follows_and_creates_nothing(ada):
    shown = review(
        signed_in(ada), target="5", most_rounds="20", cohort="8", trained="only",
        patterns="classifier.*\n\n*.lora_A\n", release_best="highest", release_publishes="on",
    )  # fmt: skip
    assert Training.objects.count() == 1
    for words in (
        "Each round selects 8 participants at random. It closes with 5 contributions, or after 1 h",
        "With fewer than 3 contributions it fails",
        "After 20 aggregated rounds: 20 h at most if no round fails.",
        "Only tensors that match classifier.*, *.lora_A. All others stay as they are.",
        "Lowest measured accuracy of this rule with unevenly distributed data",
        "No differential privacy: this training adds no noise.",
        "and so does the round with the highest reported score at the end. It is published",
        "Everyone: the training, its rounds",
    ):
        assert words in shown, words
    assert "Small quorum" not in shown
    assert "Small quorum" in review(signed_in(ada), quorum="2")
    RegisteredModel.objects.update(visibility="private")
    assert (
        "Members of the namespace and users with granted access, since the model is private"
        in review(signed_in(ada))
    )


def test_the_review_states_the_epsilon_of_all_rounds_and_never_less(ada):
    noisy = {"rule": "fedavg", "noise_multiplier": "1", "clip_norm": "1"}
    unknown = review(signed_in(ada), **noisy, most_rounds="5")
    assert "version 1 was uploaded, and its training data are unknown" in unknown
    shown = review(signed_in(ada), **noisy, most_rounds="5", base_data="untrained")
    five = re.search(r"ε = ([\d.]+) after 5 rounds, at δ = 1e-05", shown)
    shown = review(signed_in(ada), **noisy, most_rounds="0", base_data="untrained")
    ten, hundred = map(float, re.findall(r"ε = ([\d.]+) after 100?", shown))
    assert 5 < float(five[1]) < ten < hundred


def test_settings_travel_through_the_review_and_back(ada):
    browser = signed_in(ada)
    fields = {"trained": "except", "patterns": "head.*", "hyperparameters": '{"epochs": 2}'}
    shown = review(browser, **fields, needs_evaluation="on")
    assert "at least 5 devices compare it with the version before" in shown
    hidden = dict(re.findall(r'type="hidden" name="([a-z0-9_]+)" value="(.*?)">', shown))
    hidden.pop("csrfmiddlewaretoken", None)
    assert set(TrainingForm().fields) - set(hidden) == {"release_publishes"}  # it was not ticked
    back = browser.post(NEW, hidden | {"step": "change"})
    assert "New training" in text(back)
    assert "head.*</textarea>" in text(back)
    made = browser.post(NEW, hidden | {"step": "create"})
    assert (made.status_code, made["Location"]) == (302, "/models/ada/net/trainings/2/invite")
    training = Training.objects.get(number=2)
    assert training.roles == {"frozen": ["head.*"]}
    assert training.hyperparameters == {"epochs": 2}
    assert training.rules["examples_cap"] == 500
    assert training.rules["needs_evaluation"]
    assert not training.release_publishes


def test_three_choices_stand_before_all_others(ada):
    """The rest is folded, and opens where it was changed or refused."""
    browser = signed_in(ada)
    for page, names in ((NEW, TrainingForm.first_choices), (FLEETS, FleetForm.first_choices)):
        first, folded = text(browser.get(page)).split('<details class="fold advanced">')
        shown = first[first.index('<form class="') :]
        assert len(names) == 3
        assert [name for name in re.findall(r'name="([a-z_]+)"', shown) if name in names] == [
            *names
        ]
        assert "Advanced" in folded
    changed = browser.post(NEW, begun(step="change", trained="only", patterns="head.*"))
    assert '<details class="fold advanced" open>' in text(changed)
    refused = browser.post(NEW, begun(step="review", cohort="2"))
    assert '<details class="fold advanced" open>' in refused.content.decode()


def test_parameters_of_the_rule_and_limits_are_kept(ada):
    browser = signed_in(ada)
    fields = {"rule": "trimmed-mean", "trim": "0.3", "norm_limit": "2", "max_staleness": "4"}
    assert "Parameter trim" not in review(browser, rule="median")
    assert browser.post(NEW, begun(step="create", **fields)).status_code == 302
    rules = Training.objects.get(number=2).rules
    assert rules["parameters"] == {"trim": 0.3}
    assert (rules["norm_limit"], rules["max_staleness"]) == (2.0, 4)


def test_certificates_can_be_asked_for_where_a_proxy_verifies_them(ada, settings):
    browser = signed_in(ada)
    assert "client certificate" not in text(browser.get(NEW))
    settings.HUB_CERTIFICATE_PROXIES = ["10.0.0.1"]
    assert "Only devices with a TLS client certificate" in text(browser.get(NEW))
    sent = begun(step="create", client_certificate="on")
    assert browser.post(NEW, sent).status_code == 302
    assert Training.objects.get(number=2).rules["client_certificate"] is True


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trained": "only"}, "Enter at least one pattern"),
        ({"patterns": "head.*"}, "patterns have no effect"),
        ({"trained": "only", "patterns": "x" * 201}, "patterns of up to 200 characters"),
        ({"hyperparameters": "[1]"}, "Enter a JSON object"),
        ({"hyperparameters": "{"}, "Enter a valid JSON"),
        ({"cohort": "2"}, "The cohort must be 0, or at least the quorum"),
        ({"target": "2"}, "The target must be 0, or at least the quorum."),
        ({"round_seconds": "2"}, "This must be a whole number from 5 to"),
        ({"quorum": "600"}, "accepts at most 500 contributions"),
        ({"examples_cap": "9999999999"}, "The cap must be a whole number"),
        ({"trim": "0.1"}, "The rule multi-krum has no such parameter."),
        ({"norm_limit": "0"}, "This must be a number above 0"),
        ({"max_staleness": "1001"}, "The staleness must be a whole number from 0 to 1000."),
    ],
)
@pytest.mark.parametrize("step", ["review", "create"])
def test_bad_settings_are_refused_beside_their_field(ada, changes, words, step):
    refused = signed_in(ada).post(NEW, begun(step=step, **changes))
    assert refused.status_code == 422
    shown = html.unescape(refused.content.decode())
    field = "patterns" if "trained" in changes else next(iter(changes))
    beside = shown[shown.index(f'name="{field}"') :]
    assert words in beside[: beside.index("</div>")]
    assert Training.objects.count() == 1


def test_patterns_in_words():
    frozen, trainable = federated.FROZEN, federated.TRAINABLE
    assert "All weights" in consequences.trained({})
    assert consequences.trained({frozen: ["a", "b"]}).endswith("except those that match a, b.")
    assert "trainable: c" in consequences.trained({trainable: ["c"], frozen: ["a"]})


def invited(browser, **changes):
    """The address and the code of a new invitation."""
    fields = {"uses": "1", "group": "ward 7", "expires_days": "14"} | changes
    answer = browser.post(f"{PAGE}/invite", fields)
    assert answer["Cache-Control"] == "no-store"
    link = re.search(r"http[^<\s]+(/models/\S+/join\?code=(fi_[\w-]+))<", text(answer))
    return link[1], link[2]


def test_a_stranger_opens_a_link_and_joins(ada):
    browser = signed_in(ada)
    link, code = invited(browser)
    row = Invite.objects.get()
    assert (row.uses, row.group) == (1, "ward 7")
    page = text(browser.get(f"{PAGE}/invite"))
    assert "ward 7" in page
    assert code not in page
    shown = Client().get(link)
    assert (shown["Cache-Control"], shown["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert (
        re.findall(r'href="(/login[^"]*)"', text(shown))
        == [f"/login?next={quote(link.partition('?')[0], safe='')}"] * 2
    )
    words = html.unescape(text(shown))
    assert f'training.join("{code}")' in words
    assert '.training(\n    "ada/net/trainings/1"\n)' in words
    assert "Examples never leave a device." in words
    learning.Device(Api, Training.objects.get(), code)
    used = text(Client().get(link))
    assert "Unknown, used, expired or revoked invitation." in used
    assert f'training.join("{code}")' not in html.unescape(used)


def test_a_link_to_a_private_training_shows_nothing_without_a_valid_code(ada):
    link, _ = invited(signed_in(ada))
    RegisteredModel.objects.update(visibility="private", summary="A secret")
    words = text(Client().get(link))
    assert "ada/net" in words
    assert 'href="/models/ada/net"' not in words
    assert 'href="/models/ada/net"' in text(signed_in(ada).get(link))
    signed_in(ada).post(f"{PAGE}/uninvite", {"invitation": str(Invite.objects.get().pk)})
    answers = [
        Client().get(address)
        for address in (link, f"{PAGE}/join", "/models/ada/net/trainings/9/join?code=fi_a",
                        "/models/ada/none/trainings/1/join?code=fi_a")
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {404}
    (detail,) = {answer.json()["detail"] for answer in answers}
    assert detail.startswith("Unknown, used, expired or revoked invitation.")


def test_invitations_are_for_maintainers(ada, bob):
    for page in (f"{PAGE}/invite", f"{PAGE}/uninvite"):
        assert Client().post(page, {"uses": "1"}).status_code in (302, 401)
        assert signed_in(bob).post(page, {"uses": "1"}).status_code == 403
    assert signed_in(bob).get(f"{PAGE}/invite").status_code == 403
    assert not Invite.objects.exists()
    refused = signed_in(ada).post(f"{PAGE}/invite", {"uses": "0", "expires_days": "9999"})
    assert refused.status_code == 422
    assert "less than or equal to 366" in refused.content.decode()
    assert signed_in(ada).post(f"{PAGE}/uninvite", {"invitation": "nine"}).status_code == 404
    training = Training.objects.get()
    code = participants.invite(ada, training=training)[1]
    trainings.set_state(ada, training=training, state="cancelled")
    over = text(Client().get(f"{PAGE}/join?code={code}"))
    assert "no more devices can join" in over
    assert "training.join" not in over
    refused = signed_in(ada).post(f"{PAGE}/invite", {"uses": "1", "expires_days": "3"})
    assert refused.status_code == 422


def fleet(**changes):
    return {"name": "shops", "halt_percent": "20", "version": "1", "percent": "10"} | changes


def test_a_fleet_is_created_with_its_token_and_first_rollout(ada):
    browser = signed_in(ada)
    made = browser.post(FLEETS, fleet(required_by="2030-01-31"))
    assert made["Cache-Control"] == "no-store"
    shown = html.unescape(text(made))
    token = re.search(r'token="(ff_[\w-]+)"', shown)[1]
    assert "10 % of the devices get version 1; the others get no version." in shown
    assert token not in text(browser.get(FLEETS))
    row = Fleet.objects.get()
    assert (row.desired.number, row.percent, row.halt_percent) == (1, 10, 20)
    assert row.required_by.isoformat() == "2030-01-31T23:59:59.999999+00:00"
    device = Api()
    device.headers["Authorization"] = f"Bearer {token}"
    # The first device of these that a tenth of the fleet reaches.
    asked = [device.get(f"{FLEETS[1:]}/shops/desired?device=d{n}").status_code for n in range(60)]
    assert set(asked) == {200, 204}
    more = browser.post(f"{FLEETS}/shops", {"version": "1", "percent": "100"}, follow=True)
    assert "All devices get version 1." in text(more)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "Shops!"}, "Use 1 to 64 lower-case letters"),
        ({"name": "taken"}, "already has a fleet taken"),
        ({"halt_percent": "101"}, "less than or equal to 100"),
        ({"version": "7"}, "Select a valid choice"),
        ({"required_by": "soon"}, "Enter a valid date"),
    ],
)
def test_a_bad_fleet_is_refused_beside_the_field(ada, changes, words):
    browser = signed_in(ada)
    assert browser.post(FLEETS, fleet(name="taken", version="")).status_code == 200
    refused = browser.post(FLEETS, fleet(**changes))
    assert refused.status_code == 422
    shown = html.unescape(refused.content.decode())
    beside = shown[shown.index(f'name="{next(iter(changes))}"') :]
    assert words in beside[: beside.index("</div>")]
    assert Fleet.objects.count() == 1


def test_fleets_are_for_maintainers(ada, bob):
    signed_in(ada).post(FLEETS, fleet())
    for page in (FLEETS, f"{FLEETS}/shops"):
        for browser in (Client(), signed_in(bob)):
            assert browser.get(page).status_code in (302, 401, 403)
            assert browser.post(page, fleet(percent="100")).status_code in (302, 401, 403)
    assert Fleet.objects.get().percent == 10
    refused = signed_in(ada).post(f"{FLEETS}/shops", {"version": "1", "percent": "200"})
    assert refused.status_code == 422
