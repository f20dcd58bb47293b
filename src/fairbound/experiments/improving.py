"""A study of remedies: whether they lower what can be certified on rows that were held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats, Integers
from fairbound.certificate.certificate import Certificate
from fairbound.certificate.certify import certify
from fairbound.data.population import Population
from fairbound.errors import DataWarning
from fairbound.experiments.bench import Bench
from fairbound.experiments.drawing import lined, packed
from fairbound.experiments.page import Results, write_html, write_markdown
from fairbound.experiments.section import Check, Figure, Listing, Section
from fairbound.experiments.store import Table
from fairbound.improve.out_of_fold import out_of_fold
from fairbound.improve.search import Search, decided
from fairbound.version import __version__

RHO = 0.2
SPLITS = 10

#: By how much the error may rise on the rows that are chosen with; the first is what the class does by itself.
ALLOWED = 0.005
MORE = 0.01
TRADED = (0.0, 0.0025, 0.005, 0.01, 0.02)

#: Powers of the prices that are tried as weights in training.
POWERS = (0.25, 0.5, 1.0)

#: The temperatures that are tried.
TEMPERATURES = tuple(np.round(np.geomspace(0.6, 6.0, 10), 3).tolist())

MODELS = {"logistic": "logistic regression", "boosting": "gradient boosting"}
METHODS = {
    "plain": "plain training",
    "blind": "CertifiedThreshold, group-blind",
    "aware": "CertifiedThreshold, group-aware",
    "prices": "training weighted by prices",
    "balanced": "training with cell-balanced weights",
    "odds": "Fairlearn's ThresholdOptimizer (odds)",
    "gradient": "Fairlearn's ExponentiatedGradient (odds)",
}
VALUES = {
    "error": "error",
    "sensitive": "certified error, sensitive",
    "stratified": "certified error, stratified",
    "general": "certified error, general",
    "odds": "certified odds difference, sensitive",
}

#: What strata are made of, and into how many quantiles it is cut: few, for a stratum's mean is taken for the truth.
STRATA = {"adult": ("age", 4), "crime": ("population", 3), "german": ("age", 2)}

#: Fewer rows than this are divided into five folds, eight times: else the choice of a threshold hangs on the chance of
#: one division. More rows are divided into three folds, once.
FEW, REPEATS = 10_000, 8

#: Each of Fairlearn's iterations trains about four models.
ITERATIONS = 3

TREES, LEAVES = 60, 8


@dataclass(frozen=True)
class Rows:
    """Rows of one part of a split."""

    X: Floats
    y: Integers
    groups: AnyArray
    strata: AnyArray | None = None
    bands: int = 1
    categories: tuple[int, ...] = ()

    @property
    def codes(self) -> Integers:
        """The groups as numbers."""
        return np.unique(self.groups, return_inverse=True)[1].astype(np.int64)

    def population(self, predicted: AnyArray, loss: str = "zero_one") -> Population:
        """Return what is known of a model's predictions."""
        return Population.from_predictions(
            self.y,
            predicted,
            sensitive_features=self.groups,
            loss=loss,
            unknown_predictions="allow",
            strata=self.strata,
            cuts=None if self.strata is None else {"strata": self.bands},
        )


def improving(bench: Bench) -> Results:
    """Run the study and write its page."""
    names = bench.settings.datasets
    splits = 2 if bench.settings.quick else SPLITS
    named = bench.settings.model
    models = (named,) if named in MODELS else ("logistic",) if bench.settings.quick else tuple(MODELS)
    bench.progress.expect(len(names) * (len(models) + 1))
    found: dict[tuple[str, str], Table] = {}
    cooled: dict[str, Table] = {}
    for name in names:
        for model in models:
            found[name, model] = _stored(bench, f"improve-{name}-{model}", splits, _study(bench, name, model, splits))
        cooled[name] = _stored(bench, f"improve-{name}-temperature", splits, _cooling(bench, name, splits))
    sections = [_decisions(name, model, table) for (name, model), table in found.items()]
    figure = Figure(
        "improve", "Certified error (sensitive shifting) against ordinary error, means over the splits.", ()
    )
    for ending, content in _picture(found).items():
        bench.store.write(f"figures/improve.{ending}", content)
    overview = _overview(found, figure, splits)
    results = Results(
        "Improving a model: a study", _made(bench, splits, models), (overview, *sections, _temperatures(cooled))
    )
    bench.store.write("index.html", write_html(results, sorted((bench.store.folder / "data").glob("*.csv"))))
    bench.store.write("results.md", write_markdown(results))
    return results


