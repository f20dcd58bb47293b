"""Certificates as documents: how each part is written and read back (verify/document.py describes the form).

Floats are written in the shortest form that reads back as the same number, so nothing is lost.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.loss_summary import Knowledge, LossTable, MeanAndVariance, MeanOnly
from fairbound.data.population import Population
from fairbound.data.provenance import Provenance
from fairbound.data.strata import ByStratum
from fairbound.errors import InputError, argument
from fairbound.problem.divergences import HELLINGER, find_divergence
from fairbound.problem.limits import Limits
from fairbound.problem.objective import Objective
from fairbound.sampling.discretise import Sample
from fairbound.sampling.region import Surrogate, region_sentences
from fairbound.solve.witness import Witness
from fairbound.verify import document as written
from fairbound.verify.beside.work import PATIENT_WORK, seconds, work_of
from fairbound.verify.document import measured
from fairbound.verify.strict import MOST_BYTES, canonical
from fairbound.wording.names import read_name, write_name


def to_json(document: written.Document) -> str:
    """Return the text of a document; refuse one that no checker would read or finish with."""
    text, work = json.dumps(plain(document), allow_nan=False), work_of(document)
    if len(text) > MOST_BYTES or work > PATIENT_WORK:
        message = (
            f"the document would have {len(text) / 1e6:.0f} MB and take {seconds(work)} to check, and verify reads "
            f"{MOST_BYTES / 1e6:.0f} MB and takes {seconds(PATIENT_WORK)} at most; certify at fewer radii, "
            f"merge groups or labels, or use a smaller {argument('budget')}"
        )
        raise InputError(message)
    return text


def plain(value: Any) -> Any:
    """Return what JSON knows in place of typed values. Lists of plain values, however long, are taken as they are."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list) and value and is_dataclass(value[0]):
        return [plain(entry) for entry in value]
    return value


def digest(population: written.Population) -> str:
    """Return the digest of a population's statistics."""
    return "sha256:" + hashlib.sha256(canonical(plain(population)).encode()).hexdigest()


def write_population(populations: Sequence[Population]) -> written.Population:
    """Write the statistics of a population; those given differ in what is measured, and in nothing else."""
    first = populations[0]
    return written.Population(
        groups=[write_name(name) for name in first.groups],
        labels=[write_name(name) for name in first.labels],
        rows=first.rows,
        excluded_rows=first.excluded_rows,
        weighted=first.weighted,
        weight=first.weight.tolist(),
        measures=[_write_measure(population) for population in populations],
    )


def _write_measure(population: Population) -> written.Measure:
    return written.Measure(
        loss=population.loss_name,
        pos_label=None if population.pos_label is None else write_name(population.pos_label),
        ceiling=population.ceiling if math.isfinite(population.ceiling) else None,
        knowledge=_write_knowledge(population.knowledge),
    )


def write_provenance(provenance: Provenance) -> written.Provenance:
    """Write what a document is about."""
    p = provenance
    return written.Provenance(
        date=p.date,
        files=[written.File(name, sha256) for name, sha256 in p.files],
        columns=[written.Column(role, name) for role, name in p.columns],  # type: ignore[arg-type]  # read strictly
        cuts=[_write_cut(name, cut) for name, cut in p.cuts],
        meanings=[written.Meaning(write_name(label), words) for label, words in p.meanings],
        model=None if p.model is None else written.Versioned(p.model, p.model_version),
        data=None if p.data is None else written.Versioned(p.data, p.data_version),
        note=p.note,
    )


def _write_cut(name: str, cut: tuple[float, ...] | int) -> written.Cut:
    return written.Cut(name, None, cut) if isinstance(cut, int) else written.Cut(name, list(cut), None)


def read_provenance(document: written.Provenance) -> Provenance:
    """Read what a document is about."""
    model, data = document.model, document.data
    return Provenance(
        date=document.date,
        files=tuple((file.name, file.sha256) for file in document.files),
        columns=tuple((column.role, column.name) for column in document.columns),
        cuts=tuple((cut.name, cut.quantiles or 0 if cut.at is None else tuple(cut.at)) for cut in document.cuts),
        meanings=tuple((read_name(meaning.label), meaning.words) for meaning in document.meanings),
        model=None if model is None else model.name,
        model_version=None if model is None else model.version,
        data=None if data is None else data.name,
        data_version=None if data is None else data.version,
        note=document.note,
    )


def _write_knowledge(knowledge: Knowledge) -> written.Knowledge:
    if isinstance(knowledge, ByStratum):
        cells = np.stack([knowledge.weight, knowledge.low], axis=-1).tolist()
        return written.Strata("strata", [write_name(name) for name in knowledge.names], cells)
    if isinstance(knowledge, LossTable):
        columns = np.stack([knowledge.low, knowledge.high, knowledge.weight, knowledge.to_high], axis=-1)
        cells = [[[b for b in cell if b[2] > 0] for cell in row] for row in columns.tolist()]
        return written.Losses("losses", cells, knowledge.rows)
    if isinstance(knowledge, MeanAndVariance):
        return written.MeanVariance("mean_variance", knowledge.mean.tolist(), knowledge.variance.tolist())
    return written.Mean("mean", knowledge.mean.tolist())


