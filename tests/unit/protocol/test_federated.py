"""Manifests, signatures, layouts, rules and the ledger of privacy."""

from __future__ import annotations

import json

import pytest

from hub.protocol import canonical, federated, privacy, problems, safetensors
from hub.protocol.federated import Manifest, Part
from hub.protocol.training_rules import RULES, Rules

SAID = {
    "training": "8f2c",
    "round": 3,
    "nonce": "0" * 32,
    "participant": "p_1",
    "base": "sha256:" + "1" * 64,
    "blob": "sha256:" + "2" * 64,
    "n": 279,
    "encoding": "delta/f32",
    "created": "2026-11-22T00:00:00Z",
    "claims": {"loss_after": 0.25, "loss_before": 2.0},
}


# RFC 8785, sections 3.2.2 and appendix B.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (5e-324, "5e-324"), (-1.7976931348623157e308,
        "-1.7976931348623157e+308"), (9007199254740992.0, "9007199254740992"),
        (295147905179352830000.0, "295147905179352830000"), (9.999999999999997e22,
        "9.999999999999997e+22"), (1e23, "1e+23"), (1e21, "1e+21"), (1e20, "1" + "0" * 20),
        (333333333.3333332, "333333333.3333332"), (1e-6, "0.000001"), (1e-7, "1e-7"),
        (-0.0000033333333333333333, "-0.0000033333333333333333"), (4.50, "4.5"), (10, "10"),
        (1424953923781206.2, "1424953923781206.2"), ([True, False, None], "[true,false,null]"),
        ('€$\x0f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "ö": 7},
         '{"\\r":2,"1":4,"\x80":6,"ö":7,"€":1,"😀":5,"\ufb33":3}'),
    ],
)  # fmt: skip
def test_canonical_json_is_that_of_rfc_8785(value, text):
    assert canonical.encode(value).decode() == text
    assert json.loads(text, parse_int=float) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1 << 53, "\ud800", {1: 2}, b"x"])
def test_what_has_no_canonical_form(value):
    with pytest.raises(canonical.NotCanonicalError):
        canonical.encode(value)


def test_a_signature_is_of_every_field():
    key = federated.new_key()
    public = federated.public_key(key)
    signature = federated.sign(Manifest.from_json(SAID).canonical(), key)
    # Whoever parses and writes the JSON again in between changes nothing.
    same = Manifest.from_json(
        json.loads(json.dumps({**SAID, "claims": dict(reversed(SAID["claims"].items()))}))
    )
    assert federated.verify(same.canonical(), signature, public)
    for name, other in {"n": 280, "round": 4, "nonce": "1" * 32, "participant": "p_2"}.items():
        changed = Manifest.from_json({**SAID, name: other})
        assert not federated.verify(changed.canonical(), signature, public)
    other = federated.public_key(federated.new_key())
    assert not federated.verify(same.canonical(), signature, other)


def test_claims_are_optional_and_part_of_what_is_signed():
    said = {name: value for name, value in SAID.items() if name != "claims"}
    without = Manifest.from_json(said)
    assert without.canonical() == canonical.encode(said)
    assert Manifest.from_json({**said, "claims": {}}).canonical() != without.canonical()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"claims": None}, "claims"), ({"encoding": "x" * 101}, "encoding"),
        ({"n": 0}, "n"), ({"n": True}, "n"), ({"n": 1.0}, "n"), ({"round": "3"}, "round"),
        ({"nonce": "A" * 32}, "nonce"), ({"base": "1" * 64}, "base"), ({"more": 1}, "more"),
        ({"encoding": []}, "encoding"), ({"created": "now"}, "created"),
        ({"claims": {"x": float("nan")}}, "claims"), ({"claims": {"x": "y"}}, "claims"),
        ({"participant": "a/b"}, "participant"),
    ],
)  # fmt: skip
def test_a_manifest_has_just_its_fields(change, field):
    with pytest.raises(problems.InvalidRequest) as caught:
        Manifest.from_json({**SAID, **change})
    assert caught.value.errors[0]["pointer"] == f"/manifest/{field}"


def test_a_key_has_one_text():
    text = federated.public_key(federated.new_key())
    assert len(federated.parse_public_key(text)) == 32
    for wrong in (text + "=", text[:-1], text[:-1] + "_", "", None, text + "AA"):
        if wrong != text:
            with pytest.raises(problems.InvalidRequest):
                federated.parse_public_key(wrong)


PARTS = (
    Part("w", "F32", (5000,), "trainable"),
    Part("v", "F32", (4,), "statistic", 0.0),
    Part("f", "F64", (2,), "frozen"),
)


def header(rows):
    return safetensors.make_header(rows)[1]


