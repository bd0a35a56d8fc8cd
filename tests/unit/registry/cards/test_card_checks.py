"""What is said of a card while it is written: all of it at once, by line and field."""

from __future__ import annotations

import pytest

from hub.protocol import problems
from registry.cards import cards, source, values


def found(front):
    return {(one.severity, one.pointer): one for one in cards.check(f"---\n{front}---\n").findings}


@pytest.mark.parametrize(
    ("front", "severity", "pointer", "cure"),
    [
        ("license: apache2\n", "warning", "/license", "apache2 -> apache-2.0."),
        ("pipeline_tag: image-clasification\n", "warning", "/pipeline_tag", "image-classification"),
        ("licence: mit\n", "warning", "/licence", "licence -> license."),
        ("traning_data: []\n", "warning", "/traning_data", "training_data"),
        ("language: English\n", "warning", "/language", "English -> en."),
        ("precision: fp23\n", "warning", "/precision", "fp32"),
        ("personal_data: none\n", "error", "/personal_data", "Write one of"),
        ("personal_data: {status: ano}\n", "error", "/personal_data/status", "Write one of"),
        ("personal_data: {note: x}\n", "error", "/personal_data", "yes, no, anonymised"),
        ("personal_data: no\n", "warning", "/personal_data", 'Write "no" in quotes.'),
        ("personal_data: {status: 'yes'}\n", "warning", "/personal_data", "legal ground"),
        ("base_model_relation: fine-tune\n", "error", "/base_model_relation", "-> finetune"),
        ("co2_eq_emissions: .nan\n", "error", "/co2_eq_emissions", "not known"),
        ("co2_eq_emissions: -1\n", "error", "/co2_eq_emissions", "Correct"),
        ("co2_eq_emissions: 0.4 kg\n", "error", "/co2_eq_emissions", "400"),
        ("co2_eq_emissions: {emissions: 0.4, source: s}\n", "warning",
         "/co2_eq_emissions/emissions", "If so, write 400."),
        ("energy: 10\nco2_eq_emissions: {emissions: 4, source: s}\n", "warning",
         "/co2_eq_emissions/emissions", "If so, write 4000."),
        ("energy: 1\nco2_eq_emissions: {emissions: 9000, source: s}\n", "warning",
         "/co2_eq_emissions/emissions", "Check both units"),
        ("co2_eq_emissions: 40\n", "warning", "/co2_eq_emissions", "carbon_method"),
        ("energy: much\n", "error", "/energy", "digits alone"),
        ("date: 2026-13-01\n", "error", "/date", "Correct"),
        ("date: soon\n", "error", "/date", "2026-01-31"),
        ("doi: 10.1/x\n", "error", "/doi", "10.24432"),
        ("creators: [{name: A, orcid: 0000-0002-1825-0098}]\n", "error", "/creators/0/orcid",
         "Copy"),
        ("training_data: [{rows: 1.5, name: x}]\n", "error", "/training_data/0/rows", "fraction"),
        ("training_data: [{rows: -1, name: x}]\n", "error", "/training_data/0/rows", "Correct"),
        ("training_data: [{rows: 1}]\n", "error", "/training_data/0", "name or iri"),
        ("training_data: [{name: x, iri: nowhere}]\n", "error", "/training_data/0/iri", "https"),
        ("training_data: [{name: x, licence: mit}]\n", "warning", "/training_data/0/licence",
         "license"),
        ("hardware: run in /home/ada/x\n", "warning", "/hardware", "cannot be changed"),
        ("model-index: [{results: [{metrics: [{type: accuracy, value: 97}]}]}]\n", "warning",
         "/model-index/0/results/0/metrics/0/value", "0.97"),
        ("model-index: [{results: [{metrics: [{type: f1, value: 970}]}]}]\n", "error",
         "/model-index/0/results/0/metrics/0/value", "fraction"),
        ("model-index: [{results: [{metrics: [{type: wer, value: 0.1, verifyToken: t}]}]}]\n",
         "warning", "/model-index/0/results/0/metrics/0/verifyToken", "shows its own measurements"),
        ("license: other\n", "warning", "/license", "license_name"),
        ('a: "\\0"\n', "error", "/a", "character"),
        ("a: !!binary aGk=\n", "error", "/a", "file"),
    ],
)  # fmt: skip
def test_a_value_is_named_with_its_cure(front, severity, pointer, cure):
    one = found(front)[severity, pointer]
    assert cure in one.cure
    assert f"Line {one.line}" in one.detail