def _made(bench: Bench, splits: int, models: tuple[str, ...]) -> tuple[str, ...]:
    only = f" --model {models[0]}" if len(models) < len(MODELS) else ""
    return (
        f"Made by `fairbound reproduce improve{only}` of fairbound {__version__}: seeds {bench.settings.seed} to "
        f"{bench.settings.seed + splits - 1} for the splits.",
    )


def _stored(bench: Bench, name: str, splits: int, compute: Callable[[], Mapping[str, Table]]) -> Table:
    with bench.progress.task(name):
        settings = {"version": __version__, "seed": bench.settings.seed, "splits": splits}
        return bench.store.tables(name, settings, compute)["values"]


def _joined(names: tuple[str, ...], features: Floats) -> tuple[Floats, tuple[int, ...]]:
    """Return features with one column for each attribute of categories, and which columns these are.

    Trees can take them so, and are grown several times as fast.
    """
    owner = [name.partition("=")[0] for name in names]
    whole = {name for name, full in zip(owner, names, strict=True) if name != full}
    columns = [np.array([n for n, one in enumerate(owner) if one == name]) for name in dict.fromkeys(owner)]
    found = [features[:, c].argmax(axis=1) if owner[c[0]] in whole else features[:, c[0]] for c in columns]
    places = tuple(n for n, c in enumerate(columns) if owner[c[0]] in whole)
    return np.column_stack(found).astype(np.float64), places


def _parts(bench: Bench, name: str, splits: int, *, joined: bool = False) -> Iterator[tuple[int, Rows, Rows]]:
    """Split a dataset anew: four fifths to train and choose with, a fifth to certify on."""
    first = bench.settings.seed
    data = replace(bench.data(name), official_test=None)
    column, bands = STRATA.get(name, ("", 1))
    strata = data.features[:, data.feature_names.index(column)] if column else None
    for seed in range(first, first + splits):
        split = data.split(seed)
        train = np.sort(np.concatenate([split.train, split.validation]))
        features = (data.features - split.mean) / split.scale
        features, categories = _joined(data.feature_names, features) if joined else (features, ())
        chosen, held = (
            Rows(
                features[p], data.label[p], data.sensitive[p], None if strata is None else strata[p], bands, categories
            )
            for p in (train, split.test)
        )
        yield seed, chosen, held


