"""What doctor and preflight report: findings with a severity, as text or JSON, and the exit status.

Standard library only: doctor must run where nothing else can be imported.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import IntEnum

EXAMPLES = 5


class Severity(IntEnum):
    """How bad a finding is; its value over NOTE is the exit status: 0 for OK and NOTE, 1 WARNING, 2 FAULT."""

    OK = -1
    NOTE = 0
    WARNING = 1
    FAULT = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        severity: How bad it is.
        subject: The file, package or setting, by its name.
        says: What is so, in a few words that are the same for all subjects with that trouble.
        cure: A command or a sentence that mends it. Default: none needed.
        where: The part of the config it belongs to. Default: none.
    """

    severity: Severity
    subject: str
    says: str
    cure: str = ""
    where: str = ""


def exit_code(findings: Iterable[Finding]) -> int:
    """0 where nothing is worse than a note, 1 with warnings, 2 with faults."""
    return max([0, *(int(finding.severity) for finding in findings)])


def as_json(findings: Iterable[Finding]) -> str:
    """All findings as a JSON object: ``exit_code`` and ``findings`` (severity, subject, says, cure, where)."""
    rows = [{**asdict(finding), "severity": finding.severity.name.lower()} for finding in findings]
    worst = max([0, *(int(Severity[row["severity"].upper()]) for row in rows)])
    return json.dumps({"exit_code": worst, "findings": rows}, indent=2)


def as_text(findings: Iterable[Finding], examples: int = EXAMPLES) -> str:
    """Findings for reading, the worst first; those that say the same of many subjects are one entry.

    Args:
        findings: All of them.
        examples: How many subjects such an entry shows. Default: 5.
    """
    groups: dict[tuple[Severity, str, str, str], list[str]] = {}
    for finding in findings:
        key = (finding.severity, finding.where, finding.says, finding.cure)
        groups.setdefault(key, []).append(finding.subject)
    ordered = sorted(groups.items(), key=lambda group: -group[0][0])
    return "\n".join(_entry(*key, subjects, examples) for key, subjects in ordered)


def summary(findings: Iterable[Finding]) -> str:
    """One line: how many faults and warnings."""
    severities = [finding.severity for finding in findings]
    faults, warnings = severities.count(Severity.FAULT), severities.count(Severity.WARNING)
    return f"{faults} fault{'s' * (faults != 1)}, {warnings} warning{'s' * (warnings != 1)}"


def _entry(severity: Severity, where: str, says: str, cure: str, subjects: list[str], examples: int) -> str:
    head = f"{severity.name.lower():8}{where + ': ' if where else ''}"
    if len(subjects) == 1:
        lines = [f"{head}{subjects[0]}: {says}"]
    else:
        lines = [f"{head}{says} ({len(subjects)})", *(f"{'':10}{subject}" for subject in subjects[:examples])]
        lines += [f"{'':10}and {len(subjects) - examples} more"] if len(subjects) > examples else []
    return "\n".join(lines + ([f"{'':10}-> {cure}"] if cure else []))