@pytest.mark.parametrize(
    "front",
    [
        "license: MIT OR Apache-2.0\n",
        "license: llama3.1\n",
        "license: [mit, cc-by-4.0]\n",
        "co2_eq_emissions: {emissions: 420, source: CodeCarbon}\nenergy: {kwh: 1.1}\n",
        "creators: [Ada, {name: B, orcid: https://orcid.org/0000-0002-1694-233X}]\n",
        "training_data: [{name: x, doi: 10.24432/C50P49, personal_data: unknown}]\n",
        "my_own_field: {anything: [1, 2]}\nwidget: []\n",
        "date: 2026-01-31\n",
        "tags:\n",
        "eval_results: [{dataset: {id: a/b}, value: 0.4, date: '2026-01-31'}]\n",
        "risks: [misuse, {title: t, severity: high}]\n",
    ],
)
def test_what_is_right_is_left_alone(front):
    assert found(front) == {}


def test_all_that_is_wrong_is_told_at_once():
    text = "---\nlicense: [mit\ntask: text: x\nb: *x\nlanguage: English\nrows:\n\t- 1\n---\n"
    checked = cards.check(text)
    assert [(one.line, one.severity) for one in checked.findings] == [
        (2, "error"),
        (3, "error"),
        (4, "error"),
        (5, "warning"),
        (7, "error"),
    ]
    assert "spaces instead of tabs" in checked.findings[-1].cure
    with pytest.raises(problems.CardInvalid) as refused:
        cards.accept(text)
    assert [error["pointer"] for error in refused.value.errors] == [
        "/line/2",
        "/line/3",
        "/line/4",
        "/line/7",
    ]
    assert "And 3 more." in refused.value.detail


def test_a_field_that_is_given_twice_is_an_error():
    text = "---\nlicense: mit\ntags: [a]\nlicense: apache-2.0\n---\n"
    (one,) = cards.check(text).errors
    assert (one.line, one.field) == (4, "license")
    assert "line 2" in one.message


def test_the_line_of_a_field():
    text = "\ufeff---\na: 1\ntraining_data:\n  - name: x\n    rows: 1\n  - name: y\n---\n"
    assert cards.line_of(text, "/training_data/0/rows") == 5
    assert cards.line_of(text, "/training_data/1/license") == 6
    assert cards.line_of(text, "/line/9") == 9
    assert cards.line_of(text, "/license") is None
    assert cards.line_of("no front matter", "/license") is None


@pytest.mark.parametrize(
    "text",
    [
        "---\n" + "[" * 50_000 + "\n---\n",
        "---\n" + "a: &a [x]\nb: [*a, *a]\n---\n",
        "---\n" + "- " * 40_000 + "\n---\n",
        "---\nnever closed",
        "---\n" + "%: {\n" * 5_000 + "---\n",
        "---\nx: " + "9" * 50_000 + "\n---\n",
        "---\n? [a]\n: 1\n---\n",
        "---\n\ud800: 1\n---\n",
        "x\x00",
        "x" * (cards.LIMIT_BYTES + 1),
    ],
)
def test_hostile_text_is_told_and_not_raised(text):
    assert cards.check(text).errors


def deep(levels):
    return "---\na: " + "[" * levels + "]" * levels + "\n---\n"


def wide(values):
    return "---\na: [" + ",".join("1" * values) + "]\n---\n"


def long(characters):
    return f"---\na: {'x' * (characters - len('a: ') - 1)}\n---\n"


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (deep, source.LIMIT_DEPTH - 1),  # the mapping around it is a level
        (wide, source.LIMIT_NODES - 3),  # so are the mapping, its key and the list values
        (long, source.LIMIT_FRONT_BYTES),
    ],
)
def test_front_matter_is_bounded_to_the_edge(make, most):
    assert cards.check(make(most)).errors == []
    (refused,) = cards.check(make(most + 1)).errors
    assert refused.pointer.startswith("/line/")


def test_the_check_digit_of_an_orcid():
    assert values.is_orcid("0000-0002-1694-233X")
    assert not values.is_orcid("0000-0002-1694-2330")
