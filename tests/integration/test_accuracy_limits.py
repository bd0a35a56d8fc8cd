"""Limits of measured accuracy give one answer as page, REST, command, Python and SPARQL.

Asked of a running hub, as a guest: private models, claims of cards, variants other than the main
one, earlier versions and earlier figures have no part in it.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hub.client.hub import Hub
from hub.protocol import problems
from tests.faults.conftest import wait_for
from tests.integration import asking
from tests.integration.test_answers import HERE, follows

FILL = """
from tests import factories, measured
measured.fill(factories.user("ada"))
"""

# Limits -> the models in their order.
ANSWERS = [
    ({"min": ["accuracy@stones=0.9"]}, ["good", "fair"]),
    ({"min": ["top1@stones:test=90%"]}, ["good", "fair"]),
    ({"min": ["accuracy:top1=0.75"]}, ["good", "other", "fair"]),
    # As many digits as the API gives of the figure.
    ({"min": ["accuracy@stones=0.9733333333333334"]}, ["good"]),
    ({"min": ["accuracy@stones=0.973334"]}, []),
    ({"min": ["accuracy@stones@2=0.1"]}, ["again"]),
    ({"min": ["accuracy@stones@1:valid=0.4"]}, ["good"]),
    ({"min": ["accuracy=0.1"]}, ["good", "other", "fair", "again", "poor", "half"]),
    ({"min": ["roc_auc@stones=0.5", "accuracy@pebbles=0.5"]}, ["fair"]),
    ({"max": ["rmse@houses=4"]}, ["poor", "other"]),
    ({"max": ["rmse=0.0000001234567"]}, ["poor"]),
    ({"max": ["log_loss=2"], "min": ["accuracy@stones=0.5"]}, ["poor"]),
    ({"min": ["accuracy@stones=0.5"], "sort": "size"}, ["good", "fair", "poor", "half", "again"]),
    (
        {
            "min": ["accuracy@stones=0.5"],
            "max_p50": 5,
            "device": "example-cpu-2-cores",
            "max_bytes": 10**6,
            "task": "tabular-classification",
            "license": "mit",
        },
        [],
    ),
    (
        {
            "min": ["accuracy@stones=0.5"],
            "max_p50": 5,
            "device": "example-cpu-2-cores",
            "max_bytes": 10**6,
            "license": "mit",
        },
        ["poor", "fair"],
    ),
]  # fmt: skip
COMMAND = {"max_bytes": "--max-size", "max_p50": "--max-p50", "device": "--on"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub without workers, with figures of every kind."""
    made = asking.hub_at(tmp_path_factory.mktemp("accuracy"))
    made.run_inside(HERE.format(address=made.address) + FILL)
    wait_for(lambda: follows(made), "the graphs", 120)
    yield made
    made.stop()


def of_rest(hub, asked):
    status, _, body = asking.send(hub, "GET", f"/api/v1/models?{urlencode(asked, doseq=True)}")
    assert status == 200, body
    return [item["name"] for item in json.loads(body)["items"]]


def page_of(hub, asked):
    path = f"/models?{urlencode(asked, doseq=True)}"
    for _ in range(3):
        status, headers, body = asking.send(hub, "GET", path)
        if status != 302:
            break
        path = headers["Location"]
    assert status == 200, body
    return body.decode()


def of_page(page):
    return re.findall(r"<b>([a-z]+)</b></a>", page)


def of_sparql(hub, page):
    query = html.unescape(re.search(r'id="list-query"[^>]*><code>(.*?)</code>', page, re.DOTALL)[1])
    return [row["name"].removeprefix("ada/") for row in asking.rows(hub, query)]


def of_python(hub, asked, tmp_path):
    client = Hub(url=hub.address, token="", cache=tmp_path)
    limits = {{"max_bytes": "max_size", "device": "on"}.get(k, k): v for k, v in asked.items()}
    return [item["name"] for item in client.find(**limits)]


def of_command(hub, asked, tmp_path):
    words = []
    for name, value in asked.items():
        for one in value if isinstance(value, list) else [value]:
            words += [COMMAND.get(name, f"--{name}"), str(one)]
    # The command looks for its settings in the environment alone.
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HUB_URL": hub.address,
        "HUB_CACHE": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "hub", "find", "--json", *words],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [item["name"] for item in json.loads(done.stdout)]


