"""Documents that try to keep a checker busy: small texts, much work. Nothing here is random, nothing is measured.

Each family is a function of a size and returns a text; where a check would end early, multipliers are feasible and
witnesses fit, so that it does not. Numbers are short to write and long in binary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb

from fairbound.verify.document import Losses
from fairbound.verify.sampling import MOST_DRAWS, recount
from fairbound.verify.sphere import error_of_each, few_hits
from fairbound.verify.strict import canonical
from tests.by_hand import framed

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
        "pos_label": None,
        "weight": weight,
        "knowledge": {"kind": "losses", "rows": 1, "cells": cells} if bins else means,
    }


def question(name: str = "loss", **more: Any) -> Document:
    """Return a question about a metric: the loss of all if nothing else is said."""
    free: Document = {"skew": None, "rows": [], "most": []}
    asked: Document = {"metric": {"name": name, "group": None}, "shift": "general", "support": "any"}
    asked |= {
        "empty_cells": "ceiling",
        "divergence": "hellinger",
        "order": None,
        "fair": True,
        "base_rate_tolerance": None,
    }
    asked |= {"group_limits": free, "label_limits": free, "confidence": None, "tol": 0.1}
    return {**asked, **more}


def about(plus: int | None = 0, minus: int | None = None, label: int | None = None) -> Document:
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
        "unseen": table(groups, labels, 0),
        "reweighting": inside,
    }


def certificate(
    known: Document,
    asked: Document,
    proof: Document,
    objectives: Sequence[Document | None] = (None,),
    *,
    sampling: Any = None,
    confidence: float = 0.9,
    points: int = 1,
    **more: Any,
) -> str:
    """Write a document as short as can be: of all statements the same proof at each radius, and the right digest."""
    claim = {"bound": 1, "attained": 0.3}
    answer = {**claim, "witness": witness(known, **more), "proof": proof}
    sure = None if sampling is None else confidence
    stated = [{"objective": one, "confidence": sure, "sampling": sampling} for one in objectives]
    radii = [{"rho": 0.3, "claim": claim, "answers": [answer] * len(objectives)}] * points
    return written(framed(known, asked, stated, None if points == 1 else 0, radii))


def written(document: Document) -> str:
    """Write a document with the digest of its statistics."""
    digest = hashlib.sha256(canonical(document["population"]).encode()).hexdigest()
    return json.dumps({**document, "digest": f"sha256:{digest}"}, separators=(",", ":"), ensure_ascii=False)


def splits(leaves: int, depth: int, corners: int) -> list[Any]:
    """Cut one edge again and again, and below that others in turn, until there are so many pieces."""
    made: list[Any] = [entry for _ in range(min(depth, leaves - 1)) for entry in ([0, 1, 0.3], None)]
    rest = leaves - len(made) // 2

    def cut(count: int, level: int) -> None:
        if count == 1:
            made.append(None)
            return
        made.append([level % corners, (level + 1) % corners, 0.3])
        cut(count // 2, level + 1)
        cut(count - count // 2, level + 1)

    cut(rest, 0)
    return made


def pieces(axis: str, size: int, leaf: Document, leaves: int = 1, depth: int = 0, floor: float = 0) -> Document:
    """Return a proof in so many pieces with the same multipliers."""
    floors = [1] if size == 1 else [floor] * size
    return {"axis": axis, "floors": floors, "splits": splits(leaves, depth, size), "leaves": [leaf] * leaves}


def tilted(
    groups: int, labels: int, leaves: int = 1, *, axis: str = "label", depth: int = 0, floor: float = 0, **more: Any
) -> Document:
    """Return a proof of form T: multipliers above the ceiling, whatever the corner."""
    size = labels if axis == "label" else groups
    leaf: Document = {
        "form": "T",
        "w": table(groups, labels, 2.3),
        "centre": [1] + [0] * (size - 1),
        "gamma": [0.1] * size,
    }
    leaf |= {"omega": [0.1] * size, "lam": 0.7, "group_mu": [], "label_mu": [], "relaxed": "none", **more}
    return pieces(axis, size, leaf, leaves, depth, floor)


def fractional(
    groups: int, labels: int, leaves: int = 1, *, axis: str = "label", depth: int = 0, floor: float = 0, **more: Any
) -> Document:
    """Return a proof of form F for the loss of all."""
    size, other = (labels, groups) if axis == "label" else (groups, labels)
    leaf: Document = {"form": "F", "zeta": table(groups, labels, 0.1), "base": [1.3] * size, "offset": [0.1] * other}
    leaf |= {"slope": None, "centre": [0.1] * size, "omega": [0.1] * size, "lam": 0.7, "nu": None}
    return pieces(axis, size, {**leaf, "group_mu": [], "label_mu": [], **more}, leaves, depth, floor)


def any_rates(groups: int, labels: int, leaves: int = 1, depth: int = 0) -> Document:
    """Return the same where base rates may differ."""
    more: Document = {"offset": [0] * labels, "nu": [0.1] * groups}
    return fractional(groups, labels, leaves, axis="group", depth=depth, **more)


def conditional(groups: int, labels: int, leaves: int = 0, **more: Any) -> Document:
    """Return a proof of form F for a mean or, in pieces, for a mean among the rows of a label."""
    parts = 2 if leaves else 1
    leaf: Document = {"form": "F", "zeta": table(groups, labels, 2.3), "base": None, "offset": None}
    leaf |= {"slope": table(groups, labels, 0.1) if leaves else None, "centre": [0.3] * parts, "omega": [0.1] * labels}
    leaf |= {"lam": 0.7, "nu": None, "group_mu": [], "label_mu": [], **more}
    return pieces("part", parts, leaf, max(1, leaves))


def any_rates_means(groups: int, labels: int, leaves: int = 0) -> Document:
    """Return the same where base rates may differ."""
    return conditional(groups, labels, leaves, omega=[0] * labels, nu=[0.1] * groups)


def skewed(side: str, name: str = "loss", **more: Any) -> Document:
    """Return a question with a limit on differences of shares."""
    return question(name, **{f"{side}_limits": {"skew": 1e-3, "rows": [], "most": []}}, **more)


def limited(rows: int, size: int, side: str = "group", name: str = "loss") -> Document:
    """Return many linear limits, all of them loose and none of them round; some coefficients are tiny."""
    coefficients = [[float(f"{(i * 37 + j * 11) % 89}e-{i % 300}") / 100 for i in range(size)] for j in range(rows)]
    return question(name, **{f"{side}_limits": {"skew": None, "rows": coefficients, "most": [1.9] * rows}})


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
    held = Losses("losses", known["knowledge"]["cells"], 1)
    surrogate = sphere(known, recount(held, 1.0, known["loss"], losses, 0), losses, mean=mean)
    asked = question(shift=shift, confidence=0.9)
    return certificate(known, asked, fractional(groups, 2), sampling=surrogate, lower=1 if mean else None)


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
    return certificate(known, asked, tilted(groups, 2), sampling=surrogate, lower=1)


def rounded(rows: int) -> str:
    """Write a certificate of a sample with many rows that are rounded anew; the counts are wrong."""
    known = population(2, 2, 1, rows)
    known["knowledge"]["cells"] = table(2, 2, [[0.1, 0.1, rows, 0]])
    surrogate = sphere(known, table(2, 2, [rows, 0, 0]), [0, 0.5, 1])
    return certificate(known, question(confidence=0.9), fractional(2, 2), sampling=surrogate)


def hoeffding(cells: int) -> str:
    """Write a certificate of a sample in many cells of which moments are known."""
    known = population(cells // 2, 2, 1, 9)
    known["knowledge"]["cells"] = table(cells // 2, 2, [[0.1, 0.1, 4, 0], [0.3, 0.3, 5, 0]])
    moments = {"kind": "mean_variance", "mean": table(cells // 2, 2, 1), "variance": table(cells // 2, 2, 0)}
    surrogate = {**sphere(known, [], []), "region": "hoeffding", "knowledge": moments}
    surrogate |= {"losses": None, "counts": None, "seed": None}
    return certificate(known, question(confidence=0.9), fractional(cells // 2, 2), sampling=surrogate)


def curve(points: int, bins: int, proof: Document) -> str:
    """Write a curve of many points with small proofs."""
    return certificate(population(2, 2, bins), question(), proof, points=points, lower=1)


def pair(known: Document, proof: Document, label: int | None = None, asked: Document | None = None) -> str:
    """Write one statement about two groups."""
    asked = question("group_loss_difference") if asked is None else asked
    return certificate(known, asked, proof, [about(0, 1, label)])


def ratio(known: Document, proof: Document) -> str:
    """Write one statement about the ratio of two groups."""
    return certificate(known, question("demographic_parity_ratio"), proof, [{**about(0, 1), "ratio": True}])


def named(groups: int, name: Any, statements: int) -> str:
    """Write statements about groups with such names."""
    known = population(groups, 2)
    known["groups"] = [[name, n] for n in range(groups)]
    return certificate(known, question("group_loss_difference"), conditional(groups, 2), [about(0, 1)] * statements)


def one_of_many(size: int) -> str:
    """Write a metric of one group out of many, with a long name."""
    asked = question("group_loss", metric={"name": "group_loss", "group": [0] * 100})
    return certificate(population(size, 2), asked, conditional(size, 2), [about()])


def cells_of(labels: int) -> str:
    """Write the losses of all cells, of which each statement has all cells in its proof."""
    objectives = [about(s, None, y) for s in range(2) for y in range(labels)]
    return certificate(population(2, labels), question("cell_loss"), conditional(2, labels, 1), objectives)


def looking(text: str, names: int) -> str:
    """Write a certificate with such names, which are compared with each other."""
    known = population(names, 2)
    known["groups"] = [f"{text}{n}" for n in range(names)]
    return certificate(known, question(), fractional(names, 2))


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
    pairs = [about(a, b) for a in range(4) for b in range(4) if a != b][:statements]
    asked = question("group_loss_difference", confidence=0.5)
    return certificate(known, asked, conditional(4, 2), pairs, sampling=surrogate, confidence=0.99)


def corners(labels: int, leaves: int, divergence: str, name: str = "loss", **leaf: Any) -> str:
    """Write pieces of the shares of many labels under some divergence; of a mean if a metric is named."""
    asked = question(name, divergence=divergence)
    objective = None if name == "loss" else about(0, 1 if "difference" in name else None)
    return certificate(population(2, labels), asked, tilted(2, labels, leaves, **leaf), [objective])


def compared(groups: int, leaves: int, label: int | None = None) -> str:
    """Write pieces of the shares of many groups, of which two are compared with each other in their cells."""
    asked = question("group_loss_difference", divergence="kl")
    return pair(population(groups, 64), tilted(groups, 64, leaves, axis="group"), label, asked)


UNFAIR: Document = {"fair": False}
NEAR: Document = {"base_rate_tolerance": 0.05}
DIFFERENCE = "group_loss_difference"

#: Families of documents by a size: the larger the more work. Those without a size are as large as can be.
FAMILIES: dict[str, Callable[[int], str]] = {
    "fractional: groups": lambda n: certificate(population(n, 2), question(), fractional(n, 2)),
    "fractional: bins": lambda n: certificate(population(2, 2, n), question(), fractional(2, 2)),
    "fractional: bins, no witness": lambda n: certificate(population(2, 2, n), question(), fractional(2, 2), lower=1),
    "fractional: skew": lambda n: certificate(population(n, 2), skewed("group"), fractional(n, 2)),
    "fractional: 40 limits": lambda n: certificate(
        population(n, 2), limited(40, n), fractional(n, 2, group_mu=[0.1] * 40)
    ),
    "fractional: limits on 2": lambda n: certificate(
        population(2, 2), limited(n, 2), fractional(2, 2, group_mu=[0.1] * n)
    ),
    "fractional: leaves": lambda n: certificate(population(2, 2), question(), fractional(2, 2, n)),
    "fractional: leaves and bins": lambda n: certificate(population(2, 2, n), question(), fractional(2, 2, n), lower=1),
    "fractional: labels": lambda n: certificate(population(2, 64), question(), fractional(2, 64, n)),
    "fractional: labels, deep": lambda n: certificate(
        population(2, 64), skewed("label"), fractional(2, 64, n, depth=390, floor=1e-308)
    ),
    "fractional: limits": lambda n: certificate(
        population(2, 64), limited(20, 64, "label"), fractional(2, 64, n, label_mu=[0.1] * 20)
    ),
    "tilted: leaves": lambda n: certificate(population(2, 2), question(), tilted(2, 2, n)),
    "tilted: leaves and bins": lambda n: certificate(population(2, 2, n), question(), tilted(2, 2, n), lower=1),
    "tilted: labels": lambda n: certificate(population(2, 64), question(), tilted(2, 64, n)),
    "tilted: labels, deep": lambda n: certificate(
        population(2, 64), skewed("label"), tilted(2, 64, n, depth=390, floor=1e-308)
    ),
    "tilted: groups": lambda n: certificate(population(n, 64), question(), tilted(n, 64, 3)),
    "tilted: pieces of groups": lambda n: certificate(
        population(64, n), question(**UNFAIR), tilted(64, n, 2, axis="group"), masses=True
    ),
    "tilted: skew": lambda n: certificate(population(2000, 2), skewed("group"), tilted(2000, 2, n)),
    "tilted: sensitive": lambda n: certificate(
        population(2, 64), question(shift="sensitive"), tilted(2, 64, n), lower=1
    ),
    "tilted: limits": lambda n: certificate(
        population(2, 64), limited(20, 64, "label"), tilted(2, 64, n, label_mu=[0.1] * 20)
    ),
    "tilted: limits on groups": lambda n: certificate(
        population(100, 2), limited(200, 100), tilted(100, 2, n, group_mu=[0.1] * 200)
    ),
    "tilted: large multipliers": lambda n: certificate(
        population(2, 64), question(), tilted(2, 64, n, w=table(2, 64, 1e99), omega=[1e-300] * 64)
    ),
    "tilted: near base rates": lambda n: certificate(
        population(2, 64), question(**NEAR), tilted(2, 64, n, w=table(2, 64, 1e9)), masses=True
    ),
    "any base rates: deep": lambda n: certificate(
        population(64, 2), question(**UNFAIR), any_rates(64, 2, n, depth=390), masses=True
    ),
    "any base rates: leaves": lambda n: certificate(
        population(2, 2), question(**UNFAIR), any_rates(2, 2, n), masses=True
    ),
    "any base rates: groups": lambda n: certificate(
        population(64, 2), question(**UNFAIR), any_rates(64, 2, n), masses=True
    ),
    "any base rates: labels": lambda n: certificate(
        population(64, n), question(**UNFAIR), any_rates(64, n, 2), masses=True
    ),
    "kl: labels": lambda n: corners(64, n, "kl"),
    "chi squared: labels": lambda n: corners(64, n, "chi_squared"),
    "total variation: labels": lambda n: corners(64, n, "total_variation"),
    "kl: a mean": lambda n: corners(64, n, "kl", "group_loss"),
    "kl: a difference": lambda n: corners(64, n, "kl", DIFFERENCE, relaxed="plus"),
    "kl: a difference, groups": lambda n: compared(n, 2),
    "kl: a difference of a label, groups": lambda n: compared(n, 2, 1),
    "kl: large multipliers": lambda n: corners(64, n, "kl", w=table(2, 64, 1e30)),
    "kl: small multipliers": lambda n: corners(64, n, "kl", lam=1e-30),
    "kl: any base rates, bins": lambda n: certificate(
        population(2, 2, n), question(divergence="kl", **UNFAIR), tilted(2, 2), lower=1, masses=True
    ),
    "means: groups": lambda n: pair(population(n, 2), conditional(n, 2)),
    "means: labels": lambda n: pair(population(2, n), conditional(2, n)),
    "means: bins": lambda n: pair(population(2, 2, n), conditional(2, 2)),
    "means: skew": lambda n: pair(population(n, 2), conditional(n, 2), asked=skewed("group", DIFFERENCE)),
    "means of a label: pieces": lambda n: pair(population(2, 2), conditional(2, 2, n), 1),
    "means of a label: labels": lambda n: pair(population(2, n), conditional(2, n, 2), 1),
    "means of a label: pieces and bins": lambda n: pair(population(2, 2, n), conditional(2, 2, n), 0),
    "means of a label: limits on labels": lambda n: pair(
        population(2, n), conditional(2, n, 2, label_mu=[0.1] * 20), 1, limited(20, n, "label", DIFFERENCE)
    ),
    "means of a label: limits on groups": lambda n: pair(
        population(200, 2), conditional(200, 2, n, group_mu=[0.1] * 60), 1, limited(60, 200, "group", DIFFERENCE)
    ),
    "ratio: bins": lambda n: ratio(population(2, 2, n), conditional(2, 2)),
    "means, any base rates: labels": lambda n: pair(
        population(2, n), any_rates_means(2, n), asked=question(DIFFERENCE, **UNFAIR)
    ),
    "means, any base rates: pieces": lambda n: pair(
        population(2, 2), any_rates_means(2, 2, n), 1, question(DIFFERENCE, **UNFAIR)
    ),
    "means, near base rates: pieces and bins": lambda n: pair(
        population(2, 2, n), any_rates_means(2, 2, n), 0, question(DIFFERENCE, **NEAR)
    ),
    "curve: points": lambda n: curve(n, 1, fractional(2, 2)),
    "curve: points and bins": lambda n: curve(n, 5 * n, fractional(2, 2)),
    "metric: statements": lambda n: named(2, "", n),
    "metric: long names": lambda n: named(2, "\U0001f600" * 9_000, n),
    "metric: one of many groups": one_of_many,
    "metric: cells": cells_of,
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
    "radii": lambda n: infeasible(n // len(INFEASIBLE)),
    "names": lambda n: population_of_names(n // 7),
    "a name of many parts": lambda n: population_of_names(2, [0] * (n // 2)),
}

#: A radius at which nothing is certified.
INFEASIBLE = '{"rho":0,"claim":null,"answers":[]},'


def infeasible(count: int) -> str:
    """Write many radii at which nothing is certified, and one at which too much is."""
    text = certificate(population(2, 2), question(), fractional(2, 2), points=2)
    return text.replace('"points":[', '"points":[' + INFEASIBLE * count).replace('"bound":1', '"bound":0.2')


def population_of_names(count: int, first: Any = 0) -> str:
    """Write many names, and hardly anything else."""
    document = json.loads(certificate(population(2, 2), question(), fractional(2, 2)))
    document["population"]["groups"] = [first, *range(1, count)]
    return json.dumps(document, separators=(",", ":"))
