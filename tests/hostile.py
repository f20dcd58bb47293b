"""Documents that try to keep a checker busy: small texts, much work. Nothing here is random, nothing is measured.

Each family is a function of a size and returns a text; where a check would end early, multipliers are feasible and
witnesses fit, so that it does not. Numbers are short to write and long in binary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from flint import arb

from fairbound.verify.reading import FORMAT, VERSION
from fairbound.verify.sampling import MOST_DRAWS, recount
from fairbound.verify.sphere import error_of_each, few_hits
from fairbound.verify.strict import canonical

Document = dict[str, Any]
Table = list[list[Any]]

#: A text of this length is still read by everyone.
MEGABYTE = 1_000_000


def table(groups: int, labels: int, value: Any) -> Table:
    """Return a table that is the same everywhere."""
    return [[value] * labels for _ in range(groups)]


def population(groups: int, labels: int, bins: int = 0, rows: int = 1, high: float = 0.7) -> Document:
    """Return statistics: means, or so many bins in the first cell, and one in each of the others."""
    cells = table(groups, labels, [[0.3, high, rows, 0.1]])
    cells[0] = [[[0.3, high, rows, 0.1]] * bins, *cells[0][1:]]
    weight = table(groups, labels, rows)
    weight[0] = [rows * max(1, bins), *weight[0][1:]]
    means = {"kind": "mean", "mean": table(groups, labels, 0.3)}
    return {
        "groups": list(range(groups)),
        "labels": list(range(labels)),
        "ceiling": 1,
        "rows": sum(map(sum, weight)),
        "excluded_rows": 0,
        "weighted": False,
        "loss": "loss",
        "positive": None,
        "weight": weight,
        "knowledge": {"kind": "losses", "rows": 1, "cells": cells} if bins else means,
    }


def question(**more: Any) -> Document:
    """Return a question about the loss of all."""
    asked: Document = dict.fromkeys(("group_skew", "label_skew", "group_limits", "label_limits", "objective"))
    asked |= {"shift": "general", "support": "any", "empty_cells": "ceiling", "divergence": "hellinger", "rho": 0.3}
    asked |= {"fair": True, "base_rate_tolerance": None, "confidence": None, "tolerance": 0.1}
    return {**asked, **more}


def about(plus: int = 0, minus: int | None = None, label: int | None = None) -> Document:
    """Return what a statement of a metric is about."""
    return {"plus": plus, "minus": minus, "label": label, "inside": True, "ratio": False}


def witness(known: Document, lower: int | None = None, *, masses: bool = False) -> Document:
    """Return a witness that fits: equal shares, equal masses inside the cells."""
    groups, labels = len(known["groups"]), len(known["labels"])
    cells = known["knowledge"].get("cells")
    inside = [[[1] * (lower or (len(cells[s][y]) if cells else 2)) for y in range(labels)] for s in range(groups)]
    return {
        "group_mass": [1 / groups] * groups,
        "label_mass": [1 / labels] * labels,
        "mass": table(groups, labels, 1 / groups / labels) if masses else None,
        "reweighting": inside,
        "unseen": table(groups, labels, 0),
    }


def written(document: Document, sampling: Any = None) -> str:
    """Write a document, with the digest of its statistics, as short as can be."""
    digest = hashlib.sha256(canonical(document["population"]).encode()).hexdigest()
    head = {"format": FORMAT, "version": VERSION, "producer": "", "sampling": sampling, "digest": f"sha256:{digest}"}
    return json.dumps({**head, **document}, separators=(",", ":"), ensure_ascii=False)


def certificate(
    known: Document, asked: Document, proof: Document, *, bound: float = 1, sampling: Any = None, **more: Any
) -> str:
    """Write a certificate."""
    parts = {"question": asked, "claim": {"bound": bound, "attained": 0.3}, "witness": witness(known, **more)}
    return written({"population": known, **parts, "proof": proof}, sampling)


def metric(known: Document, name: str, statements: list[Document], *, points: int = 1, sampling: Any = None) -> str:
    """Write a metric of some statements, the same at each radius."""
    claim = {"bound": 1, "attained": 0.3}
    made = [{"claim": claim, "witness": witness(known), **statement} for statement in statements]
    whole = {
        "format": "fairbound-metric" if points == 1 else "fairbound-metric-curve",
        "population": known,
        "metric": {"name": name, "group": None},
        "confidence": None if sampling is None else 0.5,
        "distance": None,
        "points": [{"claim": claim, "statements": made}] * points,
    }
    return written(whole, [sampling] * len(made))


def tangent(groups: int, labels: int, limits: tuple[int, int] = (0, 0)) -> Document:
    """Return a proof without pieces."""
    proof: Document = {"kind": "tangent", "axis": "label", "phi": table(groups, labels, 0.7), "share": [0.7] * labels}
    return {**proof, "level_mu": [0.1] * limits[0], "share_mu": [0.1] * limits[1]}


def splits(leaves: int, depth: int, corners: int) -> list[Any]:
    """Halve one edge again and again, and below that others in turn, until there are so many pieces."""
    made: list[Any] = [entry for _ in range(min(depth, leaves - 1)) for entry in ([0, 1], None)]
    rest = leaves - len(made) // 2

    def halve(count: int, level: int) -> None:
        if count == 1:
            made.append(None)
            return
        made.append([level % corners, (level + 1) % corners])
        halve(count // 2, level + 1)
        halve(count - count // 2, level + 1)

    halve(rest, 0)
    return made


def partition(groups: int, labels: int, leaves: int, kind: str = "partition", depth: int = 0, **leaf: Any) -> Document:
    """Return a proof in pieces of the labels' shares: multipliers above the ceiling, whatever the corner."""
    centre = [1] + [0] * (labels - 1)
    one = {"w": table(groups, labels, 2.3), "centre": centre, "omega": [0.1] * labels}
    more: Document = {"level_mu": [], "share_mu": []} if kind == "partition" else {"lam": 0.7}
    proof = {"kind": kind, "axis": "label", "floors": [1e-308] * labels if depth else [0] * labels}
    return {**proof, "splits": splits(leaves, depth, labels), "leaves": [{**one, **more, **leaf}] * leaves}