def read_populations(document: written.Document) -> list[Population]:
    """Read the statistics of a population (already known to be well-formed), once with each of its measures."""
    return [
        Population(
            tuple(read_name(name) for name in known.groups),
            tuple(read_name(name) for name in known.labels),
            _floats(known.weight),
            _read_knowledge(known.knowledge),
            math.inf if known.ceiling is None else known.ceiling,
            None if known.rows is None else int(known.rows),
            known.loss,
            known.excluded_rows,
            known.weighted,
            pos_label=read_name(known.pos_label),
            provenance=read_provenance(document.provenance),
        )
        for known in (measured(document.population, number) for number in range(len(document.population.measures)))
    ]


def _read_knowledge(known: written.Knowledge, *, sampled: bool = False) -> Knowledge:
    if isinstance(known, written.Losses):
        cells = known.cells
        width = max(1, *(len(cell) for row in cells for cell in row))
        table = np.zeros((len(cells), len(cells[0]), width, 4))
        for s, row in enumerate(cells):
            for y, cell in enumerate(row):
                table[s, y, : len(cell)] = np.array(cell).reshape(-1, 4)
        low, high, weight, to_high = np.moveaxis(table, -1, 0)
        return LossTable(low, high, weight, 1.0 - to_high, to_high, int(known.rows))
    if isinstance(known, written.Strata):
        weight, mean = np.moveaxis(_floats(known.cells), -1, 0)
        found = ByStratum.of(tuple(read_name(name) for name in known.names), weight, mean)
        return found.limited(weight, mean) if sampled else found
    if isinstance(known, written.MeanVariance):
        return MeanAndVariance(_floats(known.mean), _floats(known.variance))
    return MeanOnly(_floats(known.mean))


def write_sampling(surrogate: Surrogate, region: str) -> written.Sampling:
    """Write what takes P's place, and the counts it was made from."""
    sample = surrogate.sample
    return written.Sampling(
        region=region,
        affinity=surrogate.affinity,
        weight=surrogate.population.weight.tolist(),
        knowledge=_write_knowledge(surrogate.population.knowledge),
        losses=None if sample is None else sample.losses.tolist(),
        counts=None if sample is None else sample.counts.astype(np.int64).tolist(),
        seed=None if sample is None else sample.seed,
    )


def read_sampling(document: written.Statement, population: Population, shift: str) -> Surrogate | None:
    """Read what takes P's place; what is said of the region is worded from the statement that was read."""
    sampling, about = document.sampling, document.objective
    if sampling is None or document.confidence is None:
        return None
    of_sample = _read_knowledge(sampling.knowledge, sampled=True)
    known = replace(population, weight=_floats(sampling.weight), knowledge=of_sample)
    sample = None
    if sampling.counts is not None and sampling.losses is not None:
        sample = Sample(_floats(sampling.counts), _floats(sampling.losses), sampling.seed)
    subtracts = about is not None and about.minus is not None
    error = 1.0 - document.confidence
    said = region_sentences(sampling.region, error, shift, population, sample, subtracts=subtracts)
    return Surrogate(known, sampling.affinity, sample, said)


def write_limits(skew: float | None, limits: Limits | None) -> written.Limits:
    """Write limits on shares."""
    if limits is None:
        return written.Limits(skew, [], [])
    return written.Limits(skew, [list(row) for row in limits.rows], list(limits.most))


def read_limits(document: written.Limits) -> Limits | None:
    """Read linear limits on shares."""
    return Limits(tuple(map(tuple, document.rows)), tuple(document.most)) if document.most else None


def write_objective(objective: Objective | None) -> written.Objective | None:
    """Write what a statement is about."""
    if objective is None:
        return None
    return written.Objective(objective.plus, objective.minus, objective.label, objective.inside, objective.ratio)


def read_objective(document: written.Objective | None) -> Objective | None:
    """Read what a statement is about."""
    if document is None:
        return None
    return Objective(document.plus, document.minus, document.label, document.inside, document.ratio)


def _floats(values: Any) -> Floats:
    return np.array(values, dtype=np.float64)


def write_witness(witness: Witness, population: Population, *, products: bool) -> written.Witness:
    """Write a worst-case distribution; cells keep only the losses that they have, and masses only if not products."""
    known = population.knowledge
    inside = witness.reweighting
    kept = np.ones(inside.shape, dtype=bool)
    if isinstance(known, LossTable) and not isinstance(known, ByStratum) and known.weight.shape == inside.shape:
        kept = known.weight > 0
    return written.Witness(
        group_mass=witness.group_mass.tolist(),
        label_mass=witness.label_mass.tolist(),
        mass=None if products else witness.mass.tolist(),
        unseen=witness.unseen.tolist(),
        reweighting=[
            [part[some].tolist() for part, some in zip(row, used, strict=True)]
            for row, used in zip(inside, kept, strict=True)
        ],
    )


def read_witness(document: written.Witness, loss: float, rho: float, divergence_name: str) -> Witness:
    """Read a worst-case distribution. Its distance is what the radius allows; the checker computes the true one."""
    cells = document.reweighting
    width = max(1, *(len(cell) for row in cells for cell in row))
    inside = np.array([[cell + [0.0] * (width - len(cell)) for cell in row] for row in cells], dtype=np.float64)
    k, r = _floats(document.group_mass), _floats(document.label_mass)
    mass = k[:, None] * r if document.mass is None else _floats(document.mass)
    divergence = find_divergence(divergence_name)
    distance = None if divergence is HELLINGER else rho
    return Witness(k, r, mass, inside, _floats(document.unseen), loss, divergence.least_affinity(rho), distance)