@pytest.mark.parametrize("encoding", federated.ENCODINGS)
def test_each_encoding_has_its_tensors_and_no_others(encoding):
    rows = [row for part in PARTS[:2] for row in federated.encoded(part, encoding, 50)]
    federated.expect(header(rows), PARTS, encoding)
    assert federated.file_bytes_at_most(PARTS, encoding) >= sum(
        tensor.end - tensor.start for tensor in header(rows).tensors
    )
    for wrong, tensor in (
        (rows[1:], rows[0][0]),
        ([*rows, ("f", "F64", (2,))], "f"),
        ([*rows[:-1], ("v", "F32", (2, 2))], "v"),
    ):
        with pytest.raises(federated.MismatchError) as caught:
            federated.expect(header(wrong), PARTS, encoding)
        assert caught.value.tensor == tensor


def test_the_layout_digest_is_of_order_and_roles():
    digest = federated.layout_digest(PARTS)
    assert federated.layout_digest(Part.from_json(part.to_json()) for part in PARTS) == digest
    assert federated.layout_digest(PARTS[::-1]) != digest
    changed = Part("w", "F32", (5000,), "frozen")
    assert federated.layout_digest((changed, *PARTS[1:])) != digest


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_whole_and_read_back(rule):
    rules = Rules.from_json({"rule": rule})
    assert Rules.from_json(json.loads(json.dumps(rules.to_json()))) == rules


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ({"rule": "krum"}, "/rules/rule"),
        ({"rule": "median", "parameters": {"rate": 1}}, "/rules/parameters/rate"),
        ({"rule": "fedadam", "parameters": {"beta1": 1}}, "/rules/parameters/beta1"),
        ({"examples_cap": 0}, "/rules/examples_cap"),
        ({"clip_multiple": float("nan")}, "/rules/clip_multiple"),
        ({"norm_limit": 0}, "/rules/norm_limit"),
        ({"client_certificate": 1}, "/rules/client_certificate"),
        ({"client_certificate": None}, "/rules/client_certificate"),
        ({"encodings": ["gzip"]}, "/rules/encodings"),
        ({"noise_multiplier": 1.0}, "/rules/clip_norm"),
        ({"noise_multiplier": 1.0, "clip_norm": 1.0, "rule": "median"}, "/rules/noise_multiplier"),
        ({"cap": 1}, "/rules/cap"),
        ([], "/rules"),
    ],
)
def test_rules_that_mean_nothing_are_refused(said, pointer):
    with pytest.raises(problems.InvalidRequest) as caught:
        Rules.from_json(said)
    assert caught.value.errors[0]["pointer"] == pointer


def spent(noise, rounds, delta, **others):
    return privacy.epsilon([privacy.Term(rounds, noise)], delta, **others)


def test_epsilon_is_that_of_published_accountants():
    """RDP of dp-accounting 0.6.0: 100 devices, all of them in 50 rounds, z = 1, delta = N^-1.1."""
    assert spent(1.0, 50, 100**-1.1) == pytest.approx(45.6, rel=5e-3)
    # The bound never promises more than the exact one for a Gaussian (Balle and Wang, 2018).
    assert spent(1.0, 1, 1e-5) > 4.377
    assert spent(1.0, 0, 1e-5) == 0
    assert spent(2.0, 40, 1e-5) == pytest.approx(spent(1.0, 10, 1e-5))
    with pytest.raises(ValueError, match="positive"):
        spent(0, 1, 1e-5)


def test_costs_add_up_before_they_become_epsilon_once():
    three, two = privacy.Term(3, 2.0), privacy.Term(2, 4.0)
    both = privacy.epsilon([three, two], 1e-5)
    # 3 / (2 * 2^2) + 2 / (2 * 4^2) = 3.5 / (2 * 2^2)
    assert both == pytest.approx(spent(2.0 / 3.5**0.5, 1, 1e-5))
    assert max(privacy.epsilon([one], 1e-5) for one in (three, two)) < both
    assert both < sum(privacy.epsilon([one], 1e-5) for one in (three, two))


def test_replacing_one_costs_as_much_as_half_the_noise():
    assert spent(2.0, 5, 1e-5, replace_one=True) == pytest.approx(spent(1.0, 5, 1e-5))


@pytest.mark.parametrize("delta", [0.17, 1.1e-3, 0, -1e-5, True, "1e-5", float("nan"), 1e-16])
def test_a_delta_that_promises_nothing_is_refused(delta):
    noise = {"noise_multiplier": 1.0, "clip_norm": 1.0}
    with pytest.raises(problems.InvalidRequest) as caught:
        Rules.from_json({**noise, "delta": delta})
    assert caught.value.errors[0]["pointer"] == "/rules/delta"


def test_a_delta_goes_with_noise_and_is_always_stated():
    noise = {"noise_multiplier": 1.0, "clip_norm": 1.0}
    assert Rules.from_json(noise).delta == 1e-5
    assert Rules.from_json({**noise, "delta": 1e-3}).delta == 1e-3
    assert Rules.from_json({}).delta is None
    with pytest.raises(problems.InvalidRequest):
        Rules.from_json({"delta": 1e-5})