def rates(groups: int, labels: int, leaves: int, depth: int = 0) -> Document:
    """Return a proof in pieces of the groups' shares where base rates may differ."""
    leaf = {"zeta": table(groups, labels, 0.1), "base": [1.3] * groups, "nu": [0.1] * groups}
    leaf |= {"centre": [0.1] * groups, "omega": [0.1] * groups, "lam": 0.7}
    floors = [0] * groups
    return {"kind": "rates", "floors": floors, "splits": splits(leaves, depth, groups), "leaves": [leaf] * leaves}


def conditional(groups: int, labels: int, pieces: int, limits: tuple[int, int] = (0, 0)) -> Document:
    """Return a proof of a mean, or, in pieces, of a mean among the rows of a label."""
    ends = 2 if pieces > 1 else 1
    proof: Document = {"kind": "conditional", "cuts": [n / pieces for n in range(pieces + 1)] if pieces > 1 else []}
    proof |= {
        "theta": [[table(groups, labels, 2.3)] * ends] * pieces,
        "group_mu": [[[0.1] * limits[0]] * ends] * pieces,
    }
    return {**proof, "label_mu": [[0.1] * limits[1]] * pieces, "omega": [[0.1] * labels] * pieces if pieces > 1 else []}


def rates_means(groups: int, labels: int, pieces: int) -> Document:
    """The same where base rates may differ."""
    proof = {key: value for key, value in conditional(groups, labels, pieces).items() if key in {"cuts", "theta"}}
    mu: Table = [[[]] * (2 if pieces > 1 else 1)] * pieces
    return {"kind": "rates_means", **proof, "group_mu": mu, "nu": [0.1] * groups}


