"""A classifier of scikit-learn whose decisions are chosen by certificates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats, Integers
from fairbound.data.cells import Categories, encode_groups, encode_labels, same_length
from fairbound.data.rows_seen import RowsSeen
from fairbound.errors import DataWarning, InputError, argument, given, warn
from fairbound.improve.mixtures import LINEAR, Mixture, Mixtures
from fairbound.improve.out_of_fold import out_of_fold
from fairbound.improve.search import Path, Search, decided

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d
except ImportError as error:
    message = "CertifiedThreshold needs scikit-learn, which is not installed; pip install scikit-learn"
    raise ImportError(message) from error

#: The path of mixed thresholds: parts, and multiples, of the error that is allowed.
ALLOWANCES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)

#: Mean scores further than this from the shares of the labels are pointed out.
CALIBRATED = 0.05

#: Where the attribute is: a column by name or number, several by name, or a function of X.
Sensitive = str | int | list[str] | Callable[[Any], Any] | None


class CertifiedThreshold(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """Choose the decisions of a classifier so that what can be certified of them is as low as possible.

    The estimator's probabilities stay; only how they are turned into labels changes: the label is the one with the
    largest probability times weight. Weights are chosen on out-of-fold probabilities of the rows of :meth:`fit`, by the
    prices of certificates, among those whose error is not much larger.

    Parameters
    ----------
    estimator
        A classifier with ``predict_proba``.
    rho, shift, metric
        What is to be certified, as for :func:`fairbound.certify`.
    max_error_increase
        By how much the ordinary error, on the rows of ``fit``, may exceed that of the plain decisions.
    group_blind
        True gives all groups the same weights, and asks for no attribute when it decides. False gives each group its
        own: decisions then use the attribute, which may be unlawful where they are about people.
    sensitive
        Where in X the attribute is: the name (or number) of a column, names of several, or a function of X. The
        estimator is not given these columns. None: it is passed as ``sensitive_features``.
    cv
        How out-of-fold probabilities are made, as for ``cross_val_predict`` of scikit-learn. With a splitter that
        repeats, such as ``RepeatedStratifiedKFold(n_repeats=8)``, each row counts with all its probabilities: with few
        rows the choice then hangs less on the chance of one division into folds.
    certificates
        How many certificates the search may compute.
    options
        Other arguments of :func:`fairbound.certify`, such as ``{"empty_cells": "ceiling"}``.

    random_state
        Seed of :meth:`predict` where thresholds are mixed, see ``thresholds_``.

    Attributes
    ----------
    decision_weights_
        The weights of the classes, shape (C,); group-aware (S, C), with a row for each of ``groups_``. None where
        thresholds are mixed.
    thresholds_
        With two classes, the probability above which the second one is predicted; group-aware a dict by group. None
        with more classes. Group-aware decisions for a difference in odds or demographic parity, under sensitive
        shifting, are the exact solution of a linear program: for each group a list of pairs, with which probability a
        row gets which threshold.
    path_
        All that was tried, bound against error: ``path_.plot()``.
    selection_bound_, selection_error_
        The bound and the error of the chosen decisions on the rows of ``fit``. No certificate: these rows were seen
        while choosing. Certify on others.
    classes_, groups_, estimator_
        The labels, the groups, and the estimator fitted on all rows.
    rows_seen_
        Digests of the rows of ``fit``: :meth:`fairbound.Population.from_estimator` refuses them.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbound import CertifiedThreshold, Population, certify
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.choice(["f", "m"], 4000), rng.random(4000) < 0.3
    >>> X = rng.normal(size=(4000, 3)) + 0.8 * y[:, None] + 0.3 * (sex == "m")[:, None]
    >>> plain = LogisticRegression().fit(X[:2000], y[:2000])
    >>> chosen = CertifiedThreshold(LogisticRegression(), rho=0.2)
    >>> chosen = chosen.fit(X[:2000], y[:2000], sensitive_features=sex[:2000])
    >>> for model in (plain, chosen):
    ...     rows = Population.from_estimator(model, X[2000:], y[2000:], sensitive_features=sex[2000:])
    ...     print(f"error {rows.loss:.3f}, certified {certify(rows, 0.2, shift='sensitive').bound:.3f}")
    error 0.209, certified 0.324
    error 0.226, certified 0.278
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        rho: float = 0.2,
        shift: str = "sensitive",
        metric: str = "loss",
        max_error_increase: float = 0.005,
        group_blind: bool = True,
        sensitive: Sensitive = None,
        cv: Any = 5,
        certificates: int = 120,
        options: Mapping[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.rho = rho
        self.shift = shift
        self.metric = metric
        self.max_error_increase = max_error_increase
        self.group_blind = group_blind
        self.sensitive = sensitive
        self.cv = cv
        self.certificates = certificates
        self.options = options
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, **params: Any) -> Self:
        """Fit the estimator, and choose the decisions.

        Parameters
        ----------
        X, y
            Rows and labels.
        sensitive_features
            The group of each row, unless ``sensitive`` says where it is in X; several columns give intersectional
            groups.
        **params
            For the estimator's ``fit``, routed as scikit-learn does it.
        """
        self._check()
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        inner, groups = self._apart(X, sensitive_features)
        if groups is None:
            message = (
                f"{argument('sensitive_features')} is missing: the groups are needed to choose decisions; pass it to "
                f"fit, or say with {argument('sensitive')} where in X it is"
            )
            raise InputError(message)
        labels, group = encode_labels("y", y), encode_groups("sensitive_features", groups)
        same_length(y=len(labels.codes), sensitive_features=len(group.codes))
        routed = self._routed("fit", params)
        scores, repeats = out_of_fold(self.estimator, inner, y, self.cv, routed)
        self.estimator_ = clone(self.estimator).fit(inner, y, **routed)
        self.classes_ = np.unique(y)
        self.groups_ = group.names
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name) and inner is X:  # else X has more columns than the estimator was given
                setattr(self, name, getattr(self.estimator_, name))
        tiled = [Categories(one.names, np.tile(one.codes, repeats)) for one in (labels, group)]
        self._choose(scores, tiled[0], tiled[1], repeats)
        self.rows_seen_ = RowsSeen.of(X)
        return self

    def _check(self) -> None:
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict_proba"):
            message = (
                f"{argument('estimator')}, a {type(self.estimator).__name__}, has no predict_proba, which decisions "
                "are made of; pass a classifier that has, or wrap it in sklearn.calibration.CalibratedClassifierCV"
            )
            raise InputError(message)
        allowed: object = self.max_error_increase
        if isinstance(allowed, bool) or not isinstance(allowed, int | float) or not 0 <= allowed <= 1:
            message = f"{given('max_error_increase', allowed)} must be a number from 0 to 1: a share of the rows"
            raise InputError(message)
        budget: object = self.certificates
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            message = f"{given('certificates', budget)} must be a whole number of at least 1"
            raise InputError(message)

    def _choose(self, scores: Floats, labels: Categories, groups: Categories, repeats: int) -> None:
        _say_if_off(scores, labels)
        self._mixture: Mixture | None = None
        self.thresholds_: Any = None
        if self._linear(len(labels.names)):
            self._mix(scores, labels, groups)
            return
        search = Search(
            scores,
            labels.codes,
            groups.codes,
            (groups.names, labels.names),
            self.rho,
            {"shift": self.shift, "metric": self.metric} | dict(self.options or {}),
            group_blind=self.group_blind,
            allowed=self.max_error_increase,
            budget=self.certificates,
            repeats=repeats,
        )
        self.path_: Path = search.run()
        weights = self.path_.weights[self.path_.chosen]
        self.decision_weights_: Any = weights[0].copy() if self.group_blind else weights.copy()
        self.selection_bound_ = float(self.path_.bound[self.path_.chosen])
        self.selection_error_ = float(self.path_.error[self.path_.chosen])
        if len(labels.names) == 2:
            above = weights[:, 0] / weights.sum(axis=1)
            by_group = dict(zip(groups.names, above.tolist(), strict=True))
            self.thresholds_ = float(above[0]) if self.group_blind else by_group

    def _linear(self, classes: int) -> bool:
        """Whether what is to be certified is linear in the rates of thresholds."""
        told = dict(self.options or {})
        plain = told.get("fair", True) and told.get("base_rate_tolerance") is None and not told.get("confidence")
        known = self.metric in LINEAR and "pos_label" not in told
        return bool(known and classes == 2 and not self.group_blind and self.shift == "sensitive" and plain)

    def _mix(self, scores: Floats, labels: Categories, groups: Categories) -> None:
        """Choose thresholds by the linear program; the path has its solutions for other allowances too."""
        asked = dict(self.options or {})
        program = Mixtures(scores[:, 1], labels.codes, groups.codes, self.metric, self.rho, asked)
        predicted = scores.argmax(axis=1)
        rates = np.array(
            [
                [predicted[(groups.codes == s) & (labels.codes == y)].mean() for y in (0, 1)]
                for s in range(len(groups.names))
            ]
        )
        plain = program.error(rates), program.value(rates)
        allowed = plain[0] + self.max_error_increase
        found = [program.solve(plain[0] + part * self.max_error_increase) for part in ALLOWANCES]
        errors = np.array([plain[0], *(one.error for one in found)])
        bounds = np.array([plain[1], *(one.bound for one in found)])
        weights = np.full((len(errors), len(groups.names), 2), np.nan)
        chosen = 1 + ALLOWANCES.index(1.0)
        self.path_ = Path(errors, bounds, weights, chosen, allowed)
        self._mixture, self.decision_weights_ = found[chosen - 1].mixture, None
        self.selection_bound_, self.selection_error_ = float(bounds[chosen]), float(errors[chosen])
        self.thresholds_ = {
            name: list(mixed) for name, mixed in zip(groups.names, found[chosen - 1].mixture.thresholds, strict=True)
        }

    def predict(self, X: Any, *, sensitive_features: Any = None) -> AnyArray:
        """Return the label of each row; the groups are asked for only if decisions are group-aware."""
        check_is_fitted(self)
        inner, groups = self._apart(X, sensitive_features, needed=not self.group_blind)
        scores = np.asarray(self.estimator_.predict_proba(inner))
        codes = None if self.group_blind else self._codes(groups, len(scores))
        if self._mixture is not None and codes is not None:
            drawn: AnyArray = self.classes_[self._mixture.selected(scores[:, 1], codes, self.random_state).astype(int)]
            return drawn
        found: AnyArray = self.classes_[decided(scores, self.decision_weights_, codes)]
        return found

    def _codes(self, groups: Any, rows: int) -> Integers:
        """Return the number of each row's group among those of ``fit``."""
        if groups is None:
            message = (
                f"{argument('sensitive_features')} is missing: these decisions use the group of each row, since "
                "group_blind=False; pass it to predict, or say with sensitive where in X it is, if something else "
                "calls predict"
            )
            raise InputError(message)
        found = _encoded(groups)
        same_length(X=rows, sensitive_features=len(found.codes))
        unknown = [name for name in found.names if name not in self.groups_]
        if unknown:
            message = (
                f"{argument('sensitive_features')} has the group {unknown[0]!r}, which fit has not seen; its groups "
                f"are {[*self.groups_]}"
            )
            raise InputError(message)
        return np.array([self.groups_.index(name) for name in found.names], dtype=np.int64)[found.codes]

    def predict_proba(self, X: Any) -> Floats:
        """Return the estimator's probabilities, which are not changed."""
        check_is_fitted(self)
        found: Floats = self.estimator_.predict_proba(self._apart(X, None, needed=False)[0])
        return found

    def _apart(self, X: Any, sensitive_features: Any, *, needed: bool = True) -> tuple[Any, Any]:
        """Return what the estimator is given, and the groups."""
        where = self.sensitive
        if where is None:
            return X, sensitive_features
        if sensitive_features is not None and needed:
            message = (
                f"{argument('sensitive_features')} and {argument('sensitive')} both say what the groups are; leave one "
                "of them out"
            )
            raise InputError(message)
        if callable(where):
            return X, where(X) if needed else None
        if hasattr(X, "columns"):
            return _without(X, [where] if isinstance(where, str | int) else list(where), needed=needed)
        if isinstance(where, int) and not isinstance(where, bool):
            array = np.asarray(X)
            if array.ndim == 2 and -array.shape[1] <= where < array.shape[1]:
                return np.delete(array, where, axis=1), array[:, where]
        message = f"{given('sensitive', where)} names no column of X, a {type(X).__name__}"
        raise InputError(message + "; pass a data frame, the number of a column, or sensitive_features")

    def _routed(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the estimator's method takes of the parameters."""
        if not params or not get_config()["enable_metadata_routing"]:
            return dict(params)
        found: dict[str, Any] = process_routing(self, method, **params).estimator[method]
        return found

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which parameters go where: ``sensitive_features`` stays here, the others go to the estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))

    def __sklearn_tags__(self) -> Any:
        """Take what the estimator can take."""
        from sklearn.utils import get_tags  # noqa: PLC0415 (with the estimator)

        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
            tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        return tags


