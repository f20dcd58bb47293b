"""The worst cases of a report: how the share and the loss of each cell change, at every radius."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from fairbound.certificate.certificate import Certificate
from fairbound.reporting.figures import move_picture, move_place
from fairbound.reporting.markup import Child, element, number_cell, section, table
from fairbound.reporting.report_data import worst_losses
from fairbound.reporting.sections import shown_name
from fairbound.wording.digits import Digits, radius_down, signed
from fairbound.wording.vocabulary import capitalised, wording

#: Stands above the pictures of the moves.
PICTURE_TITLE = "○ data ▶ worst case"

#: More cells than these are not shown; the ones that change most are.
MOST_CELLS = 40


class WorstCases:
    """The worst-case distributions at the radii shown, cell by cell, in the order of the data's table."""

    def __init__(self, certificates: tuple[Certificate, ...], digits: Digits) -> None:
        self.certificates = certificates
        self.population = certificates[0].population
        self.condition = certificates[0].condition
        self.digits = digits
        self.before = self.population.mass.ravel()
        self.after = np.stack([c.witness.mass.ravel() for c in certificates])
        moved = np.abs(self.after - self.before).max(axis=0)
        self.cells = np.sort(np.argsort(-moved, kind="stable")[:MOST_CELLS])
        self.top = float(max(self.before[self.cells].max(), self.after[:, self.cells].max())) or 1.0
        self.sampled = certificates[0].surrogate is not None
        # Under sensitive shifting nothing changes inside the cells; nor do their losses, if they are known.
        same = certificates[0].shift == "sensitive" and not self.sampled
        losses = None if same else worst_losses(certificates)
        self.losses = None if losses is None else np.stack([cell.ravel() for cell in losses])

    def grows_most(self, index: int) -> int:
        """Return which of the cells shown grows most."""
        return int(np.argmax((self.after[index] - self.before)[self.cells]))

    def changing(self, index: int) -> list[tuple[str, str, str | None, float, bool]]:
        """Return, for each cell shown: share, change, mean loss, place in the picture, whether it grows."""
        return [
            (
                f"{self.after[index, c]:.4f}",
                signed(self.after[index, c] - self.before[c]),
                None if self.losses is None else self.digits.near(self.losses[index, c]),
                move_place(self.after[index, c], self.top),
                bool(self.after[index, c] > self.before[c]),
            )
            for c in self.cells
        ]

    def section(self, chosen: int, *, proved: bool) -> Element:
        """Show which cells grow in the worst case at the chosen radius."""
        population, labels = self.population, len(self.population.labels)
        mean_words = capitalised(wording(population).mean_words)
        header = [
            ("Group and label", False),
            ("Share in the data", True),
            (PICTURE_TITLE, False),
            ("Share in the worst case", True),
            ("Change", True),
            (f"{mean_words} in the data" if self.losses is not None else mean_words, True),
            *([(f"{mean_words} in the worst case", True)] if self.losses is not None else []),
        ]
        mean, weight = population.mean.ravel(), population.weight.ravel()
        most = self.grows_most(chosen)
        rows = []
        for place, (cell, now) in enumerate(zip(self.cells, self.changing(chosen), strict=True)):
            after, change, loss, _, _ = now
            rows.append(
                element(
                    "tr",
                    element(
                        "th",
                        shown_name(population.groups[cell // labels]),
                        ", ",
                        shown_name(population.labels[cell % labels]),
                        " ",
                        element("span", "grows most", class_="badge most", hidden=place != most),
                        scope="row",
                    ),
                    number_cell(f"{self.before[cell]:.4f}"),
                    element(
                        "td", move_picture(self.before[cell], self.after[chosen, cell], self.top), class_="picture"
                    ),
                    number_cell(after, data_cell="after"),
                    number_cell(change, data_cell="change"),
                    number_cell(self.digits.near(mean[cell]) if weight[cell] else "\N{EN DASH}"),
                    None if loss is None else number_cell(loss, data_cell="loss"),
                )
            )
        left = self.before.size - len(self.cells)
        caption = f"Shares and {wording(population).many} of the cells, in the data and in the worst case."
        if left:
            caption += f" The {left} cells that change least are not shown; all are in the certificate."
        rho = radius_down(self.certificates[chosen].rho)
        return section(
            "worst",
            "The worst case that was found",
            element(
                "p",
                *self._introduction(element("strong", rho, data_show="rho"), proved=proved),
                "Cells that grow are those of which the model meets more than in the data.",
                element("span", " Choose another distance above to see its worst case.", class_="screen-only")
                if len(self.certificates) > 1
                else None,
            ),
            table(header, rows, caption),
        )

    def _introduction(self, rho: Element, *, proved: bool) -> list[Child]:
        """Say which distribution this is."""
        first, said = self.certificates[0], wording(self.population)
        found = f"the {'smallest' if first.lower else 'largest'} {first.said.one} that was found"
        if not self.sampled:
            after = (
                f" of the data,{self.condition.predicate} {found}. "
                if proved
                else " of the data, is what the document names as the worst case; it was not accepted. "
            )
            return [f"This distribution, within {first.distance_words} ", rho, after]
        if not proved:
            return ["At rho = ", rho, " this is what the document names as the worst case; it was not accepted. "]
        subtracts = first.objective is not None and first.objective.subtracts
        lower = ", lower ones where they are subtracted" if subtracts else ""
        return [
            "The rows are a sample, so the ball of radius ",
            rho,
            " lies around a distribution that is not known exactly. "
            f"This distribution{self.condition.predicate} {found} in a larger ball, "
            f"around the data, which allows for sampling error; {said.many} inside the cells are upper limits{lower}. "
            "The true worst case may be milder. ",
        ]
