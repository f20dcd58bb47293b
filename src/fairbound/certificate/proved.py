"""What the multipliers of an answer prove, in the forms that documents have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from flint import arb, ctx

from fairbound.certificate.document import write_limits, write_objective, write_population
from fairbound.problem.divergences import HELLINGER
from fairbound.solve.answer import Answer
from fairbound.solve.converted import converted
from fairbound.solve.proof import FractionalProof, RatesProof, TiltedProof, written
from fairbound.solve.solver import Solver
from fairbound.verify import document
from fairbound.verify.balls import PRECISION, RefusedError, largest, rounded_up
from fairbound.verify.leaves import excesses
from fairbound.verify.sampling import least_affinity
from fairbound.verify.statement import Statement

#: How often a ratio is lowered until it is proved.
LOWERINGS = 60


def proved(solver: Solver, rho: float, answer: Answer) -> tuple[document.Proof, float]:
    """Return the proof, and the bound that it proves."""
    question, objective = solver.question, solver.objective
    ratio = objective is not None and objective.ratio
    if objective is None:
        problem = solver.problem
    else:
        problem = solver.compared.problem(answer.bound) if ratio else solver.compared.problem()
    radius = float(solver.radii(np.array([rho]))[0])
    claim = 0.0 if ratio else answer.bound  # a ratio is a factor, and what is bounded then a difference, by zero
    proof = written(converted(problem, radius, solver.condition.largest_difference, answer.proof, claim))
    exact = isinstance(answer.proof, RatesProof | TiltedProof | FractionalProof)
    if question.divergence is not HELLINGER or exact:
        return proof, answer.bound
    bound = answer.bound
    with precisely():
        for _ in range(LOWERINGS):
            statement = statement_of(solver, rho, bound if ratio else 1.0)
            excess = largest(excesses(statement, proof, bound))
            if not ratio:
                return proof, min(rounded_up(arb(bound) + excess), rounded_up(statement.top))
            if excess <= 0:
                return proof, bound
            bound = max(0.0, bound * (1 - 1e-13) - max(1e-13, 2.0 * float(excess.upper())))
    message = "no ratio is proved"
    raise RefusedError(message)


def statement_of(solver: Solver, rho: float, factor: float = 1.0) -> Statement:
    """Return the statement as the checker sees it."""
    question = solver.question
    surrogate = solver.surrogate
    asked = document.Question(
        measure=0,
        metric=document.Metric("", None),
        shift=question.shift,
        support=question.support,
        empty_cells=question.empty_cells,
        divergence=question.divergence.name,
        fair=question.condition.fair,
        base_rate_tolerance=question.condition.tolerance,
        group_limits=write_limits(question.group_skew, question.group_limits),
        label_limits=write_limits(question.label_skew, question.label_limits),
        confidence=question.confidence,
        tol=question.tol,
        statements=[],
        distance=None,
        points=[],
    )
    known = document.measured(write_population([solver.population if surrogate is None else surrogate.population]), 0)
    affinity = None if surrogate is None else least_affinity(arb(surrogate.affinity), rho)
    return Statement(known, asked, write_objective(solver.objective), rho, affinity, factor)


@contextmanager
def precisely() -> Iterator[None]:
    """Compute with the bits that the checker uses."""
    before, ctx.prec = ctx.prec, PRECISION
    try:
        yield
    finally:
        ctx.prec = before
