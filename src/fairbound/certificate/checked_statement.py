"""A statement as the checker sees it, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flint import arb, ctx

from fairbound.certificate.document import write_limits, write_objective, write_population
from fairbound.solve.solver import Solver
from fairbound.verify import document
from fairbound.verify.balls import PRECISION
from fairbound.verify.sampling import least_affinity
from fairbound.verify.statement import Statement


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
        divergence=question.divergence.kind,  # type: ignore[arg-type]  # one that is known
        order=question.divergence.order,
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
