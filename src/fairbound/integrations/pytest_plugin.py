"""The pytest plugin: a fixture that certifies and asserts, and the certificates of a test run as files.

pytest loads it wherever fairbound is installed, so it imports nothing of the rest before a test asks for it.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from fairbound.certificate.certificate import Certificate
    from fairbound.certificate.evidence import Evidence
    from fairbound.data.population import Population

#: The option, and the end of the names of properties that hold files.
OPTION, FILE = "--fairbound-report", ".certificate"

#: Longer names of files are cut: with what is added to them they fit anywhere.
LONGEST = 100


class AssertCertified(Protocol):
    """What the fixture ``assert_certified`` hands out."""

    def __call__(
        self,
        population: Population,
        *,
        rho: float,
        at_most: float | None = None,
        at_least: float | None = None,
        **asked: Any,
    ) -> Certificate:
        """Certify, and fail the test if the bound breaks the threshold."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("fairbound").addoption(
        OPTION, metavar="DIR", help="write the certificates of all tests that use assert_certified into this folder"
    )


@pytest.fixture
def assert_certified(request: pytest.FixtureRequest) -> AssertCertified:
    """Certify, and fail the test if the bound breaks a threshold: fairbound.integrations.testing.assert_certified.

    The numbers become properties of the test, in JUnit's file too; with --fairbound-report the certificate is kept.
    """
    from fairbound.integrations.testing import evidence_of, judge  # noqa: PLC0415 (nobody else pays for it)

    def certified(
        population: Population,
        *,
        rho: float,
        at_most: float | None = None,
        at_least: float | None = None,
        **asked: Any,
    ) -> Certificate:
        __tracebackhide__ = True
        evidence = evidence_of(population, rho, at_most, at_least, asked)  # type: ignore[arg-type]  # checked there
        _record(request, evidence)
        return judge(evidence)

    return certified


def _record(request: pytest.FixtureRequest, evidence: Evidence) -> None:
    """Keep the numbers as properties of the test and, if a folder is named, the certificate as a file."""
    from fairbound.integrations.summary import Summary  # noqa: PLC0415 (likewise)

    item, folder = request.node, request.config.getoption(OPTION)
    summary = Summary.of(evidence)
    (line,) = summary.lines
    begin = f"fairbound.{line.name}@{line.rho:g}"
    facts: dict[str, object] = {
        "bound": line.bound,
        "attained": line.attained,
        "threshold": line.threshold,
        "outcome": summary.verdict,
    }
    item.user_properties += [(f"{begin}.{key}", value) for key, value in facts.items()]
    if folder is not None:
        kept = request.config.invocation_params.dir / folder
        kept.mkdir(parents=True, exist_ok=True)
        count = sum(name.endswith(FILE) for name, _ in item.user_properties) + 1
        file = kept / f"{_file_name(item.nodeid)}-{count}.json"
        file.write_bytes(summary.document)
        item.user_properties.append((f"{begin}{FILE}", str(file)))


def _file_name(nodeid: str) -> str:
    """Return a name for the files of a test that no other test has, whatever its parameters are."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", nodeid).strip("-.")
    digest = hashlib.sha256(nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[-LONGEST:]}-{digest}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which certificates were kept: workers hand their tests' properties on."""
    reports = [report for several in terminalreporter.stats.values() for report in several]
    named = (pair for report in reports for pair in getattr(report, "user_properties", ()))
    files = {str(value): None for name, value in named if str(name).startswith("fairbound.") and name.endswith(FILE)}
    if files:
        terminalreporter.section("fairbound")
        for file in sorted(files):
            terminalreporter.write_line(file)
        terminalreporter.write_line(f"{len(files)} certificates; check one with: fairbound verify FILE")