def _model(kind: str, seed: int, categories: tuple[int, ...]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 (only for this study)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 (likewise)

    if kind == "logistic":
        return LogisticRegression(solver="newton-cholesky")
    return HistGradientBoostingClassifier(
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        early_stopping=False,
        categorical_features=list(categories),
        random_state=seed,
    )


def _folds(rows: Rows, seed: int, repeats: int = 1) -> Any:
    """Return how out-of-fold probabilities are made; the first division is the same however many there are."""
    from sklearn.model_selection import RepeatedStratifiedKFold  # noqa: PLC0415 (only for this study)

    few = len(rows.y) < FEW
    return RepeatedStratifiedKFold(n_splits=5 if few else 3, n_repeats=repeats if few else 1, random_state=seed)


def _study(bench: Bench, name: str, model: str, splits: int) -> Callable[[], Mapping[str, Table]]:
    def compute() -> Mapping[str, Table]:
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 (comes with scikit-learn)

        lines: list[tuple[str, int, float, dict[str, float]]] = []
        built = _model(model, 0, ())  # what is not loaded yet is not limited
        with warnings.catch_warnings(), threadpool_limits(1):  # small trees: more threads only wait for each other
            warnings.simplefilter("ignore")  # of scikit-learn and Fairlearn, and of small cells
            for seed, train, test in _parts(bench, name, splits, joined=model == "boosting"):
                built = _model(model, seed, train.categories)
                for method, seconds, predicted in _remedies(built, train, test, seed):
                    lines.append((method, seed, seconds, _judged(test, predicted)))
        columns: dict[str, AnyArray] = {
            "method": np.array([line[0] for line in lines]),
            "seed": np.array([line[1] for line in lines], dtype=np.float64),
            "seconds": np.array([line[2] for line in lines]),
        }
        return {"values": columns | {key: np.array([line[3][key] for line in lines]) for key in VALUES}}

    return compute


def _judged(test: Rows, predicted: AnyArray) -> dict[str, float]:
    """Return the ordinary error on held-out rows, and what is certified of them."""
    population = test.population(predicted)
    found: dict[str, Certificate] = {
        "sensitive": certify(population, RHO, shift="sensitive"),
        "general": certify(population, RHO),
        "odds": certify(population, RHO, shift="sensitive", metric="equalized_odds_difference", tol=1e-4),
    }
    if test.strata is not None:
        found["stratified"] = certify(population, RHO, shift="stratified")
    bounds = {key: found[key].bound if key in found else np.nan for key in VALUES if key != "error"}
    return {"error": population.loss} | bounds


def _remedies(model: Any, train: Rows, test: Rows, seed: int) -> Iterator[tuple[str, float, AnyArray]]:
    """Train and choose on some rows, and predict others: each method, the seconds of its search, its predictions."""
    from fairlearn.postprocessing import ThresholdOptimizer  # noqa: PLC0415 (only for this study)
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient  # noqa: PLC0415 (likewise)
    from sklearn.base import clone  # noqa: PLC0415 (likewise)

    scores, repeats = out_of_fold(model, train.X, train.y, _folds(train, seed, REPEATS))
    plain = clone(model).fit(train.X, train.y)
    probability = plain.predict_proba(test.X)
    yield "plain", 0.0, probability.argmax(axis=1)
    names = tuple(np.unique(train.groups).tolist()), (0, 1)
    for method, blind, allowed in (
        ("blind", True, ALLOWED),  # a point of the curve as well
        ("aware", False, ALLOWED),
        *((f"traded {step:g}", True, step) for step in TRADED if step != ALLOWED),
    ):
        start = time.perf_counter()
        search = Search(
            scores,
            np.tile(train.y, repeats),
            np.tile(train.codes, repeats),
            names,
            RHO,
            {"shift": "sensitive"},
            group_blind=blind,
            allowed=allowed,
            budget=120,
        )
        path = search.run()
        seconds = time.perf_counter() - start
        yield method, seconds, decided(probability, path.weights[path.chosen], test.codes)
    yield "prices", 0.0, _weighted(model, train, scores[: len(train.y)], seed).predict(test.X)
    cells = 2 * train.codes + train.y
    even = (len(cells) / np.bincount(cells))[cells] / len(set(cells.tolist()))
    yield "balanced", 0.0, clone(model).fit(train.X, train.y, sample_weight=even).predict(test.X)
    optimizer = ThresholdOptimizer(
        estimator=plain, constraints="equalized_odds", prefit=True, predict_method="predict_proba"
    ).fit(train.X, train.y, sensitive_features=train.groups)
    yield "odds", 0.0, optimizer.predict(test.X, sensitive_features=test.groups, random_state=seed)
    gradient = ExponentiatedGradient(clone(model), EqualizedOdds(), max_iter=ITERATIONS)
    gradient.fit(train.X, train.y, sensitive_features=train.groups)
    yield "gradient", 0.0, gradient.predict(test.X, random_state=seed)


def _weighted(model: Any, train: Rows, scores: Floats, seed: int) -> Any:
    """Train with powers of the prices as weights, of those allowed the one whose certified error is lowest."""
    from sklearn.base import clone  # noqa: PLC0415 (only for this study)

    plain = train.population(scores.argmax(axis=1))
    first = certify(plain, RHO, shift="sensitive")
    whole = first.prices.weights(train.y, sensitive_features=train.groups)
    chosen, best = np.ones(len(whole)), first.bound
    for power in POWERS:
        found, _ = out_of_fold(model, train.X, train.y, _folds(train, seed), {"sample_weight": whole**power})
        again = train.population(found.argmax(axis=1))
        if again.loss > plain.loss + ALLOWED:
            break  # more weight makes more errors
        bound = certify(again, RHO, shift="sensitive").bound
        if bound < best:
            chosen, best = whole**power, bound
    return clone(model).fit(train.X, train.y, sample_weight=chosen)


def _cooling(bench: Bench, name: str, splits: int) -> Callable[[], Mapping[str, Table]]:
    """Choose one temperature of the probabilities by the certified Brier loss under general shifting."""

    def compute() -> Mapping[str, Table]:
        lines: list[tuple[float, ...]] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            for seed, train, test in _parts(bench, name, splits):
                model = _model("logistic", seed, ())
                scores, _ = out_of_fold(model, train.X, train.y, _folds(train, seed))
                probability = model.fit(train.X, train.y).predict_proba(test.X)
                bounds = [_brier(train, _cooled(scores, t)) for t in TEMPERATURES]
                best = TEMPERATURES[int(np.argmin(bounds))]
                after = _cooled(probability, best)
                costs = [measure(test, p) for measure in (_log_loss, _off) for p in (probability, after)]
                lines.append((seed, best, _brier(test, probability), _brier(test, after), *costs))
        keys = ("seed", "temperature", "before", "after", "log_before", "log_after", "off_before", "off_after")
        return {"values": dict(zip(keys, np.array(lines).T, strict=True))}

    return compute


def _cooled(probability: Floats, temperature: float) -> Floats:
    """Return probabilities whose log-odds are divided by a temperature."""
    logs = np.log(np.clip(probability, 1e-9, 1.0)) / temperature
    powers: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _brier(rows: Rows, probability: Floats) -> float:
    return certify(rows.population(probability, "brier"), RHO, tol=1e-4).bound


def _log_loss(rows: Rows, probability: Floats) -> float:
    return float(-np.log(np.clip(probability[np.arange(len(rows.y)), rows.y], 1e-9, 1.0)).mean())


def _off(rows: Rows, probability: Floats) -> float:
    """Return the mean distance of probability and share of label 1, in ten bins of equal size (or nearly)."""
    order = np.argsort(probability[:, 1], kind="stable")
    bins = np.array_split(order, 10)
    return float(sum(len(b) * abs(probability[b, 1].mean() - rows.y[b].mean()) for b in bins) / len(order))


def _of(table: Table, method: str, key: str) -> Floats:
    """Return a column of one method, in the order of the splits."""
    values: Floats = table[key][table["method"] == method]
    return values


def _change(table: Table, method: str, key: str) -> str:
    """Return the mean paired change against plain training, its spread, and in how many splits it is lower."""
    plain = _of(table, "plain", key)
    if np.isnan(plain).all():
        return "-"
    if method == "plain":
        return f"{plain.mean():.4f}"
    change = _of(table, method, key) - plain
    return f"{change.mean():+.4f} ± {change.std():.4f} ({(change < 0).sum()} of {len(change)})"


def _decisions(name: str, model: str, table: Table) -> Section:
    rows = tuple((words, *(_change(table, method, key) for key in VALUES)) for method, words in METHODS.items())
    text = (
        "The first row has means over the splits, the others mean changes against it on the same held-out rows, "
        "their standard deviation, and in how many splits the value is lower."
    )
    if name in STRATA:
        column, bands = STRATA[name]
        text += f" Strata are {bands} bands of {column}, cut at quantiles of the held-out rows."
    title = f"{name}, {MODELS[model]}"
    order = [table[key] for key in ("sensitive", "stratified", "general") if not np.isnan(table[key]).all()]
    apart = min(float((wider - narrower).min()) for narrower, wider in pairwise(order))
    check = Check(f"{title}: what may shift more has no lower bound", apart >= -1e-6, f"higher by {apart:.6f} and more")
    listing = Listing(f"Certified at rho {RHO:g}", ("", *VALUES.values()), rows)
    return Section(title, text, listings=(listing,), checks=(check,))


def _overview(found: Mapping[tuple[str, str], Table], figure: Figure, splits: int) -> Section:
    rows = []
    for (name, model), table in found.items():
        for method, allowed in (("blind", ALLOWED), (f"traded {MORE:g}", MORE)):
            plain, blind = (_of(table, one, "sensitive") for one in ("plain", method))
            gained = (plain - blind) / plain
            cost = _of(table, method, "error") - _of(table, "plain", "error")
            seconds = float(np.median(_of(table, method, "seconds")))
            rows.append(
                (
                    f"{name}, {MODELS[model]}",
                    f"{100 * allowed:.1f} points",
                    f"{plain.mean():.4f}",
                    f"{blind.mean():.4f}",
                    f"{-gained.mean():+.1%}",
                    f"{(gained > 0).sum()} of {len(gained)}",
                    f"{100 * cost.mean():+.2f} points",
                    f"{seconds:.2f} s",
                )
            )
    text = (
        f"Each dataset is split anew {splits} times: four fifths of the rows to train and to choose with, one fifth to "
        "certify on. All choices are made on out-of-fold probabilities; what is shown was certified on rows that no "
        "choice has seen. Thresholds may raise the error on the rows that they are chosen with by as much as is "
        f"allowed here, and in all other tables, like weights, by {100 * ALLOWED:g} points: of 800 rows by four. Fewer "
        f"than {FEW:,} rows are divided into five folds {REPEATS} times, and thresholds are chosen on all divisions at "
        "once; more rows are divided into three folds, once. Gradient boosting has "
        f"{TREES} trees of {LEAVES} leaves, and takes categories as they are; ExponentiatedGradient has {ITERATIONS} "
        "iterations."
    )
    head = (
        "",
        "allowed",
        "plain",
        "chosen thresholds",
        "change",
        "lower in",
        "ordinary error",
        "search, after the fits",
    )
    listing = Listing(f"Certified error at rho {RHO:g}, sensitive shifting, group-blind thresholds", head, tuple(rows))
    return Section("What thresholds gain", text, (figure,), (listing,))


def _temperatures(cooled: Mapping[str, Table]) -> Section:
    rows = []
    for name, table in cooled.items():
        change = table["after"] - table["before"]
        relative = float((change / table["before"]).mean())
        rows.append(
            (
                name,
                f"{table['temperature'].min():.2f} to {table['temperature'].max():.2f}",
                f"{table['before'].mean():.4f}",
                f"{table['after'].mean():.4f}",
                f"{relative:+.1%}",
                f"{(change < 0).sum()} of {len(change)}",
                f"{table['log_before'].mean():.4f}, {table['log_after'].mean():.4f}",
                f"{table['off_before'].mean():.4f}, {table['off_after'].mean():.4f}",
            )
        )
    text = (
        "One temperature divides the log-odds of a logistic regression; it is chosen by the certified Brier loss. "
        "Predicted labels, and so the error, stay as they are. What it costs stands in the last two columns, before "
        "and after: the logarithmic loss, and how far probabilities are from the shares of rows, in ten bins."
    )
    head = ("", "temperatures", "certified before", "after", "change", "lower in", "log loss", "off by")
    return Section(
        "One temperature, Brier loss, general shifting", text, listings=(Listing(f"At rho {RHO:g}", head, tuple(rows)),)
    )


def _picture(found: Mapping[tuple[str, str], Table]) -> dict[str, bytes]:
    """Draw what is traded: the curve of thresholds, and the other methods as points."""
    from matplotlib import rc_context  # noqa: PLC0415 (optional)
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 (likewise)

    marks = {"plain": "s", "aware": "D", "prices": "^", "balanced": "v", "odds": "P", "gradient": "X"}
    with rc_context({"font.size": 8, "svg.hashsalt": "improve"}):
        columns = len({model for _, model in found})
        canvas = Canvas(figsize=(max(5.2, 4.2 * columns), 2.7 * (len(found) // columns) + 1.0), layout="constrained")
        grid = canvas.subplots(len(found) // columns, columns, squeeze=False)
        for axes, ((name, model), table) in zip(grid.ravel(), found.items(), strict=True):
            means = {
                m: [100 * _of(table, m, key).mean() for key in ("error", "sensitive")]
                for m in set(table["method"].tolist())
            }
            curve = np.array([means["blind" if step == ALLOWED else f"traded {step:g}"] for step in TRADED])
            axes.plot(*curve.T, color="#111111", marker="o", markersize=3, label="CertifiedThreshold, group-blind")
            for method, mark in marks.items():
                axes.plot(*means[method], linestyle="", marker=mark, markersize=6, label=METHODS[method])
            axes.set_title(f"{name}, {MODELS[model]}", fontsize=9)
            axes.set_xlabel("error, %")
            axes.set_ylabel("certified error, %")
            lined(axes)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
        return packed(canvas)