@pytest.mark.parametrize(("asked", "models"), ANSWERS, ids=lambda one: str(one)[:60])
def test_five_ways_of_asking_give_the_same_models_in_the_same_order(hub, asked, models, tmp_path):
    page = page_of(hub, asked)
    answers = {
        "REST": of_rest(hub, asked),
        "page": of_page(page),
        "SPARQL": of_sparql(hub, page),
    }
    if "sort" not in asked:  # neither the command nor `find` has a choice of order
        answers |= {
            "Python": of_python(hub, asked, tmp_path),
            "hub find": of_command(hub, asked, tmp_path),
        }
    assert answers == dict.fromkeys(answers, models)
    assert "secret" not in page


def test_each_row_says_why_it_fits(hub):
    asked = {"min": ["accuracy@stones=0.9"]}
    _, _, body = asking.send(hub, "GET", f"/api/v1/models?{urlencode(asked, doseq=True)}")
    first = json.loads(body)["items"][0]
    assert first["fits"] == [
        {
            "constraint": "min", "limit": 0.9, "value": 0.973333, "unit": "", "basis": "measured",
            "low": 0.923333, "high": 1.0,
            "interval_level": 95, "interval_method": "Clopper-Pearson",
            "evaluated": {
                "metric": "accuracy", "dataset": "stones", "version": 1, "split": "test",
                "rows": 50,
            },
        }
    ]  # fmt: skip
    words = re.sub(r"\s+", " ", page_of(hub, asked))
    assert "Accuracy 97.33 % [95 %: 92.33 % to 100 %] on stones@1, test" in words
    assert "Sorted by “Accuracy on stones”, the best first, because of that limit." in words


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"min": "accuracy@stone=0.9"}, "Did you mean stones?"),
        ({"min": "accuracy@zzz=0.9"}, "Known: houses, pebbles, stones."),
        ({"min": "bleu=0.9"}, "Known: accuracy, top-5, f1-macro, roc_auc, log_loss, f1-micro"),
        ({"min": "accuracy@houses=0.9"}, "have no accuracy. Known: rmse, mae, r2."),
        ({"min": "accuracy@stones:train=0.9"}, "Its splits: test"),
        ({"min": "accuracy@stones@7=0.9"}, "has no version 7"),
        ({"min": "accuracy=90"}, "0.9 or 90%"),
        ({"min": "rmse=3"}, "give its limit as `max`"),
        ({"max": "accuracy=0.9"}, "give its limit as `min`"),
        ({"min": "accuracy"}, "is no limit"),
        ({"sort": "accuracy"}, "needs a limit"),
    ],
)
def test_what_is_unknown_is_an_error_that_names_what_is_known(hub, asked, words, tmp_path):
    status, _, body = asking.send(hub, "GET", f"/api/v1/models?{urlencode(asked)}")
    assert status == 400
    assert words in json.loads(body)["detail"]
    if "sort" not in asked:
        status, _, body = asking.send(hub, "GET", f"/models?{urlencode(asked)}")
        assert status == 400
        assert words in html.unescape(body.decode())
        with pytest.raises(problems.InvalidRequest) as caught:
            Hub(url=hub.address, token="", cache=tmp_path).find(**asked)
        assert words in str(caught.value)


def test_pages_go_on_where_they_ended(hub):
    path, names = "/api/v1/models?min=accuracy%3D0.1&limit=2", []
    while path:
        _, _, body = asking.send(hub, "GET", path)
        page = json.loads(body)
        names += [item["name"] for item in page["items"]]
        path = (page["next"] or "").removeprefix(hub.address)
    assert names == ["good", "other", "fair", "again", "poor", "half"]
    assert page["count"] == 6


def test_its_members_find_a_private_model(hub):
    member = hub.run_inside(
        "from registry.models import User; from tests import factories;"
        "print(factories.token(User.objects.get(username='ada')))"
    ).strip()
    headers = {"Authorization": f"Bearer {member}"}
    path = "/api/v1/models?min=accuracy%40stones%3D0.9"
    _, _, body = asking.send(hub, "GET", path, **headers)
    assert [item["name"] for item in json.loads(body)["items"]] == ["secret", "good", "fair"]


def test_the_form_leads_to_the_address_of_the_list(hub):
    asked = {"measure": "accuracy@stones:test", "bound": "90%", "sort": "accuracy"}
    status, headers, _ = asking.send(hub, "GET", f"/models?{urlencode(asked)}")
    assert status == 302
    assert headers["Location"] == "/models?min=accuracy%40stones%3Atest%3D0.9"
    page = page_of(hub, {"min": "accuracy@stones:test=0.9"})
    assert '<option value="accuracy@stones:test" selected>' in page
    assert 'name="bound" inputmode="decimal" maxlength="20" value="0.9"' in page
    assert "secret" not in page
