"""What maintainers choose of a training: roles, noise, who is asked, the best round."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from hub.protocol import federated
from registry.federated import selection
from registry.federated.models import Aggregate, Participant, Round, Training
from registry.federated.services import retention, rounds
from registry.models import Version
from runners.models import Job
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]

NOISE = {"noise_multiplier": 1.0, "clip_norm": 0.5}
STATISTIC = federated.Part("norm.mean", "F32", (3,), federated.STATISTIC)


@rows
def start():
    ada = factories.user("ada")
    return ada, factories.version(ada, factories.model(ada))


@pytest.fixture
def ada(start):
    return fresh(start[0])


@pytest.fixture
def version(start):
    return Version.objects.select_related("model__namespace").get(pk=start[1].pk)


@pytest.fixture
def begin(api, ada):
    """Begin a training over HTTP, its schema read by a worker; gives what the API then says."""

    def begin(**given):
        said = {"version": 1, "schedule": learning.SCHEDULE | given.pop("schedule", {})} | given
        made = api(ada).post("models/ada/net/trainings", {"release_every": 0} | said)
        assert made.status_code == 201, made.content
        learning.work()
        return api(ada).get(f"models/ada/net/trainings/{made.json()['number']}").json()

    return begin


def row(told):
    return Training.objects.select_related("model__namespace").get(uuid=told["id"])


def finish_round(devices):
    """Have each device answer, and a worker join what they sent."""
    for device in devices:
        device.push(device.task(), learning.tensors(0.1))
    learning.work()


class TestNoise:
    @pytest.fixture(autouse=True)
    def _normalised(self, monkeypatch):
        monkeypatch.setattr(learning, "PARTS", (*learning.PARTS, STATISTIC))

    def test_statistics_under_noise_are_refused_before_the_training_opens(self, api, ada, begin):
        told = begin(rules=NOISE)
        assert (told["state"], told["round"]) == ("draft", None)
        (finding,) = told["refusal"]
        assert finding["code"] == "training-noise-unfit"
        assert "'norm.mean'" in finding["message"]
        assert '"frozen"' in finding["message"]
        opened = api(ada).post("models/ada/net/trainings/1/open")
        assert (opened.status_code, learning.slug(opened)) == (409, "noise-unfit")
        assert opened.json()["detail"] == finding["message"]

    def test_a_draft_without_the_noise_opens(self, api, ada, begin):
        begin(rules=NOISE)
        less = {"rules": {"noise_multiplier": None}}
        assert api(ada).patch("models/ada/net/trainings/1", less).json()["refusal"] == []
        opened = api(ada).post("models/ada/net/trainings/1/open")
        assert (opened.status_code, opened.json()["state"]) == (200, "open")

    def test_noise_that_comes_after_the_schema_is_refused_as_well(self, api, ada, begin):
        begin(open=False)
        told = api(ada).patch("models/ada/net/trainings/1", {"rules": NOISE}).json()
        assert told["refusal"][0]["code"] == "training-noise-unfit"


class TestRoles:
    def test_the_worker_is_told_what_was_asked_for(self, begin):
        told = begin(roles={"frozen": ["encoder.*"], "trainable": ["encoder.last.*"]})
        asked = {"trainable": ["encoder.last.*"], "frozen": ["encoder.*"]}
        assert told["roles"] == asked
        assert Job.objects.get(kind="federated-schema").input["roles"] == asked

    @pytest.mark.parametrize(
        ("roles", "pointer"),
        [
            ({"learned": ["w"]}, "/roles/learned"),
            ({"frozen": "w"}, "/roles/frozen"),
            ({"frozen": [""]}, "/roles/frozen"),
            ({"frozen": ["w" * 201]}, "/roles/frozen"),
            ({"frozen": ["w"] * 101}, "/roles/frozen"),
        ],
    )
    def test_other_roles_are_refused(self, api, ada, version, roles, pointer):
        made = api(ada).post("models/ada/net/trainings", {"version": 1, "roles": roles})
        assert (made.status_code, made.json()["errors"][0]["pointer"]) == (400, pointer)


class TestSelection:
    @pytest.fixture
    def training(self, begin):
        return begin(schedule={"cohort": 2})

    @pytest.fixture
    def devices(self, api, ada, training):
        code = learning.invited(ada, row(training))
        return [learning.Device(api, row(training), code) for _ in range(5)]

    def test_everybody_is_asked_while_there_are_not_more(self, training, devices):
        assert training["round"]["selection"] is None
        assert all(device.get("task").status_code == 200 for device in devices)

    def test_a_draw_can_be_checked(self, api, ada, training, devices):
        finish_round(devices[:2])
        address = f"models/ada/net/trainings/{training['number']}"
        told = api(ada).get(f"{address}/rounds/2").json()
        drawn, names = told["selection"], set(told["selected"])
        assert (drawn["asked"], drawn["candidates"], len(names)) == (2, 5, 2)
        for device in devices:
            content = bytes.fromhex(drawn["seed"]) + device.name.encode()
            is_low = hashlib.sha256(content).hexdigest() <= drawn["limit"]
            assert is_low == (device.name in names)
            assert device.get("task").status_code == (200 if is_low else 204)
        assert "selected" not in api().get(f"{address}/rounds/2").json()
        before = api().get(address).json()["selection"]
        assert set(before) == {"commitment"}
        ended = api(ada).post(f"{address}/finish").json()["selection"]
        seed = bytes.fromhex(ended["seed"])
        assert ended["commitment"] == before["commitment"]
        assert ended["commitment"] == f"sha256:{hashlib.sha256(seed).hexdigest()}"
        assert drawn["seed"] == hmac.digest(seed, b"2", "sha256").hex()

    def test_who_was_not_drawn_is_refused(self, training, devices):
        finish_round(devices[:2])
        asked = [device for device in devices if device.get("task").status_code == 200]
        other = next(device for device in devices if device not in asked)
        refused = other.push(asked[0].task(), learning.tensors(0.1))
        assert (refused.status_code, learning.slug(refused)) == (403, "not-allowed")

    @pytest.mark.parametrize(
        ("schedule", "count"),
        [({"cohort_fraction": 0.5}, 4), ({"cohort_fraction": 0.1}, 2), ({"cohort": 3}, 3)],
    )
    def test_how_many_are_asked(self, schedule, count):
        from registry.federated.schedule import Schedule

        assert selection.cohort_size(Schedule.from_json(schedule), 8) == count

    def test_suspended_participants_are_not_drawn(self, ada, training, devices):
        gone = {device.name for device in devices[2:4]}
        Participant.objects.filter(pseudonym__in=gone).update(state="suspended")
        finish_round(devices[:2])
        drawn = Round.objects.get(training=row(training), number=2)
        assert (drawn.candidates, gone.isdisjoint(drawn.selected)) == (3, True)

    @pytest.mark.parametrize(
        ("schedule", "field"),
        [
            ({"cohort": 1}, "cohort"),
            ({"cohort": 3, "cohort_fraction": 0.5}, "cohort_fraction"),
            ({"cohort_fraction": 0}, "cohort_fraction"),
            ({"cohort_fraction": True}, "cohort_fraction"),
            ({"cohort": 10_001}, "cohort"),
        ],
    )
    def test_cohorts_that_cannot_be(self, api, ada, version, schedule, field):
        made = api(ada).post("models/ada/net/trainings", {"version": 1, "schedule": schedule})
        assert made.status_code == 400
        assert made.json()["errors"][0]["pointer"] == f"/schedule/{field}"


class TestScores:
    @pytest.fixture
    def training(self, begin):
        schedule = {"quorum": 1, "target": 1, "most_rounds": 3, "checkpoints_kept": 2}
        return row(begin(schedule=schedule, release_best="highest"))

    @pytest.fixture
    def device(self, api, ada, training):
        return learning.Device(api, training, learning.invited(ada, training))

    @pytest.fixture
    def score(self, api, ada, training):
        address = f"models/ada/net/trainings/{training.number}/rounds"
        return lambda number, value, user=ada: api(user).put(
            f"{address}/{number}/score", {"score": value}
        )

    def test_the_best_round_becomes_the_version_once_all_are_scored(self, training, device, score):
        for number, value in ((1, 0.7), (2, 0.9), (3, 0.8)):
            finish_round([device])
            retention.forget()
            assert not Version.objects.filter(number=2).exists()
            answer = score(number, value)
            assert (answer.status_code, answer.json()["score"]) == (200, value)
        training.refresh_from_db()
        assert training.state == "finished"
        made = Round.objects.select_related("version").exclude(version=None).get()
        assert (made.number, made.version.number) == (2, 2)
        assert score(1, 0.6).status_code == 200
        assert Round.objects.exclude(version=None).count() == 1

    def test_the_best_result_is_kept_however_old(self, training, device, score):
        finish_round([device])
        score(1, 0.9)
        for _ in range(2):
            finish_round([device])
        retention.forget()
        kept = Aggregate.objects.order_by("round__number").values_list("result_sha256", "result")
        assert [bool(blob) for _, blob in kept] == [True, True, True]
        Training.objects.update(release_best="")
        retention.forget()
        assert Aggregate.objects.get(round__number=1).result is None

    def test_only_results_have_scores_and_only_maintainers_give_them(
        self, bob, training, device, score
    ):
        early = score(1, 0.5)
        assert (early.status_code, learning.slug(early)) == (409, "training-state")
        finish_round([device])
        assert score(1, 0.5, bob).status_code == 403
        assert score(1, None).status_code == 400

    def test_the_lowest_may_be_the_best(self, training, device, score):
        Training.objects.update(release_best="lowest")
        for number, value in ((1, 0.7), (2, 0.3), (3, 0.3)):
            finish_round([device])
            score(number, value)
        assert Round.objects.exclude(version=None).get().number == 2

    def test_the_result_is_there_for_who_scores_it(self, api, ada, training, device):
        address = f"models/ada/net/trainings/{training.number}/rounds/1/result"
        assert api(ada).get(address).status_code == 404
        finish_round([device])
        digest = hashlib.sha256(b"".join(api(ada).get(address))).hexdigest()
        assert digest == Aggregate.objects.get().result_sha256
        assert api().get(address).status_code == device.api.get(address).status_code == 404

    def test_a_score_is_a_number(self, ada, training, device):
        from hub.protocol import problems

        finish_round([device])
        made = Round.objects.select_related("training__model__namespace").get(number=1)
        with pytest.raises(problems.InvalidRequest):
            rounds.give_score(ada, of=made, score=float("nan"))


def test_a_training_depends_on_its_base_until_it_is_over(api, ada, begin, version):
    told = begin()
    refused = api(ada).post("models/ada/net/versions/1/yank", {"reason": "It forgets."})
    assert refused.status_code == 409
    name = f"ada/net/trainings/{told['number']}"
    assert refused.json()["dependents"] == [{"kind": "training", "name": name}]
    Training.objects.update(state="cancelled")
    yanked = api(ada).post("models/ada/net/versions/1/yank", {"reason": "It forgets."})
    assert yanked.json()["state"] == "yanked"
