"""The last section of a report: how to check the certificate that is attached."""

from __future__ import annotations

from hashlib import sha256
from xml.etree.ElementTree import Element

from fairbound.reporting.attachment import Attachment
from fairbound.reporting.markup import Child, definitions, element, section
from fairbound.reporting.report_data import Findings
from fairbound.wording.digits import radius_down

#: More radii than these are not listed.
MOST_RADII = 20


def check_section(findings: Findings, attached: Attachment | None) -> Element:
    """Tell how to check the proof of the certificate that is attached."""
    found = findings.verification
    facts = [("Verdict", found.verdict.value)]
    extreme = "Smallest" if findings.question.lower else "Largest"
    if found.checked_bound is not None:
        term = f"{extreme} bound that the proofs give" if findings.curve else "The proof gives the bound"
        facts.append((term, repr(found.checked_bound)))
    if found.witness_value is not None:
        term = (
            f"{extreme} {findings.question.said.one} that is attained" if findings.curve else "The worst case attains"
        )
        term += " in the larger ball that allows for sampling error" if findings.sampled else ""
        facts.append((term, repr(found.witness_value)))
    whole = attached is not None and attached.radii is None
    facts.append((f"SHA-256 of {'certificate.json' if whole else 'the whole'}", sha256(findings.document).hexdigest()))
    made = section(
        "check",
        "Check it yourself",
        *_saving(findings, attached),
        element("pre", element("code", "pip install fairbound\nfairbound verify certificate.json")),
        element(
            "p",
            "The checker is a small program of its own. It takes every number of the certificate as the exact number "
            "that it is, computes with certain error bounds, and uses nothing of the program that found the bound. It "
            "was run when this page was made:",
        ),
        definitions(facts),
        element("h3", "What was checked"),
        element("ul", *(element("li", what) for what in found.checks), id="checks"),
        element(
            "p",
            "That the statistics are those of the data, and the distance of the nearest distribution, are not part of "
            "the proof; the distance was computed anew from the statistics for this page.",
            class_="muted",
        ),
    )
    if attached is not None:
        block = Element("script", {"type": "text/plain", "id": "certificate"})
        block.text = attached.packed  # base64: nothing in it can end the block
        made.append(block)
    return made


def _saving(findings: Findings, attached: Attachment | None) -> list[Child]:
    """Say what is attached, and offer to save it."""
    size = f"{len(findings.document) / 1e6:.1f} MB"
    if attached is None:
        words = (
            f"The certificate has {size}, too much to be attached. Ask for the file with the SHA-256 below, and run:"
        )
        return [element("p", words, id="not-attached")]
    words = "Save the certificate that is attached to this page, and check its proof yourself:"
    if attached.radii is not None:
        radii = ", ".join(radius_down(rho) for rho in attached.radii[:MOST_RADII])
        words = (
            f"The whole curve has {size}, too much to be attached. Attached are {len(attached.radii)} of its "
            f"{len(findings.certificates)} certificates (rho = {radii}); ask for the file with the SHA-256 below for "
            "the whole. Save the attached ones, and check their proofs yourself:"
        )
    return [
        element("p", words),
        element(
            "p",
            element("button", "Save certificate.json", type="button", id="download", class_="needs-script"),
            element("span", "Saving needs JavaScript, which is switched off here.", class_="no-script muted"),
            " ",
            element("span", role="status", id="download-status", class_="muted"),
            class_="screen-only",
        ),
    ]