def limited(rows: int, size: int, side: str = "group") -> Document:
    """Return many linear limits, all of them loose and none of them round; some coefficients are tiny."""
    coefficients = [[float(f"{(i * 37 + j * 11) % 89}e-{i % 300}") / 100 for i in range(size)] for j in range(rows)]
    return question(**{f"{side}_limits": {"rows": coefficients, "most": [1.9] * rows}})


def _limits(asked: Document) -> Document:
    return {key: asked[key] for key in ("group_limits", "label_limits")}


def sphere(known: Document, counts: Table, losses: list[float], *, mean: float | None = None) -> Document:
    """Return a stand-in from counts; of means if one is given, else of the losses that were counted."""
    groups, labels = len(known["groups"]), len(known["labels"])
    cells = [[[[v, v, n, 0] for v, n in zip(losses, cell, strict=True) if n] for cell in row] for row in counts]
    means = {"kind": "mean", "mean": table(groups, labels, mean)}
    return {
        "region": "sphere",
        "affinity": 0.1,
        "weight": known["weight"],
        "knowledge": {"kind": "losses", "rows": 1, "cells": cells} if mean is None else means,
        "losses": losses,
        "counts": counts,
        "seed": 0,
    }


def counted(cells: int, intervals: int, rows: int, *, shift: str = "general") -> str:
    """Write a certificate of a sample: so many rows near each of many losses in many cells, rounded at random."""
    groups = max(2, cells // 2)
    rows = max(1, min(rows, MOST_DRAWS // (2 * groups * intervals)))
    losses = [n / intervals for n in range(intervals + 1)]
    known = population(groups, 2, 1, rows * intervals)
    near = [(n + 0.5) / intervals for n in range(intervals)]
    known["knowledge"]["cells"] = table(groups, 2, [[loss, loss, rows, 0] for loss in near])
    mean = None if shift == "general" else 0.99
    surrogate = sphere(known, recount(known, losses, 0), losses, mean=mean)
    asked = question(shift=shift, confidence=0.9)
    return certificate(known, asked, tangent(groups, 2), sampling=surrogate, lower=1 if mean else None)


def tails(cells: int, rows: int) -> str:
    """Write a certificate of a sample whose means are limited by exact binomial tails, and by nothing less."""
    groups = max(2, cells // 2)
    known = {**population(groups, 2, 1, rows), "loss": "zero_one"}
    known["knowledge"]["cells"] = table(groups, 2, [[0, 0, rows - rows // 2, 0], [1, 1, rows // 2, 0]])
    error = float(error_of_each(arb(0.1) * 7 / 8, 2 * groups).mid())
    low, high = 0.5, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if few_hits(rows // 2, rows, arb(middle)) <= arb(error) else (middle, high)
    surrogate = sphere(known, table(groups, 2, [rows - rows // 2, rows // 2]), [0, 1], mean=round(high + 1e-6, 6))
    asked = question(shift="sensitive", confidence=0.9)
    return certificate(known, asked, partition(groups, 2, 1), sampling=surrogate, lower=1)


def rounded(rows: int) -> str:
    """Write a certificate of a sample with many rows that are rounded anew; the counts are wrong."""
    known = population(2, 2, 1, rows)
    known["knowledge"]["cells"] = table(2, 2, [[0.1, 0.1, rows, 0]])
    surrogate = sphere(known, table(2, 2, [rows, 0, 0]), [0, 0.5, 1])
    return certificate(known, question(confidence=0.9), tangent(2, 2), sampling=surrogate)


def hoeffding(cells: int) -> str:
    """Write a certificate of a sample in many cells of which moments are known."""
    known = population(cells // 2, 2, 1, 9)
    known["knowledge"]["cells"] = table(cells // 2, 2, [[0.1, 0.1, 4, 0], [0.3, 0.3, 5, 0]])
    moments = {"kind": "mean_variance", "mean": table(cells // 2, 2, 1), "variance": table(cells // 2, 2, 0)}
    surrogate = {**sphere(known, [], []), "region": "hoeffding", "knowledge": moments, "losses": None, "counts": None}
    return certificate(known, question(confidence=0.9), tangent(cells // 2, 2), sampling=surrogate, lower=2)


def curve(points: int, bins: int, proof: Document) -> str:
    """Write a curve of many points with small proofs."""
    known = population(2, 2, bins)
    one = {"question": question(), "claim": {"bound": 1, "attained": 0.3}, "witness": witness(known, 1), "proof": proof}
    return written({"format": "fairbound-curve", "population": known, "distance": 0, "points": [one] * points})


def pair(known: Document, proof: Document, label: int | None = None, **more: Any) -> str:
    """Write one statement about two groups."""
    statement = {"question": question(objective=about(0, 1, label), **more), "proof": proof}
    return metric(known, "group_loss_difference", [statement])


def ratio(known: Document, proof: Document) -> str:
    """Write one statement about the ratio of two groups."""
    statement = {"question": question(objective={**about(0, 1), "ratio": True}), "proof": proof}
    return metric(known, "demographic_parity_ratio", [statement])


def named(groups: int, name: Any, statements: int) -> str:
    """Write statements about groups with such names."""
    known = population(groups, 2)
    known["groups"] = [[name, n] for n in range(groups)]
    proof = conditional(groups, 2, 1)
    asked = [question(objective=about(0, 1)) for _ in range(statements)]
    return metric(known, "group_loss_difference", [{"question": one, "proof": proof} for one in asked])


def one_of_many(size: int) -> str:
    """Write a metric of one group out of many, with a long name."""
    known = population(size, 2)
    statement = {"question": question(objective=about()), "proof": conditional(size, 2, 1)}
    whole = json.loads(metric(known, "group_loss", [statement]))
    whole["metric"]["group"] = [0] * (10 * size)
    return json.dumps(whole)


def looking(text: str, names: int) -> str:
    """Write a certificate with such names, which are compared with each other."""
    known = population(names, 2)
    known["groups"] = [f"{text}{n}" for n in range(names)]
    return certificate(known, question(), tangent(names, 2))


def samples(statements: int, rows: int, bins: int = 1) -> str:
    """Write statements of a metric that each round many rows anew."""
    known = population(4, 2, 1, 1)
    known["knowledge"]["cells"] = table(4, 2, [[0.1, 0.1, 1, 0]])
    known["knowledge"]["cells"][0] = [[[0.1, 0.1, rows, 0]] * bins, *known["knowledge"]["cells"][0][1:]]
    rows *= bins
    known["weight"][0] = [rows, 1]
    known["rows"] = rows + 7
    counts = table(4, 2, [1, 0, 0])
    counts[0] = [[rows, 0, 0], [1, 0, 0]]
    surrogate = sphere(known, counts, [0, 0.5, 1])
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b][:statements]
    asked = [question(objective=about(*pair), confidence=0.99) for pair in pairs]
    made = [{"question": one, "proof": conditional(4, 2, 1)} for one in asked]
    return metric(known, "group_loss_difference", made, sampling=surrogate)


def corners(groups: int, leaves: int, divergence: str, kind: str, **leaf: Any) -> str:
    """Write pieces of as many shares as are allowed, under some divergence; of a metric if the leaves are of means."""
    known = population(groups, 64)
    more: Document = {"divergence": divergence}
    proof = partition(groups, 64, leaves, kind, **leaf)
    if kind == "divergence_partition":
        return certificate(known, question(**more), proof)
    if kind == "difference_partition":  # pieces of the group shares
        known = population(64, groups)
        return pair(known, {**proof, "axis": "group"}, **more)
    return metric(known, "group_loss", [{"question": question(objective=about(), **more), "proof": proof}])


UNFAIR = {"fair": False}
MEAN, DIFFERENCE = {"relaxed": False}, {"plus_relaxed": False, "minus_relaxed": False}

#: Families of documents by a size: the larger the more work. Those without a size are as large as can be.
FAMILIES: dict[str, Callable[[int], str]] = {
    "tangent: groups": lambda n: certificate(population(n, 2), question(), tangent(n, 2)),
    "tangent: bins": lambda n: certificate(population(2, 2, n), question(), tangent(2, 2)),
    "tangent: bins, no witness": lambda n: certificate(population(2, 2, n), question(), tangent(2, 2), lower=1),
    "tangent: skew": lambda n: certificate(population(n, 2), question(group_skew=1e-3), tangent(n, 2)),
    "tangent: 40 limits": lambda n: certificate(population(n, 2), limited(40, n), tangent(n, 2, (40, 0))),
    "tangent: limits on 2": lambda n: certificate(population(2, 2), limited(n, 2), tangent(2, 2, (n, 0))),
    "partition: leaves": lambda n: certificate(population(2, 2), question(), partition(2, 2, n)),
    "partition: leaves and bins": lambda n: certificate(population(2, 2, n), question(), partition(2, 2, n), lower=1),
    "partition: labels": lambda n: certificate(population(2, 64), question(), partition(2, 64, n)),
    "partition: labels, deep": lambda n: certificate(
        population(2, 64), question(label_skew=1e-3), partition(2, 64, n, depth=390)
    ),
    "partition: groups": lambda n: certificate(population(n, 64), question(), partition(n, 64, 3)),
    "partition: skew": lambda n: certificate(population(2000, 2), question(group_skew=1e-3), partition(2000, 2, n)),
    "partition: sensitive": lambda n: certificate(
        population(2, 64), question(shift="sensitive"), partition(2, 64, n), lower=1
    ),
    "partition: limits": lambda n: certificate(
        population(2, 64), limited(20, 64, "label"), partition(2, 64, n, share_mu=[0.1] * 20)
    ),
    "partition: limits on groups": lambda n: certificate(
        population(100, 2), limited(200, 100), partition(100, 2, n, level_mu=[0.1] * 200)
    ),
    "partition: large multipliers": lambda n: certificate(
        population(2, 64), question(), partition(2, 64, n, w=table(2, 64, 1e99), omega=[1e-300] * 64)
    ),
    "rates: deep": lambda n: certificate(
        population(64, 2), question(**UNFAIR), rates(64, 2, n, depth=390), masses=True
    ),
    "rates: leaves": lambda n: certificate(population(2, 2), question(**UNFAIR), rates(2, 2, n), masses=True),
    "rates: groups": lambda n: certificate(population(64, 2), question(**UNFAIR), rates(64, 2, n), masses=True),
    "rates: labels": lambda n: certificate(population(64, n), question(**UNFAIR), rates(64, n, 2), masses=True),
    "kl: labels": lambda n: corners(2, n, "kl", "divergence_partition"),
    "chi squared: labels": lambda n: corners(2, n, "chi_squared", "divergence_partition"),
    "total variation: labels": lambda n: corners(2, n, "total_variation", "divergence_partition"),
    "kl: a mean": lambda n: corners(2, n, "kl", "mean_partition", **MEAN),
    "kl: a difference": lambda n: corners(2, n, "kl", "difference_partition", **DIFFERENCE),
    "kl: a difference, groups": lambda n: corners(n, 2, "kl", "difference_partition", **DIFFERENCE),
    "kl: large multipliers": lambda n: corners(2, n, "kl", "divergence_partition", w=table(2, 64, 1e30)),
    "kl: small multipliers": lambda n: corners(2, n, "kl", "divergence_partition", lam=1e-30),
    "kl: single, bins": lambda n: certificate(
        population(2, 2, n),
        question(divergence="kl", **UNFAIR),
        {"kind": "divergence_single", "eta": 0.7, "lam": 0.3},
        lower=1,
        masses=True,
    ),
    "means: groups": lambda n: pair(population(n, 2), conditional(n, 2, 1)),
    "means: labels": lambda n: pair(population(2, n), conditional(2, n, 1)),
    "means: bins": lambda n: pair(population(2, 2, n), conditional(2, 2, 1)),
    "means: skew": lambda n: pair(population(n, 2), conditional(n, 2, 1), group_skew=1e-3),
    "means of a label: pieces": lambda n: pair(population(2, 2), conditional(2, 2, n), label=1),
    "means of a label: labels": lambda n: pair(population(2, n), conditional(2, n, 2), label=1),
    "means of a label: pieces and bins": lambda n: pair(population(2, 2, n), conditional(2, 2, n), label=1),
    "means of a label: limits on labels": lambda n: pair(
        population(2, n), conditional(2, n, 2, (0, 20)), 1, **_limits(limited(20, n, "label"))
    ),
    "means of a label: limits on groups": lambda n: pair(
        population(200, 2), conditional(200, 2, n, (60, 0)), 1, **_limits(limited(60, 200))
    ),
    "ratio: bins": lambda n: ratio(population(2, 2, n), conditional(2, 2, 1)),
    "rates and means: labels": lambda n: pair(population(2, n), rates_means(2, n, 1), **UNFAIR),
    "rates and means: pieces": lambda n: pair(population(2, 2), rates_means(2, 2, n), label=1, **UNFAIR),
    "curve: points": lambda n: curve(n, 1, tangent(2, 2)),
    "curve: points and bins": lambda n: curve(n, 5 * n, tangent(2, 2)),
    "metric: statements": lambda n: named(2, "", n),
    "metric: long names": lambda n: named(2, "\U0001f600" * 9_000, n),
    "metric: one of many groups": one_of_many,
    "names: marks": lambda n: looking("\u0315\u0300" * 4_900, n),
    "names: ligatures": lambda n: looking("\ufdfa" * 9_800, n),
    "sample: cells": lambda n: counted(n, 1, 100),
    "sample: losses": lambda n: counted(4, n, 30),
    "sample: cells and losses": lambda n: counted(n, n, 30),
    "sample: means of cells": lambda n: tails(n, 20_000),
    "sample: means of cells, few rows": lambda n: tails(n, 40),
    "sample: means of losses": lambda n: counted(4, n, 3000, shift="sensitive"),
    "sample: means of cells and losses": lambda n: counted(n, 5, 1000, shift="sensitive"),
    "sample: rows": rounded,
    "sample: rows of statements": lambda n: samples(12, n),
    "sample: moments": hoeffding,
    "sample: statements and bins": lambda n: samples(12, 40, n),
}

#: Texts that are no certificates, by a number of characters.
TEXTS: dict[str, Callable[[int], str]] = {
    "quotes": lambda n: '"' + '\\"' * (n // 2),
    "backslashes": lambda n: '"' + "\\" * n,
    "open brackets": lambda n: "[" * n,
    "empty lists": lambda n: "[" + "[]," * (n // 3) + "[]]",
    "empty objects": lambda n: "[" + "{}," * (n // 3) + "{}]",
    "objects": lambda n: "[" + '{"":0},' * (n // 7) + "0]",
    "one digit after the other": lambda n: "1" * n,
    "digits after the point": lambda n: "0." + "1" * n,
    "large numbers": lambda n: "[" + "9" * 4000 + ("," + "9" * 4000) * (n // 4001 - 1) + "]",
    "keys": lambda n: "{" + ",".join(f'"{i}":0' for i in range(n // 10)) + "}",
    "one key": lambda n: "{" + '"":0,' * (n // 5) + '"":0}',
    "radii": lambda n: curve(1, 1, tangent(2, 2)).replace('"points":[', '"points":[' + '{"infeasible":0},' * (n // 18)),
    "names": lambda n: population_of_names(n // 7),
    "a name of many parts": lambda n: population_of_names(2, [0] * (n // 2)),
}


def population_of_names(count: int, first: Any = 0) -> str:
    """Write many names, and hardly anything else."""
    document = json.loads(certificate(population(2, 2), question(), tangent(2, 2)))
    document["population"]["groups"] = [first, *range(1, count)]
    return json.dumps(document, separators=(",", ":"))
