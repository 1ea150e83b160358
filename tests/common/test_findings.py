"""Reports: order, grouping, exit status, JSON."""

import json

import pytest

from csan_mm.common.findings import Finding, Severity, as_json, as_text, exit_code, summary

FAULT = Finding(Severity.FAULT, "a.jpg", "is empty", "restore it", "train")
NOTE = Finding(Severity.NOTE, "b.jpg", "is grey")


@pytest.mark.parametrize(
    ("severities", "code"),
    [([], 0), (["OK"], 0), (["OK", "NOTE"], 0), (["NOTE", "WARNING"], 1), (["FAULT", "WARNING", "OK"], 2)],
)
def test_exit_code_is_that_of_the_worst(severities, code):
    findings = [Finding(Severity[name], "x", "y") for name in severities]
    assert exit_code(findings) == code
    assert json.loads(as_json(findings))["exit_code"] == code


def test_text_has_the_worst_first_and_the_cure():
    assert as_text([NOTE, FAULT]).splitlines() == [
        "fault   train: a.jpg: is empty",
        "          -> restore it",
        "note    b.jpg: is grey",
    ]


def test_same_findings_are_one_entry_with_examples():
    many = [Finding(Severity.WARNING, f"{index}.jpg", "has 16 bits") for index in range(7)]
    lines = as_text(many).splitlines()
    assert lines[0] == "warning has 16 bits (7)"
    assert [line.strip() for line in lines[1:]] == ["0.jpg", "1.jpg", "2.jpg", "3.jpg", "4.jpg", "and 2 more"]
    assert summary([*many, FAULT]) == "1 fault, 7 warnings"


def test_json_has_everything():
    assert json.loads(as_json([FAULT]))["findings"] == [
        {"severity": "fault", "subject": "a.jpg", "says": "is empty", "cure": "restore it", "where": "train"}
    ]
