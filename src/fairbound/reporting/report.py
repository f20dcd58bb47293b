"""The report: one page of HTML about a certificate or a curve, complete in itself, to be shown to others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fairbound.certificate.cautions import Caution
from fairbound.certificate.certificate import Certificate
from fairbound.certificate.curve import CertificateCurve
from fairbound.certificate.evidence import Evidence
from fairbound.errors import InputError, given
from fairbound.reporting.appendix import Appendix
from fairbound.reporting.attachment import Attachment, attach
from fairbound.reporting.checked import CheckView, refusals
from fairbound.reporting.comparison import compared, named, unmatched
from fairbound.reporting.data_view import DataView
from fairbound.reporting.page import fill
from fairbound.reporting.question_view import QuestionView, shared_sentences
from fairbound.reporting.report_data import Examined, examine

#: A page stays near or below this size: of the certificate as much is attached as fits.
MOST_BYTES = 1_950_000

#: The scripts of a page.
SCRIPTS = ("report.js", "checking.js")

#: What arguments of the question are called on a page.
PLAIN = {
    "budget": "the budget",
    "fair=False": "A question without a condition on base rates",
    "min_group_mass": "a smallest share of each group",
    "rho": "distance",
    "tol": "the tolerance",
}

#: What two models are called if nobody names them.
NAMES = ("the older model", "the newer model")

#: Cautions that stand at the top, beside the bounds; and those that the table of the data shows in words of its own.
ABOUT_BOUNDS, SHOWN_WITH_DATA = ("loose", "data_worse", "trivial"), ("few_rows", "no_rows", "rows_left_out")

Source = Certificate | CertificateCurve | Evidence | str | bytes


class Report(str):
    """A page of HTML, as :func:`report` makes it: a text that shows itself in notebooks and can be saved."""

    __slots__ = ()

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, and return its path."""
        file = Path(path)
        file.write_text(self, encoding="utf-8")
        return file

    def __repr__(self) -> str:
        return f"Report({len(self.encode()) / 1000:.0f} kB of HTML; save it with .save(path))"

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own, so that its style and script touch nothing of the notebook."""
        return (
            f'<iframe srcdoc="{escape(self)}" sandbox="allow-scripts allow-downloads" title="fairbound report" '
            'style="width: 100%; height: 44rem; border: 1px solid #8888; border-radius: 8px"></iframe>'
        )


def report(
    source: Source,
    *,
    against: Source | None = None,
    title: str | None = None,
    excluded: Mapping[str, int] | None = None,
    appendix: Appendix | None = None,
) -> Report:
    """Return a page of HTML about a certificate or a curve: one file that needs no network, to be shown to others.

    The proof is checked while the page is made, and the page says what the checker found. The certificate is attached:
    readers can save it from the page and check it themselves. A notebook shows the page as it is; ``save`` writes it.

    Parameters
    ----------
    source
        A certificate, a curve, the answers to several questions, or a JSON document of any of them.
    against
        The same of an older model: the page then begins with what is better and what is worse, and draws both curves
        in one picture.
    title
        The page's title; by default the question that it answers.
    excluded
        How many rows were left out of the data, and why: a count for each reason.
    appendix
        A table of your own to stand on the page, such as that of a bias audit.

    Examples
    --------
    >>> from fairbound import Population, certify_curve, report
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> page = report(certify_curve(population, [0.1, 0.2, 0.3]), title="Credit model, test of May")
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    older = None if against is None else examine(against)
    return render(examine(source), title, excluded, older=older, appendix=appendix)


def render(
    examined: Examined,
    title: str | None = None,
    excluded: Mapping[str, int] | None = None,
    *,
    older: Examined | None = None,
    names: tuple[str, str] = NAMES,
    appendix: Appendix | None = None,
) -> Report:
    """Return the page about a document that was examined, perhaps against an older one."""
    every = examined.questions
    questions = [QuestionView(one, examined.confidence, every[0] if one.number else None) for one in every]
    first, population = questions[0], examined.population
    common, own = shared_sentences(questions)
    measures = {(q.asked.population.loss_name, q.asked.population.pos_label): q for q in reversed(questions)}
    told = population.provenance
    model = " ".join(part for part in (told.model, told.model_version) if part)
    names = names if older is None else named(older, examined, names)
    facts: dict[str, Any] = {
        "questions": questions,
        "comparisons": [] if older is None else compared(older, examined, names),
        "names": names,
        "only": ([], []) if older is None else unmatched(older, examined),
        "data": DataView(
            population,
            first.worst.order,
            [(q.asked.population, q.cell_amounts) for q in reversed(measures.values())],
            _counts(excluded),
            _worded(one for one in examined.cautions if one.kind not in (*ABOUT_BOUNDS, *SHOWN_WITH_DATA)),
        ),
        "about": [part for part in (model, told.data, (told.date or "")[:10]) if part],
        "proved": examined.verification.valid,
        "refused": refusals(examined),
        "doubts": examined.doubts[:20],
        "careful": _worded(caution for caution in examined.cautions if caution.kind in ABOUT_BOUNDS),
        "common": common,
        "own": own,
        "appendix": appendix,
        "page_data": [q.script_data for q in questions],
    }
    heading = title or _heading(questions, None if older is None else names)

    def whole(attached: Attachment | None) -> str:
        return fill(heading, SCRIPTS, check=CheckView(examined, attached), **facts)

    room = MOST_BYTES - len(whole(None).encode("utf-8"))
    return Report(whole(attach(examined.document, room)))


def _worded(cautions: Iterable[Caution]) -> list[str]:
    return [caution.sentence.worded(PLAIN) for caution in cautions]


def _heading(questions: Sequence[QuestionView], names: tuple[str, str] | None) -> str:
    """Return the page's title: the question that it answers."""
    if names is not None:
        against = f"{names[1]} against {names[0]}"
        return f"{against[:1].upper()}{against[1:]}"
    first = questions[0]
    if len(questions) > 1:
        return "How bad can this model get?"
    whose = "this model's " if first.asked.metric == "loss" else "the "
    return f"How {'small' if first.asked.lower else 'large'} can {whose}{first.said.words} get?"


def _counts(excluded: Mapping[str, int] | None) -> dict[str, int]:
    """Return the counts of rows that were left out, by reason."""
    counts = dict(excluded or {})
    unchecked: dict[str, object] = {**counts}
    for reason, count in unchecked.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            message = f"{given(f'excluded[{reason!r}]', count)} must be a number of rows"
            raise InputError(message)
    return counts
