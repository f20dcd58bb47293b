"""Pipelines: the step summary and the annotations of GitHub, and JUnit's XML, which GitLab and others read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as Xml  # writes only: nothing of a stranger is parsed

from fairbound.certificate.evidence import Outcome
from fairbound.integrations.summary import Source, Summary
from fairbound.wording.digits import radius_down
from fairbound.wording.names import printable

#: What tells that a command runs on GitHub, and where the step's summary is written.
ON_GITHUB, STEP_SUMMARY = "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"

#: What ends a command of GitHub's, or a property in it.
_COMMAND = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _COMMAND | {":": "%3A", ",": "%2C"}

#: What JUnit counts of test cases, and the element that counts.
_KINDS = (("failures", "failure"), ("errors", "error"))


def write_step_summary(source: Source | Summary, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Append the verdict and the table to the summary of a GitHub step; None where there is no such file."""
    path = environment.get(STEP_SUMMARY)
    if not path:
        return None
    file = Path(path)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(Summary.of(source).markdown() + "\n")
    return file


def github_annotations(source: Source | Summary, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the commands that make GitHub show gates that are not passed; none elsewhere.

    A gate that failed is an error, one that rows do not settle a warning.
    """
    if environment.get(ON_GITHUB) != "true":
        return []
    found = []
    for gate in Summary.of(source).evidence.gates:
        if gate.outcome is not Outcome.PASSED:
            level = "warning" if gate.outcome is Outcome.UNSETTLED else "error"
            title = _safe(f"fairbound: {gate.metric}", _PROPERTY)
            found.append(f"::{level} title={title}::{_safe(gate.explained, _COMMAND)}")
    return found


def _safe(text: str, marks: Mapping[str, str]) -> str:
    """Write a text so that it stays within a command."""
    return "".join(marks.get(c, c) for c in printable(text))


def junit(source: Source | Summary) -> str:
    """Return gates as JUnit's XML: a test case for each threshold, and one for each question without any.

    What rows do not settle is an error, to tell it from a model that fails. Each case has the numbers as properties.
    """
    summary = Summary.of(source)
    gates = iter(summary.evidence.gates)
    cases = []
    for lines in summary.questions:
        gate = None if lines[0].threshold is None else next(gates)
        case = Xml.Element("testcase", classname="fairbound", name=_plain(lines[0].name))
        properties = Xml.SubElement(case, "properties")
        for line in lines:
            for key in ("bound", "attained", "threshold"):
                value = getattr(line, key)
                if value is not None:
                    name = f"{key}@{radius_down(line.rho)}"
                    Xml.SubElement(properties, "property", name=name, value=repr(value))
        if gate is not None and gate.outcome is not Outcome.PASSED:
            kind = "error" if gate.outcome is Outcome.UNSETTLED else "failure"
            Xml.SubElement(case, kind, message=_plain(gate.explained), type=gate.outcome.name.lower())
        cases.append(case)
    suite = Xml.Element("testsuite", name="fairbound", tests=str(len(cases)))
    for counted, tag in _KINDS:
        suite.set(counted, str(sum(case.find(tag) is not None for case in cases)))
    suite.extend(cases)
    root = Xml.Element("testsuites")
    root.append(suite)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True)


def _plain(text: str) -> str:
    """Return a text that XML can hold, on one line."""
    return " ".join(printable(text).split())