def _say_if_off(scores: Floats, labels: Categories) -> None:
    """Warn of scores that are no probabilities: of two classes thresholds work all the same, but mean less."""
    share = np.bincount(labels.codes, minlength=len(labels.names)) / len(labels.codes)
    off = np.abs(scores.mean(axis=0) - share)
    if not math.isfinite(float(off.max())) or off.max() <= CALIBRATED:
        return
    worst = int(off.argmax())
    said = (
        f"the scores of {labels.names[worst]!r} are {scores[:, worst].mean():.3f} in the mean, and {share[worst]:.3f} "
        "of the rows have that label: thresholds are thresholds of scores here, not of probabilities"
    )
    warn(said, DataWarning)


def _encoded(groups: Any) -> Categories:
    """Number groups, of which there may be one."""
    try:
        return encode_groups("sensitive_features", groups)
    except InputError:
        array = np.asarray(groups)
        if array.ndim == 1 and len(array) and len(set(array.tolist())) == 1:
            return Categories((array.tolist()[0],), np.zeros(len(array), dtype=np.int64))
        raise


def _without(X: Any, names: list[Any], *, needed: bool) -> tuple[Any, Any]:
    """Return a data frame without some columns, and these."""
    there = [name for name in names if name in X.columns]
    if len(there) < len(names) and needed:
        absent = next(name for name in names if name not in there)
        message = f"{argument('sensitive')} names the column {absent!r}, which X does not have"
        raise InputError(message)
    if not there:
        return X, None
    import narwhals as nw  # noqa: PLC0415 (only for frames)

    frame = nw.from_native(X)
    return frame.drop(there).to_native(), X[there[0]] if len(names) == 1 else X[there]
