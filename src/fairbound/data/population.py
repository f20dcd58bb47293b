"""The population: what is known of the data, as mass and loss distribution per cell of group and label."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import Categories, check_mass, check_names, encode_labels, numbers
from fairbound.data.columns import Missing, ProbabilityColumns, read_columns
from fairbound.data.counted import Counted, check_finite, check_table, count_cells, read_ceiling, read_rows
from fairbound.data.estimators import model_values
from fairbound.data.loss_summary import Knowledge, LossTable, MeanAndVariance, MeanOnly
from fairbound.data.losses import Loss, find_loss
from fairbound.data.moments import read_moments, read_selection_rate
from fairbound.data.native_frame import cell_names, native_frame
from fairbound.data.predicted import Predicted, check_predicted, find_positive, given_rates
from fairbound.data.predictions import predicted_labels, probabilities
from fairbound.data.provenance import UNTOLD, Provenance
from fairbound.data.rows_seen import check_unseen
from fairbound.data.strata import ByStratum, Cuts, Strata, fold, told_cuts
from fairbound.data.tally import Tally, check_tally, tally_of_counts
from fairbound.errors import InputError, argument, either, given
from fairbound.wording.notebook import html_paragraph, html_table
from fairbound.wording.overview import cell_rows
from fairbound.wording.vocabulary import SELECTED, TWO_VALUED, wording


@dataclass(frozen=True)
class Population:
    """What is known of a distribution P of groups, labels and losses.

    Build one with :meth:`from_frame`, :meth:`from_estimator`, :meth:`from_predictions`, :meth:`from_losses`,
    :meth:`from_counts`, :meth:`from_tally` or :meth:`from_moments`.

    Attributes
    ----------
    groups, labels
        Their names, as the user gave them; several sensitive columns give tuples.
    weight
        Weight of each cell, shape (S, C): numbers of rows, sums of row weights, or masses.
    knowledge
        What is known of the loss in each cell.
    ceiling
        The largest loss there can be; ``math.inf`` if unknown.
    rows
        Number of rows it was made from; None if it was made from moments.
    loss_name
        What the loss is called.
    excluded_rows
        Number of rows that were left out because a value was missing (only if that was asked for).
    weighted
        Whether the rows had weights.
    predicted
        How the model's predicted labels divide the cells; None if only losses or probabilities were given.
    pos_label
        The label whose selections take the place of losses, see :meth:`selecting`; None for losses.
    provenance
        What the rows are about, for people: see :meth:`described`.
    strata
        The same by strata inside the cells, if there are any: for ``shift="stratified"``.
    """

    groups: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    weight: Floats
    knowledge: Knowledge
    ceiling: float
    rows: int | None = None
    loss_name: str = "loss"
    excluded_rows: int = 0
    weighted: bool = False
    predicted: Predicted | None = None
    pos_label: Hashable | None = None
    provenance: Provenance = UNTOLD
    strata: Strata | None = None

    @property
    def mass(self) -> Floats:
        """P's cell masses, shape (S, C)."""
        return self.weight / self.weight.sum()

    @property
    def mean(self) -> Floats:
        """The mean loss of each cell, shape (S, C); zero where a cell is empty."""
        return np.where(self.weight > 0, self.knowledge.mean, 0.0)

    @property
    def loss(self) -> float:
        """P's expected loss."""
        return float((self.mass * self.mean).sum())

    @property
    def base_rates(self) -> Floats:
        """The distribution of the labels in each group, shape (S, C)."""
        total = self.weight.sum(axis=1, keepdims=True)
        return np.where(total > 0, self.weight / np.where(total > 0, total, 1.0), np.nan)

    @property
    def group_means(self) -> Floats:
        """The mean loss of each group, shape (S,); NaN for a group without data."""
        return (self.base_rates * self.mean).sum(axis=1)

    @property
    def by_strata(self) -> Population:
        """The population of which no more is known than the means of its strata: what stratified shifting is about."""
        if isinstance(self.knowledge, ByStratum):
            return self
        if self.strata is None:
            message = (
                f"{given('shift', 'stratified')} needs strata; name the columns that they are made of with "
                f"{argument('strata')}" + either(" of from_frame, from_predictions or from_losses", "")
            )
            raise InputError(message)
        return replace(self, knowledge=self.strata.losses)

    @property
    def two_valued(self) -> bool:
        """Whether the loss is known to be 0 or the ceiling, or may be taken to be: of a mean that is the worst."""
        return self.loss_name in TWO_VALUED or isinstance(self.knowledge, MeanOnly)

    @property
    def empty_cells(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The cells without data, by name."""
        return tuple((self.groups[s], self.labels[y]) for s, y in np.argwhere(self.weight == 0))

    def __repr__(self) -> str:
        size = f"{len(self.groups)} groups x {len(self.labels)} labels"
        source = "from moments" if self.rows is None else f"{self.rows} rows"
        what = f"ceiling={self.ceiling:g}" if self.pos_label is None else f"pos_label={self.pos_label!r}"
        return f"Population({size}, {source}, {wording(self).column}={self.loss:.6f}, {what})"

    def _repr_html_(self) -> str:
        """Show the population in a notebook: itself in a line, and the table of its cells."""
        left_out = f" {self.excluded_rows} rows were left out." if self.excluded_rows else ""
        return html_paragraph(repr(self) + left_out, strong=True) + html_table(*cell_rows(self))

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table of cells as a data frame: group, label, weight, mass, base rate and mean loss.

        ``backend`` is "pandas", "polars" or "pyarrow"; None takes the one that you work with. The mean of a cell
        without rows is missing. Groups made of several columns have a column for each part.

        Examples
        --------
        >>> from fairbound import Population
        >>> population = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.4]], groups=["a", "b"])
        >>> population.to_frame("polars").select("group", "label", "mean").rows()
        [('a', 0, 0.1), ('a', 1, 0.3), ('b', 0, 0.1), ('b', 1, 0.4)]
        """
        mean = [float(m) if w else None for m, w in zip(self.mean.ravel(), self.weight.ravel(), strict=True)]
        columns = {name: getattr(self, name).ravel().tolist() for name in ("weight", "mass", "base_rates")}
        columns["base_rate"] = columns.pop("base_rates")
        return native_frame(cell_names(self.groups, self.labels) | columns | {"mean": mean}, backend)

    def selecting(self, pos_label: Any = None) -> Population:
        """Return the population in which the loss of a row is 1 where the model predicts one label, and else 0.

        Its mean is the selection rate of that label, its ``group_means`` the selection rates of the groups.

        Parameters
        ----------
        pos_label
            The label; None takes the second one of two.

        Examples
        --------
        >>> from fairbound import Population
        >>> population = Population.from_predictions([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"))
        >>> population.selecting()
        Population(2 groups x 2 labels, 4 rows, selection rate=0.750000, pos_label=1)
        >>> population.selecting().group_means.tolist()
        [0.5, 1.0]
        """
        predicted, place = find_positive(self.predicted, self.labels, pos_label)
        known = predicted.selection(place)
        name, chosen = SELECTED, predicted.labels[place]
        strata = None if self.strata is None else self.strata.selecting(place)
        return replace(self, knowledge=known, ceiling=1.0, loss_name=name, pos_label=chosen, strata=strata)

    def described(
        self,
        *,
        model: str | None = None,
        model_version: str | None = None,
        data: str | None = None,
        data_version: str | None = None,
        meanings: Mapping[Hashable, str] | None = None,
        note: str | None = None,
        date: str | None = None,
    ) -> Population:
        """Return the population with words on what it is about, which documents and reports repeat.

        For people: nothing of it is proved. ``meanings`` says of labels what they mean; ``date`` is now unless given.

        Examples
        --------
        >>> from fairbound import Population
        >>> population = Population.from_predictions([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"))
        >>> population.described(model="scorer", model_version="1.4", meanings={1: "repays"}).provenance.model
        'scorer'
        """
        words = {
            "date": date,
            "model": model,
            "model_version": model_version,
            "data": data,
            "data_version": data_version,
            "note": note,
        }
        return replace(self, provenance=self.provenance.told(words, meanings or {}, self.labels))

    @classmethod
    def from_moments(
        cls,
        mass: Any,
        mean: Any,
        variance: Any = None,
        *,
        selection_rate: Any = None,
        ceiling: float = 1.0,
        groups: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> Population:
        """Build a population from cell masses and the mean (and variance) of the loss in each cell.

        Parameters
        ----------
        mass, mean, variance
            Arrays of shape (S, C): a row per group, a column per label. Masses add up to 1. What stands in ``mean``
            and ``variance`` for a cell of mass 0 is ignored.
        selection_rate
            For two labels, what :meth:`selecting` needs: the share of each cell that is predicted as the second label.
        ceiling
            The largest loss there can be.
        groups, labels
            Names; by default 0, 1, 2, ...

        Examples
        --------
        >>> from fairbound import Population
        >>> Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.5]])
        Population(2 groups x 2 labels, from moments, mean loss=0.180000, ceiling=1)
        """
        top = read_ceiling(ceiling)
        masses, knowledge = read_moments(mass, mean, variance, top)
        names = [
            tuple(range(size)) if given is None else check_names(argument, given, size)
            for argument, given, size in zip(("groups", "labels"), (groups, labels), masses.shape, strict=True)
        ]
        check_mass(names[0], names[1], masses)
        rates = None if selection_rate is None else read_selection_rate(selection_rate, masses)
        predicted = None if rates is None else given_rates(names[1], masses, rates)
        return cls(names[0], names[1], masses, knowledge, top, predicted=predicted)

    @classmethod
    def from_losses(
        cls,
        losses: Any,
        y_true: Any,
        *,
        sensitive_features: Any,
        ceiling: float = 1.0,
        sample_weight: Any = None,
        loss: str = "loss",
        groups: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
        strata: Any = None,
        cuts: Cuts | None = None,
    ) -> Population:
        """Build a population from the loss of each row.

        Parameters
        ----------
        losses
            The model's loss on each held-out row.
        y_true
            The true label of each row.
        sensitive_features
            The group of each row; a table or a dict of several columns gives intersectional groups (tuples).
        ceiling
            The largest loss there can be; ``math.inf`` if there is none (then only sensitive shifting, or general
            shifting with observed support, can be certified).
        sample_weight
            Weights of the rows.
        loss
            What to call the loss. "zero_one" and "selected" say that there is nothing between 0 and the ceiling.
        groups, labels
            All groups and labels there are, in the order wanted, if some may be absent from the rows.
        strata, cuts
            For ``shift="stratified"``: the column, or the columns (a table or a dict), that divide cells into strata,
            such as age and region. Of a column of numbers ``cuts`` gives, by the column's name, cut points
            (``{"age": [25, 45]}``) or a number of quantiles (``{"age": 4}``).

        Examples
        --------
        >>> from fairbound import Population
        >>> Population.from_losses([0.1, 0.2, 0.4, 0.9], [0, 1, 0, 1], sensitive_features=["a", "a", "b", "b"])
        Population(2 groups x 2 labels, 4 rows, mean loss=0.400000, ceiling=1)
        """
        values = numbers("losses", losses)
        if values.ndim != 1:
            message = f"{argument('losses')} must have one entry per row, but its shape is {values.shape}"
            raise InputError(message)
        top = read_ceiling(ceiling)
        label = encode_labels("y_true", y_true, labels)
        rows = read_rows(values, label, sensitive_features, sample_weight, groups, strata)
        return cls._of(count_cells(rows, top, loss), "refuse", cuts, (groups is not None, labels is not None))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        loss: str | Loss = "zero_one",
        clip: float | None = None,
        sample_weight: Any = None,
        groups: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
        unknown_predictions: str = "refuse",
        strata: Any = None,
        cuts: Cuts | None = None,
    ) -> Population:
        """Build a population from true labels and predictions.

        Parameters
        ----------
        y_true
            The true label of each held-out row.
        y_pred
            Predicted labels for ``zero_one``. For the other losses probabilities: an array of shape (n, C) with a
            column per label in sorted order, or, with two labels, the probability of the second one, shape (n,).
        sensitive_features
            The group of each row; several columns give intersectional groups (tuples).
        loss
            "zero_one", "brier", "jsd" (base 2), "absolute", "cross_entropy", or a :class:`~fairbound.Loss`.
        clip
            Cut the loss off here; this is its ceiling. General shifting needs it for ``cross_entropy``.
        sample_weight, groups, labels
            As for :meth:`from_losses`.
        unknown_predictions
            What to do with predictions that are no true label, such as "Yes" where labels are "yes" and "no": "refuse",
            or "allow" if the model may predict what no row has.
        strata, cuts
            As for :meth:`from_losses`.

        Examples
        --------
        >>> from fairbound import Population
        >>> Population.from_predictions([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=["a", "a", "b", "b"])
        Population(2 groups x 2 labels, 4 rows, error rate=0.250000, ceiling=1)
        """
        chosen = find_loss(loss, clip)
        label = encode_labels("y_true", y_true, labels)
        values: Floats | Categories
        if chosen.rows is None:
            values = predicted_labels(y_pred, label)
        else:
            values = chosen.rows(probabilities(y_pred, label.names, len(label.codes)), label.codes)
            check_finite(values, chosen.name)
        rows = read_rows(values, label, sensitive_features, sample_weight, groups, strata)
        counted = count_cells(rows, chosen.ceiling, chosen.name)
        return cls._of(counted, unknown_predictions, cuts, (groups is not None, labels is not None))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        loss: str | Loss = "zero_one",
        clip: float | None = None,
        sample_weight: Any = None,
        unknown_predictions: str = "refuse",
        strata: Any = None,
        cuts: Cuts | None = None,
    ) -> Population:
        """Build a population from a fitted model and held-out rows.

        Parameters
        ----------
        estimator
            A classifier or pipeline with ``predict`` (for ``zero_one``) or ``predict_proba`` (for the other losses),
            whose ``classes_`` tell the order of the columns; or any function of X that returns the same, with a column
            per label in sorted order. If it has an argument ``sensitive_features``, as group-aware decisions of
            :class:`~fairbound.CertifiedThreshold` and Fairlearn's remedies do, it is given the groups.
        X
            Whatever the estimator takes.
        y
            The true label of each row.
        sensitive_features, loss, clip, sample_weight, unknown_predictions, strata, cuts
            As for :meth:`from_predictions`.

        Examples
        --------
        >>> from fairbound import Population
        >>> def model(X):
        ...     return [int(x > 0.5) for x in X]
        >>> X, y, sex = [0.1, 0.7, 0.8, 0.9], [0, 1, 0, 1], ["f", "f", "m", "m"]
        >>> Population.from_estimator(model, X, y, sensitive_features=sex)
        Population(2 groups x 2 labels, 4 rows, error rate=0.250000, ceiling=1)
        """
        chosen = find_loss(loss, clip)
        check_unseen(estimator, X)
        label = encode_labels("y", y)
        values = model_values(estimator, X, label, sensitive_features, chosen)
        rows = read_rows(values, label, sensitive_features, sample_weight, strata=strata)
        return cls._of(count_cells(rows, chosen.ceiling, chosen.name), unknown_predictions, cuts)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        group: str | Sequence[str],
        prediction: str | None = None,
        probability: ProbabilityColumns | None = None,
        losses: str | None = None,
        weight: str | None = None,
        loss: str | Loss | None = None,
        clip: float | None = None,
        ceiling: float | None = None,
        missing: Missing = "refuse",
        groups: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
        unknown_predictions: str = "refuse",
        strata: str | Sequence[str] | None = None,
        cuts: Cuts | None = None,
    ) -> Population:
        """Build a population from a data frame of pandas, Polars, PyArrow, DuckDB or any library that narwhals knows.

        Other libraries can hand over Arrow batches (``__arrow_c_stream__``).

        Lazy frames (a Polars query, a DuckDB relation) are grouped and counted by their own engine; only a histogram
        of each cell's losses leaves it, so that the table may be larger than memory.

        Parameters
        ----------
        frame
            The table, one row per held-out case.
        label
            The column of true labels.
        group
            The column of groups; several columns give intersectional groups (tuples).
        prediction, probability, losses
            Exactly one of them. ``prediction``: the column of predicted labels. ``probability``: the column of the
            second label's probability (in sorted order), a list with a column per label, or a dict from labels to
            columns, which with two labels may name one of them. ``losses``: a column of losses already computed.
        weight
            The column of row weights.
        loss
            With ``probability`` the loss to take: "brier" (if nothing is said), "jsd", "absolute", "cross_entropy", or
            a :class:`~fairbound.Loss` (in memory only). With ``losses`` what to call them; else the column's name.
        clip
            Cut the loss of probabilities off here; this is its ceiling.
        ceiling
            The largest loss there can be in the column ``losses``; 1 if nothing is said.
        missing
            What to do with rows that lack a value (null or NaN) in a column that is used: "refuse", or "drop" to leave
            them out. ``excluded_rows`` and the assumptions of certificates tell how many those were.
        groups, labels
            All groups and labels there are, in the order wanted, if some may be absent from the rows.
        unknown_predictions
            As for :meth:`from_predictions`.
        strata, cuts
            For ``shift="stratified"``: the column, or the columns, that divide cells into strata; and as for
            :meth:`from_losses`.

        Examples
        --------
        >>> import pandas
        >>> from fairbound import Population
        >>> frame = pandas.DataFrame({"sex": list("ffmm"), "income": [0, 1, 0, 1], "predicted": [0, 1, 1, 1]})
        >>> Population.from_frame(frame, label="income", group="sex", prediction="predicted")
        Population(2 groups x 2 labels, 4 rows, error rate=0.250000, ceiling=1)
        """
        from fairbound.data.frames import count_frame  # noqa: PLC0415 (narwhals is imported only where it is used)

        columns = read_columns(
            label=label,
            group=group,
            prediction=prediction,
            probability=probability,
            losses=losses,
            weight=weight,
            loss=loss,
            clip=clip,
            ceiling=ceiling,
            missing=missing,
            all_groups=groups,
            all_labels=labels,
            strata=strata,
        )
        counted = count_frame(frame, columns)
        population = cls._of(counted, unknown_predictions, cuts, (groups is not None, labels is not None))
        return replace(population, provenance=Provenance(columns=columns.roles, cuts=told_cuts(cuts)))

    @classmethod
    def from_tally(cls, tally: Tally, *, unknown_predictions: str = "refuse", cuts: Cuts | None = None) -> Population:
        """Build a population from counts that were made elsewhere, perhaps in many places (see :class:`Tally`).

        With ``confidence`` all rows of all parts are taken to be independent draws from one and the same P.

        Parameters
        ----------
        tally
            A tally, or the sum of many; strata are those that it was counted with.
        unknown_predictions, cuts
            As for :meth:`from_frame`.

        Examples
        --------
        >>> import pandas
        >>> from fairbound import Population, Tally
        >>> frame = pandas.DataFrame({"sex": list("ffmm"), "income": [0, 1, 0, 1], "predicted": [0, 1, 1, 1]})
        >>> Population.from_tally(Tally.count(frame, label="income", group="sex", prediction="predicted"))
        Population(2 groups x 2 labels, 4 rows, error rate=0.250000, ceiling=1)
        """
        check_tally(tally)
        absent = tally.plan.groups is not None, tally.plan.labels is not None
        return cls._of(tally.counted(), unknown_predictions, cuts, absent)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        groups: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
        unknown_predictions: str = "refuse",
    ) -> Population:
        """Build a population from numbers of rows by group, true label and predicted label: confusion matrices.

        Parameters
        ----------
        counts
            A dict from (group, label, predicted label) to a number of rows, as ``Counter(zip(...))`` or a query with
            ``GROUP BY`` makes it; or an array of shape (S, C, C): for each group its confusion matrix, with a row per
            true label.
        groups, labels
            All groups and labels there are, in the order wanted. For an array by default 0, 1, 2, ...
        unknown_predictions
            As for :meth:`from_predictions`.

        Examples
        --------
        >>> from collections import Counter
        >>> from fairbound import Population
        >>> sex, income, predicted = "ffmm", [0, 1, 0, 1], [0, 1, 1, 1]
        >>> Population.from_counts(Counter(zip(sex, income, predicted)))
        Population(2 groups x 2 labels, 4 rows, error rate=0.250000, ceiling=1)
        >>> Population.from_counts([[[50, 10], [5, 35]], [[30, 10], [20, 40]]], groups=["f", "m"])
        Population(2 groups x 2 labels, 200 rows, error rate=0.225000, ceiling=1)
        """
        tally = tally_of_counts(counts, groups, labels)
        named = not isinstance(counts, Mapping) or None
        absent = bool(groups or named), bool(labels or named)
        return cls._of(tally.counted(), unknown_predictions, some_absent=absent)

    @classmethod
    def _of(
        cls,
        counted: Counted,
        unknown_predictions: str,
        cuts: Cuts | None = None,
        some_absent: tuple[bool, bool] = (False, False),
    ) -> Population:
        """Make a population of what was counted, in which all ways of reading end; declared names may be absent."""
        check_table(counted)
        check_predicted(counted.predicted, counted.labels, unknown_predictions)
        names, weight = (counted.groups, counted.labels), counted.table.weight.sum(axis=2)
        check_mass(*names, weight, some_absent)
        return cls(
            *names,
            weight,
            counted.table,
            counted.ceiling,
            counted.rows,
            counted.loss_name,
            counted.excluded_rows,
            counted.weighted,
            counted.predicted,
            strata=fold(counted, cuts),
        )

    def describe(self, shift: str) -> str:
        """Say in a sentence what is used of the losses."""
        means = "Of the losses only the mean of each cell matters under sensitive shifting."
        return wording(self).meaning or (means if shift == "sensitive" else self.knowledge.sentence)


def condensed(population: Population, most: int) -> Population:
    """Return the population with at most about so many bins of losses in all: what is proved of it holds for both."""
    known = population.knowledge
    if not isinstance(known, LossTable) or isinstance(known, ByStratum) or np.count_nonzero(known.weight) <= most:
        return population
    cells = max(1, int(np.count_nonzero(population.weight)))
    return replace(population, knowledge=known.condensed(max(2, most // cells)))


def without_variance(population: Population) -> Population:
    """Forget the variances: the worst law with a mean and a variance is not known for total variation."""
    known = population.knowledge
    return replace(population, knowledge=MeanOnly(known.mean)) if isinstance(known, MeanAndVariance) else population
