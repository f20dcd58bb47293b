"""The second checker, in JavaScript, run by Node: what it says of many documents, beside what the first one says.

Without Node the tests that need it are skipped; FAIRBOUND_NODE names the program if it is not on the PATH.
"""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import pytest

from fairbound import Verdict, Verification, verify

CHECKER = files("fairbound.reporting").joinpath("checker.js")

#: Reads documents, each as base64 in a line, and answers each in a line.
DRIVER = """
const { check } = require(process.argv[1]);
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const begun = process.cpuUsage().user, result = check(Buffer.from(line, "base64"));
  console.log(JSON.stringify({ ...result, seconds: (process.cpuUsage().user - begun) / 1e6 }));
});
"""

#: One thing that the second checker leaves undone, and says so.
LOOKS = "must not look like"

#: Another thing that it leaves to the first, once all else holds, and says so.
BETS = "are left to fairbound verify"

#: Either checker may refuse what takes too long; they do not measure alike.
WORK = ("would take", "takes too much work")


def node() -> str:
    """Return the program; without one the test is skipped."""
    found = os.environ.get("FAIRBOUND_NODE") or shutil.which("node") or shutil.which("nodejs")
    if found is None:
        pytest.skip("no Node: neither node nor nodejs is on the PATH (Debian: apt-get install nodejs)")
    return found


def second_opinions(texts: Iterable[str | bytes]) -> list[dict[str, Any]]:
    """Return what the second checker says of documents."""
    written = (text.encode() if isinstance(text, str) else text for text in texts)
    lines = "".join(f"{base64.b64encode(text).decode()}\n" for text in written)
    ran = subprocess.run([node(), "-e", DRIVER, str(CHECKER)], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def disagreements(
    texts: Mapping[str, str | bytes], opinions: list[dict[str, Any]] | None = None
) -> tuple[list[str], set[Verdict]]:
    """Compare both checkers, and return where they differ, and which verdicts there were."""
    found: list[str] = []
    verdicts: set[Verdict] = set()
    second = second_opinions(texts.values()) if opinions is None else opinions
    assert len(second) == len(texts)
    for (name, text), other in zip(texts.items(), second, strict=True):
        first, reasons = verify(text), [other["reason"] or ""]
        reasons += first.reasons
        if any(LOOKS in reason for reason in first.reasons) or any(
            part in r for r in reasons for part in (*WORK, BETS)
        ):
            continue
        verdicts.add(first.verdict)
        if first.verdict.value != other["verdict"] or "the checker itself failed" in other["notes"]:
            found.append(f"{name}: {first.verdict.value} {first.reasons}, {other['verdict']} {other['reason']}")
        elif first.verdict is Verdict.PROVED and not _same_numbers(first, other):
            found.append(f"{name}: {first.checked_bound}, {first.witness_value}, but {other['questions']}")
    return found, verdicts


def _same_numbers(first: Verification, other: dict[str, Any]) -> bool:
    """Tell whether of each question the bound that is proved, and the worst case's value, are those of some radius."""
    pairs = zip(first.questions, other["questions"], strict=True)
    gates = [one["gate"]["passed"] for one in other["questions"] if "gate" in one]
    return sorted(gates) == sorted(passed for passed, _ in first.gates) and all(
        _among(one.checked_bound, [point["proved"] for point in two["points"]])
        and _among(one.witness_value, [point["value"] for point in two["points"]])
        for one, two in pairs
    )


def _among(number: float | None, numbers: list[float | None]) -> bool:
    if number is None:
        return None in numbers
    return any(one is not None and math.isclose(number, one, rel_tol=1e-14, abs_tol=1e-15) for one in numbers)
