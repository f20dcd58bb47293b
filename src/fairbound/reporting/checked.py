"""What a page says of the checker's work: what it found, and why not if it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from fairbound.reporting.attachment import Attachment
from fairbound.reporting.report_data import Examined
from fairbound.wording.confidence import reached_in
from fairbound.wording.digits import radius_down
from fairbound.wording.names import printable, shortened

#: So many lines of reasons, and so many reasons in detail, are shown.
MOST_LINES, MOST_REASONS = 12, 200

#: More radii than these are not listed.
MOST_RADII = 20

#: A reason is cut to so many characters.
MOST_CHARACTERS = 1000

#: Where a reason names the radius that it is about.
AT_RADIUS = re.compile(r"^(question \d+ \(\w*\): )?(?:.*?: )??rho = (\S+): (.*)$", re.DOTALL)


@dataclass(frozen=True)
class CheckView:
    """The check of a document."""

    examined: Examined
    attached: Attachment | None

    @property
    def digest(self) -> str:
        """The SHA-256 of the document."""
        return sha256(self.examined.document).hexdigest()

    @property
    def size(self) -> str:
        """How large the document is."""
        return f"{len(self.examined.document) / 1e6:.1f} MB"

    @property
    def certificates(self) -> int:
        """How many certificates the document has."""
        return sum(len(one.certificates) for one in self.examined.questions)

    @property
    def curve(self) -> bool:
        """Whether a question was asked at several radii."""
        return any(one.curve for one in self.examined.questions)

    @property
    def sampled(self) -> bool:
        """Whether the worst cases belong to larger balls."""
        return any(one.sampled for one in self.examined.questions)

    @property
    def reached(self) -> str:
        """Which ball around the data the worst cases of a sample are in."""
        return reached_in(next((c.region for one in self.examined.questions for c in one.certificates), None))

    @property
    def titles(self) -> list[str]:
        """What the questions are about."""
        return [one.question.said.axis for one in self.examined.questions]

    @property
    def attached_count(self) -> int:
        """How many certificates are attached, of those of a part of a curve."""
        return 0 if self.attached is None or self.attached.radii is None else len(self.attached.radii)

    @property
    def radii(self) -> str:
        """The radii of the part of a curve that is attached; nothing if all is."""
        kept = () if self.attached is None or self.attached.radii is None else self.attached.radii
        return ", ".join(radius_down(rho) for rho in kept[:MOST_RADII])


def refusals(examined: Examined) -> tuple[list[str], list[str]]:
    """Return why a document is not proved, in a line for each radius, and all reasons in detail."""
    reasons = [shortened(printable(reason), MOST_CHARACTERS) for reason in examined.verification.reasons]
    lines: dict[str, str] = {}
    for reason in reasons:
        found = AT_RADIUS.match(reason)
        if found is None:
            lines.setdefault(reason, reason)
        else:
            at = f"{found[1] or ''}rho = {found[2]}"
            lines.setdefault(at, f"{at}: {found[3]}")
    short = list(lines.values())
    more = [f"and {len(short) - MOST_LINES} more"] if len(short) > MOST_LINES else []
    return short[:MOST_LINES] + more, reasons[:MOST_REASONS]
