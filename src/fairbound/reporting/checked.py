"""What a page says of the checker's work: what it found, and why not if it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from fairbound.reporting.attachment import Attachment
from fairbound.reporting.report_data import Findings
from fairbound.wording.digits import radius_down
from fairbound.wording.names import printable, shortened

#: So many lines of reasons, and so many reasons in detail, are shown.
MOST_LINES, MOST_REASONS = 12, 200

#: More radii than these are not listed.
MOST_RADII = 20

#: A reason is cut to so many characters.
MOST_CHARACTERS = 1000

#: Where a reason names the radius that it is about.
AT_RADIUS = re.compile(r"^(?:.*?: )?rho = (\S+): (.*)$", re.DOTALL)


@dataclass(frozen=True)
class CheckView:
    """The check of a document."""

    findings: Findings
    attached: Attachment | None

    @property
    def digest(self) -> str:
        """The SHA-256 of the document."""
        return sha256(self.findings.document).hexdigest()

    @property
    def size(self) -> str:
        """How large the document is."""
        return f"{len(self.findings.document) / 1e6:.1f} MB"

    @property
    def radii(self) -> str:
        """The radii of the part of a curve that is attached; nothing if all is."""
        kept = () if self.attached is None or self.attached.radii is None else self.attached.radii
        return ", ".join(radius_down(rho) for rho in kept[:MOST_RADII])


def refusals(findings: Findings) -> tuple[list[str], list[str]]:
    """Return why a document is not proved, in a line for each radius, and all reasons in detail."""
    reasons = [shortened(printable(reason), MOST_CHARACTERS) for reason in findings.verification.reasons]
    lines: dict[str, str] = {}
    for reason in reasons:
        found = AT_RADIUS.match(reason)
        if found is None:
            lines.setdefault(reason, reason)
        else:
            lines.setdefault(f"rho = {found[1]}", f"rho = {found[1]}: {found[2]}")
    short = list(lines.values())
    more = [f"and {len(short) - MOST_LINES} more"] if len(short) > MOST_LINES else []
    return short[:MOST_LINES] + more, reasons[:MOST_REASONS]
