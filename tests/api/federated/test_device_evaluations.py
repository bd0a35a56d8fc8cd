"""Evaluations on devices: tasks, signed reports, the rule of a release, and who sees what."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from hub.protocol import canonical, federated
from registry.federated.models import DeviceEvaluation, DeviceReport, Round, Training
from registry.federated.services import evaluations, retention
from registry.models import Version
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]

COUNTS = {"n": 100, "base_right": 80, "candidate_right": 85}
BETTER, WORSE = 85, 75
EVALUATED = {"evaluation_target": 5, "target": 2}


@rows
def start():
    ada = factories.user("ada")
    version = factories.version(ada, factories.model(ada))
    return ada, learning.training(
        ada, version, rules={"needs_evaluation": True}, schedule=EVALUATED, release_every=1
    )


@pytest.fixture
def ada(start):
    return fresh(start[0])


@pytest.fixture
def training(start):
    return Training.objects.select_related("model__namespace", "base").get(pk=start[1].pk)


@pytest.fixture
def devices(api, ada, training):
    """Five devices, the first two of which have made round 1."""
    code = learning.invited(ada, training)
    made = [learning.Device(api, training, code) for _ in range(5)]
    finish_round(made[:2])
    return made


def finish_round(devices):
    for device in devices:
        device.push(device.task(), learning.tensors(0.1))
    learning.work()


def evaluation_task(device):
    answer = device.get("evaluation-task")
    assert answer.status_code == 200, answer.content
    return answer.json()


def manifest(device, task, **changed):
    return {
        "training": device.training,
        "round": task["round"],
        "nonce": task["nonce"],
        "participant": device.name,
        "base": task["base"]["digest"],
        "candidate": task["candidate"]["digest"],
        "created": learning.CREATED,
    } | COUNTS | changed  # fmt: skip


def report(device, task, *, key=None, signed=None, **changed):
    """Send a report; ``signed`` are fields of the manifest that is signed in its place."""
    sent = manifest(device, task, **changed)
    text = federated.EvaluationManifest.from_json(sent | (signed or {})).canonical()
    return device.api.put(
        f"{device.address}/rounds/{task['round']}/evaluation/report",
        {"manifest": sent, "signature": federated.sign(text, key or device.key)},
    )


def report_all(devices, right):
    """Each device reports so many right answers of the candidate among 100, of the base 80."""
    task = evaluation_task(devices[0])
    for device, candidate_right in zip(devices, right, strict=True):
        assert report(device, task, candidate_right=candidate_right).status_code == 201
    learning.work()


def evaluation(api, user=None, number=1):
    return api(user).get(f"models/ada/net/trainings/1/rounds/{number}/evaluation").json()


def has_version():
    return Round.objects.get(number=1).version_id is not None


class TestTheRuleOfARelease:
    def test_a_round_waits_for_its_evaluation_and_becomes_a_version(self, api, devices):
        assert evaluation(api)["state"] == "open"
        assert not has_version()
        report_all(devices, [BETTER] * 5)
        told = evaluation(api)
        assert (told["state"], told["reports"]) == ("passed", 5)
        assert has_version()

    @pytest.mark.parametrize("liar", range(5))
    def test_a_device_that_lies_does_not_block_a_release(self, devices, liar):
        right = [BETTER] * 5
        right[liar] = 0
        report_all(devices, right)
        assert DeviceEvaluation.objects.get().state == "passed"
        assert has_version()

    @pytest.mark.parametrize("liar", range(5))
    def test_a_device_that_lies_does_not_force_a_release(self, devices, liar):
        right = [WORSE] * 5
        right[liar] = 100
        report_all(devices, right)
        assert DeviceEvaluation.objects.get().state == "failed"
        assert not has_version()

    def test_a_liar_with_the_most_examples_counts_once(self, devices):
        task = evaluation_task(devices[0])
        cap = task["examples_cap"]
        report(devices[0], task, n=cap, base_right=0, candidate_right=cap)
        for device in devices[1:]:
            report(device, task, candidate_right=WORSE)
        learning.work()
        assert DeviceEvaluation.objects.get().state == "failed"

    def test_too_few_reports_decide_nothing(self, api, devices):
        task = evaluation_task(devices[0])
        for device in devices[:4]:
            report(device, task)
        learning.work()
        assert evaluation(api)["state"] == "open"
        past_deadline()
        told = evaluation(api)
        assert (told["state"], told["scores"]) == ("below-quorum", None)
        assert not has_version()

    def test_another_evaluation_follows_one_without_a_verdict(self, api, ada, devices):
        past_deadline()
        asked = api(ada).post("models/ada/net/trainings/1/rounds/1/release")
        assert asked.status_code == 202, asked.content
        assert evaluation(api)["state"] == "open"
        report_all(devices, [BETTER] * 5)
        assert has_version()

    def test_a_failed_round_is_never_released(self, api, ada, devices):
        report_all(devices, [WORSE] * 5)
        address = "models/ada/net/trainings/1/rounds/1"
        for path in ("release", "evaluation"):
            answer = api(ada).post(f"{address}/{path}")
            assert (answer.status_code, learning.slug(answer)) == (409, "training-state")

    def test_a_finished_training_still_hears_its_last_evaluation(self, api, ada, devices):
        api(ada).post("models/ada/net/trainings/1/finish")
        report_all(devices, [BETTER] * 5)
        assert has_version()
        assert devices[0].get("evaluation-task").status_code == 410

    def test_a_cancelled_training_has_no_evaluation(self, api, ada, devices):
        api(ada).post("models/ada/net/trainings/1/cancel")
        assert evaluation(api)["state"] == "cancelled"
        assert devices[0].get("evaluation-task").status_code == 410


def past_deadline():
    """Let the deadline of the open evaluation pass, and a worker look."""
    later = timezone.now() + timedelta(seconds=3601)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        learning.work()


class TestAReport:
    def test_the_same_again_is_there_and_another_is_refused(self, devices):
        task = evaluation_task(devices[0])
        answers = [report(devices[0], task) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 200]
        other = report(devices[0], task, candidate_right=100)
        assert (other.status_code, learning.slug(other)) == (409, "contribution-differs")
        assert DeviceReport.objects.get().candidate_right == 85
        assert devices[0].get("evaluation-task").status_code == 204

    @pytest.mark.parametrize(
        ("changed", "status", "problem"),
        [
            ({"round": 9}, 404, "not-found"),
            ({"training": "other"}, 422, "manifest-replayed"),
            ({"participant": "p_other"}, 422, "manifest-replayed"),
            ({"nonce": "0" * 32}, 422, "nonce-wrong"),
            ({"base": f"sha256:{'0' * 64}"}, 409, "stale-base"),
            ({"candidate": f"sha256:{'0' * 64}"}, 409, "stale-base"),
            ({"n": 10_001}, 422, "examples-limit"),
            ({"n": 84}, 400, "invalid-request"),
            ({"base_right": 101}, 400, "invalid-request"),
            ({"n": 0}, 400, "invalid-request"),
            ({"candidate_right": -1}, 400, "invalid-request"),
            ({"candidate_right": True}, 400, "invalid-request"),
        ],
    )
    def test_what_does_not_answer_this_task_is_refused(self, devices, changed, status, problem):
        task = evaluation_task(devices[0])
        sent = manifest(devices[0], task, **changed)
        signature = federated.sign(canonical.encode(sent), devices[0].key)
        answer = devices[0].api.put(
            f"{devices[0].address}/rounds/{sent['round']}/evaluation/report",
            {"manifest": sent, "signature": signature},
        )
        assert (answer.status_code, learning.slug(answer)) == (status, problem)
        assert not DeviceReport.objects.exists()

    def test_a_signature_is_of_these_counts_by_this_device(self, devices):
        task = evaluation_task(devices[0])
        for wrong in (
            report(devices[0], task, key=devices[1].key),
            report(devices[0], task, signed={"candidate_right": 86}),
        ):
            assert (wrong.status_code, learning.slug(wrong)) == (422, "signature-invalid")

    def test_a_report_of_another_device_or_evaluation_cannot_be_sent_again(self, ada, devices):
        task = evaluation_task(devices[0])
        assert report(devices[0], task).status_code == 201
        row = DeviceReport.objects.get()
        content = {
            "manifest": json.loads(row.manifest),
            "signature": row.signature,
        }
        address = f"{devices[0].address}/rounds/1/evaluation/report"
        stolen = devices[1].api.put(address, content)
        assert learning.slug(stolen) == "manifest-replayed"
        past_deadline()
        evaluations.open_by_hand(ada, of=Round.objects.get(number=1))
        again = devices[0].api.put(address, content)
        assert learning.slug(again) == "nonce-wrong"

    def test_a_contribution_is_no_report(self, devices):
        task = evaluation_task(devices[0])
        content = learning.tensors(0.2)
        update = devices[0].task()
        sent = devices[0].manifest(update, content)
        signature = federated.sign(canonical.encode(sent), devices[0].key)
        answer = devices[0].api.put(
            f"{devices[0].address}/rounds/{task['round']}/evaluation/report",
            {"manifest": sent, "signature": signature},
        )
        assert (answer.status_code, learning.slug(answer)) == (400, "invalid-request")

    def test_reports_of_a_device_that_is_suspended_count_for_nothing(self, api, ada, devices):
        task = evaluation_task(devices[0])
        for device in devices[:4]:
            report(device, task)
        address = f"models/ada/net/trainings/1/participants/{devices[0].name}"
        assert api(ada).patch(address, {"state": "suspended"}).status_code == 200
        report(devices[4], task)
        learning.work()
        told = evaluation(api)
        assert (told["state"], told["reports"]) == ("open", 4)

    def test_a_report_after_the_end_is_refused(self, devices):
        task = evaluation_task(devices[0])
        past_deadline()
        late = report(devices[0], task)
        assert (late.status_code, learning.slug(late)) == (409, "round-closed")


class TestWhoSeesWhat:
    def test_everyone_sees_figures_and_maintainers_the_reports(self, api, ada, devices):
        report_all(devices, [83, 84, 85, 86, 70])
        told = evaluation(api)
        everything = told["scores"]["all"]
        assert everything["reports"] == 5
        assert everything["examples"] == 500
        assert everything["base"]["value"] == 0.8
        assert everything["candidate"]["value"] == pytest.approx(0.816)
        assert everything["change"]["value"] == 0.04
        assert everything["change"]["interval_method"] is None
        assert everything["worse"]["value"] == 0.2
        assert "given" not in told
        given = evaluation(api, ada)["given"]
        assert {row["participant"] for row in given} == {device.name for device in devices}
        assert sorted(row["candidate_right"] for row in given) == [70, 83, 84, 85, 86]

    def test_weights_are_for_devices_while_it_is_open(self, api, ada, devices):
        address = "models/ada/net/trainings/1/rounds/1/evaluation"
        for name in ("base", "candidate"):
            assert devices[4].get(f"rounds/1/evaluation/{name}").status_code == 200
            assert api().get(f"{address}/{name}").status_code == 404
        report_all(devices, [BETTER] * 5)
        assert devices[4].get("rounds/1/evaluation/base").status_code == 404
        assert not DeviceEvaluation.objects.exclude(base=None, candidate=None).exists()

    def test_pages_show_the_figures_and_the_score_apart(self, api, client, ada, devices):
        report_all(devices, [BETTER] * 5)
        api(ada).put("models/ada/net/trainings/1/rounds/1/score", {"score": 0.5})
        page = client.get("/models/ada/net/trainings/1/rounds/1").content.decode()
        assert "Evaluation on devices" in page
        assert "0.5, measured by maintainers" in page
        assert devices[0].name not in page
        client.force_login(ada)
        page = client.get("/models/ada/net/trainings/1/rounds/1").content.decode()
        assert devices[0].name in page
        assert (
            "Median change on devices" in client.get("/models/ada/net/trainings/1").content.decode()
        )

    def test_the_card_of_the_version_has_the_figures(self, devices):
        report_all(devices, [BETTER] * 5)
        readme = Version.objects.get(number=2).readme
        assert "the median change over the devices is +0.0500" in readme
        assert "cannot verify" in readme


class TestWhatIsCompared:
    def test_the_first_round_with_the_base_and_later_ones_with_what_was_published(
        self, api, devices
    ):
        task = evaluation_task(devices[0])
        first = Round.objects.get(number=1)
        assert task["base"]["digest"] == f"sha256:{first.base_sha256}"
        assert task["candidate"]["digest"] == f"sha256:{first.aggregate.result_sha256}"
        report_all(devices, [BETTER] * 5)
        Version.objects.filter(number=2).update(state="published", published_at=timezone.now())
        for _ in range(2):
            finish_round(devices[:2])
        bases = set(DeviceEvaluation.objects.filter(round__number__gt=1).values_list("base_sha256"))
        assert bases == {(first.aggregate.result_sha256,)}

    def test_what_the_training_began_with_is_kept_for_it(self, devices, training):
        for _ in range(11):
            finish_round(devices[:2])
        retention.forget()
        assert Round.objects.get(number=1).base is not None
        assert Round.objects.get(number=2).base is None


class TestLaws:
    @pytest.mark.parametrize(
        "change",
        ["state = 'open', ended_at = NULL", "scores = '{}'", "quorum = 9"],
    )
    def test_a_verdict_stays(self, devices, change):
        report_all(devices, [BETTER] * 5)
        refused(f"UPDATE federated_deviceevaluation SET {change}")  # noqa: S608

    @pytest.mark.parametrize("change", ["n = 200", "signature = 's'", "problem = 'x'"])
    def test_a_report_stays(self, devices, change):
        report_all(devices, [BETTER] * 5)
        first = "SELECT min(id) FROM federated_devicereport"
        refused(f"UPDATE federated_devicereport SET {change} WHERE id = ({first})")  # noqa: S608

    @pytest.mark.parametrize("table", ["deviceevaluation", "devicereport"])
    def test_nothing_is_deleted(self, devices, table):
        report_all(devices, [BETTER] * 5)
        refused(f"DELETE FROM federated_{table}")  # noqa: S608


def refused(sql):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


class TestNoise:
    @pytest.mark.parametrize(
        ("given", "pointer"),
        [
            ({"rules": {"needs_evaluation": True}}, "/rules/needs_evaluation"),
            ({"schedule": {"evaluate_every": 1}}, "/schedule/evaluate_every"),
        ],
    )
    def test_exact_reports_are_refused_beside_an_epsilon(self, api, ada, start, given, pointer):
        noise = {"noise_multiplier": 1.0, "clip_norm": 0.5}
        body = {"version": 1} | given | {"rules": noise | given.get("rules", {})}
        made = api(ada).post("models/ada/net/trainings", body)
        assert (made.status_code, made.json()["errors"][0]["pointer"]) == (400, pointer)
