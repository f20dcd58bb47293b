"""The JSON Schema of documents, made from their one description (verify/document.py), and words for every entry.

A schema sees the form only: that tables fit together, and all proofs, the checker looks at.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from fairbound.verify import document as written
from fairbound.verify.strict import LONGEST_PART, MOST_PARTS, Name, Shape, Within

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_MULTIPLIERS: dict[str, str] = {
    "omega": "Multipliers by which the searched shares' own limits count; by label where parts are searched.",
    "lam": "The multiplier of the ball.",
    "group_mu": "Multipliers of the linear limits on groups, one for each.",
    "label_mu": "Multipliers of the linear limits on labels, one for each.",
}
_MASSES = "Weight of each cell, groups by labels; only the proportions count. 0 marks a cell without data."
_LEVELS = "Levels of the base rates, by group; null if they are not used."
_BOUND = "What no distribution in question exceeds; of a ratio, what none is below."

#: What the entries mean, by the object that they are in.
MEANINGS: dict[type, dict[str, str]] = {
    written.Document: {
        "format": "Says that this is a certificate, or several.",
        "version": "Version of the document format, not of the program.",
        "producer": "Program and version that wrote the document. For people; nothing depends on it.",
        "provenance": "What the document is about. For people; nothing depends on it.",
        "population": "The statistics that the claims are about.",
        "confidence": "How sure all claims are together, where the rows are a sample; null if they are the population.",
        "questions": "What is asked of the population, and the answers. One or more.",
        "gates": "Thresholds of questions, at most one for each.",
        "digest": "'sha256:' and 64 hexadecimal digits: the digest of `population`. It is no signature.",
    },
    written.Provenance: {
        "date": "When it was certified, as ISO 8601 writes it.",
        "files": "The files that the rows came from.",
        "columns": "What was read from which of their columns.",
        "cuts": "Where columns of strata were cut.",
        "meanings": "What labels mean.",
        "model": "The model that is spoken of.",
        "data": "The data that it was applied to.",
        "note": "Anything else.",
    },
    written.File: {"name": "Its name.", "sha256": "The SHA-256 of its bytes, 64 hexadecimal digits."},
    written.Column: {"role": "What it was read as.", "name": "Its name."},
    written.Cut: {
        "name": "The name of the column.",
        "at": "The points at which it was cut; null if it was cut into quantiles.",
        "quantiles": "Into how many quantiles; null if points are given.",
    },
    written.Meaning: {"label": "The label.", "words": "What it means."},
    written.Versioned: {"name": "Its name.", "version": "Which version of it; null if none is told."},
    written.Gate: {
        "question": "Number of the question.",
        "threshold": "What none of its bounds may exceed; of a ratio, fall below.",
        "passed": "Whether none does.",
    },
    written.Population: {
        "groups": "Names of the groups, two or more: the rows of all tables, in their order.",
        "labels": "Names of the true labels, two or more: the columns of all tables, in their order.",
        "rows": "Number of data rows; null if moments were given. With a confidence, the sum of the weights.",
        "excluded_rows": "Number of rows left out because a value was missing. For people; nothing depends on it.",
        "weighted": "Whether the rows had weights. With a confidence they have none.",
        "weight": _MASSES,
        "measures": "What was measured in the cells, one or more: a loss, or whether a label is predicted.",
    },
    written.Measure: {
        "loss": "What the loss is called. 'selected' is 1 where the model predicts `pos_label`, else 0.",
        "pos_label": "The label whose selections are counted, where the loss is 'selected' and it is known; else null.",
        "ceiling": "The largest loss there can be; null if none is known. Positive where only moments are known.",
        "knowledge": "What is known of the losses inside the cells.",
    },
    written.Losses: {
        "kind": "Says that losses are given.",
        "cells": "Losses of each cell, groups by labels: lists of bins, whose weights add up to the cell's.",
        "rows": "The largest number of rows in one bin. The checker, which is exact, has no use for it.",
    },
    written.Strata: {
        "kind": "Says that strata are given: the parts of the cells in which nothing changes.",
        "names": "Names of the strata, one or more.",
        "cells": "Strata of each cell, groups by labels: an entry for each name, whose weights add up to the cell's.",
    },
    written.Mean: {"kind": "Says that means are given.", "mean": "Mean loss of each cell, at most the ceiling."},
    written.MeanVariance: {
        "kind": "Says that means and variances are given.",
        "mean": "Mean loss of each cell, at most the ceiling.",
        "variance": "Variance of the loss in each cell; at most mean x (ceiling - mean).",
    },
    written.Question: {
        "measure": "Number of the measure that it is about.",
        "metric": "What is bounded.",
        "shift": "What stays as it is: 'sensitive', inside cells; 'stratified', inside strata; 'general', nothing.",
        "support": "'any' losses up to the ceiling may occur, or only those 'observed' in their cell.",
        "empty_cells": "What is taken of cells without data: that losses there may be the 'ceiling', or nothing.",
        "divergence": "How the distance from the data is measured.",
        "order": "Which one of a family of divergences; null for those that are none.",
        "fair": "Whether base rates are the same in all groups, or nearly the same.",
        "base_rate_tolerance": "By how much they may differ; null if they are equal, or any.",
        "group_limits": "Limits on the shares of groups.",
        "label_limits": "Limits on the shares of labels; none where base rates may differ.",
        "confidence": "How sure the claim is, where the rows are a sample; null if they are the population.",
        "tol": "The gap between bound and attained value that was aimed at. For people; nothing depends on it.",
        "statements": "What the metric is made of. Of pairs of groups, one for each way round.",
        "distance": "Of a curve, how far away the nearest distribution in question is; null for a single certificate.",
        "points": "One for each radius.",
    },
    written.Metric: {
        "name": "'loss' is the loss of all; others are means given a group, or compare two groups.",
        "group": "The group that was asked about; null for all.",
    },
    written.Limits: {
        "skew": "By how much two shares may differ; null for no limit.",
        "rows": "Coefficients of linear limits, a row for each, as many as there are shares.",
        "most": "What the products of these rows with the shares are at most.",
    },
    written.Statement: {
        "objective": "What it is about; null for the loss of all.",
        "confidence": "How sure this statement is; null without a sample.",
        "sampling": "What takes the place of the sampled distribution; null without a sample.",
    },
    written.Objective: {
        "plus": "Number of the group whose mean is added; null for none.",
        "minus": "Number of the group whose mean is subtracted; null for none. Both null: every two groups.",
        "label": "Number of the label among whose rows means are taken; null for all rows.",
        "inside": "Whether the rows that have this label are meant, or the others.",
        "ratio": "Whether the second mean is divided by the first.",
    },
    written.Sampling: {
        "region": "The confidence region: 'sphere' or 'hoeffding'.",
        "affinity": "Least affinity of the surrogate with P, or with what is at least as bad, with that confidence.",
        "weight": _MASSES,
        "knowledge": "What is taken to be known of the losses.",
        "losses": "Values that losses are rounded to, from 0 to the ceiling; null if the region does not round.",
        "counts": "Numbers of rows by cell and rounded loss; null if the region does not round.",
        "seed": "Seed of the random rounding, which anybody can repeat; null if none had to be rounded.",
    },
    written.Point: {
        "rho": "The radius: the largest divergence from the data.",
        "claim": "What is claimed of the metric; null if no distribution in question is so near.",
        "answers": "One for each statement, in their order; none if there is no claim.",
    },
    written.Claim: {"bound": _BOUND, "attained": "The worst value that a witness attains."},
    written.Answer: {
        "bound": _BOUND,
        "attained": "What the witness attains; null if there is none.",
        "witness": "A distribution in question; null if none is shown.",
        "proof": "Why the bound holds.",
    },
    written.Witness: {
        "group_mass": "Shares of the groups.",
        "label_mass": "Shares of the labels.",
        "mass": "Masses of the cells; null if they are the products of the shares.",
        "unseen": "For each cell a weight at the largest loss, beside those of `reweighting`.",
        "reweighting": "For each cell the weights of its losses; only their proportions count.",
    },
    written.Proof: {
        "axis": "Which shares are cut into pieces: of labels, of groups, or of the label asked about and the others.",
        "floors": "What each of these shares is at least in the root of the tree.",
        "splits": "The tree, in preorder: the two corners of the edge that is cut and where; null is a leaf.",
        "leaves": "Multipliers of the leaves, in the same order.",
    },
    written.Tilted: {
        "form": "Says that the multipliers are of form T.",
        "w": "Multipliers of the cells at the centre.",
        "centre": "The shares from which the multipliers' tilt counts.",
        "gamma": "The part of the tilt that is the same in all cells.",
        "relaxed": "Which means are replaced by the largest that they can be.",
        **_MULTIPLIERS,
    },
    written.Fractional: {
        "form": "Says that the multipliers are of form F.",
        "zeta": "Multipliers of the cells that are divided by the searched share.",
        "base": "Multipliers that are added, by searched share; null for means.",
        "offset": "Multipliers that are added, by share of the other side; null for means.",
        "slope": "Multipliers of the cells that are not divided by it; null for the loss of all, or if they are 0.",
        "centre": "The shares where tangents take the place of concave terms.",
        "nu": _LEVELS,
        **_MULTIPLIERS,
    },
    written.Shared: {
        "zeta": "Multipliers of the cells of groups that do not count.",
        "plus": "The same where their group's mean is added.",
        "minus": "The same where it is subtracted.",
        "slope": "How `zeta` moves with the searched share; null if it does not.",
        "plus_slope": "How `plus` moves with it; null if it does not.",
        "minus_slope": "How `minus` moves with it; null if it does not.",
        "centre": "The shares where tangents take the place of concave terms.",
        "nu": _LEVELS,
        **_MULTIPLIERS,
    },
    written.Pairwise: {
        "form": "Says that the multipliers are of form P.",
        "sets": "Sets of multipliers: of each two groups the one that proves most counts.",
    },
}

#: Types that have a name of their own in the schema, and what they are.
NAMED: dict[str, tuple[Any, str]] = {
    "number": (written.Number, "A number of at most 1e100 in size."),
    "amount": (written.Amount, "A number from 0 to 1e100."),
    "share": (written.Share, "A number from 0 to 1."),
    "radius": (written.Radius, "A number from 0 to 1e9; at most 1 where the divergence is."),
    "order": (written.Order, "A number from 0.1 to 10, and not 1."),
    "count": (written.Count, "A whole number."),
    "seed": (written.Seed, "A whole number of 64 bits."),
    "text": (written.Text, "A text of at most 10,000 characters."),
    "coefficient": (written.Coefficient, "A number of at most 2 in size."),
    "bin": (written.Bin, "Lower end, upper end, weight, and the share of the upper end that keeps the mean."),
    "stratum": (written.Stratum, "Weight and mean loss; both 0 where the cell has no such rows."),
    "split": (written.Split, "Two corners, and where between them the new corner lies, from the first to the second."),
    "name": (Name, "The name of a group or a label; a list has a part for each of several columns."),
    "divergence": (written.Divergence, "Divergences."),
}


def schema() -> Schema:
    """Return the JSON Schema of documents of this version."""
    defined = {name: {**_plain(kind), "description": meaning} for name, (kind, meaning) in NAMED.items()}
    defined |= {_called(kind): _object(kind) for kind in MEANINGS if kind is not written.Document}
    head = {"$schema": DIALECT, "$id": "certificate.json", "title": "fairbound certificate"}
    return {**head, **_object(written.Document), "$defs": dict(sorted(defined.items()))}


def _called(kind: type) -> str:
    return kind.__name__[0].lower() + kind.__name__[1:]


def _object(kind: type) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind)]
    entries = {name: {**_of(hints[name]), "description": MEANINGS[kind][name]} for name in names}
    said = {"type": "object", "description": inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]}
    return {**said, "properties": entries, "required": names, "additionalProperties": False}


@cache
def _names() -> list[tuple[Any, str]]:
    return [(kind, name) for name, (kind, _) in NAMED.items()]


def _of(kind: Any) -> Schema:
    """Return a reference to what has a name, and else the schema itself."""
    name = next((name for known, name in _names() if known == kind), None)
    if name is None and is_dataclass(kind):
        name = _called(kind)  # type: ignore[arg-type]  # of types, not of their instances
    return _plain(kind) if name is None else {"$ref": f"#/$defs/{name}"}


def _plain(kind: Any) -> Schema:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner, limit = arguments
        return _plain(inner) if isinstance(limit, Shape) else _limited(inner, limit)
    if origin in {Union, UnionType}:
        return {"anyOf": [{"type": "null"} if one is NoneType else _of(one) for one in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)} if len(arguments) > 1 else {"const": arguments[0]}
    if origin is list:
        return {"type": "array", "items": _of(arguments[0])}
    if kind is Name:
        part = [{"type": "boolean"}, _limited(str, Within(0, LONGEST_PART)), _of(written.Number)]
        return {"anyOf": [*part, {"type": "array", "items": {"anyOf": part}, "minItems": 1, "maxItems": MOST_PARTS}]}
    return {bool: {"type": "boolean"}}[kind]


def _limited(kind: Any, limit: Within) -> Schema:
    low, high = limit.low, limit.high
    if kind in {float, int}:
        return {"type": "number" if kind is float else "integer", "minimum": low, "maximum": high}
    if kind is str:
        return {"type": "string", "maxLength": high}
    return {**_plain(kind), "minItems": low, "maxItems": high}
