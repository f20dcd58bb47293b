r"""The certification problem as SCIP sees it: a global solver for nonconvex programs.

Sensitive shifting maximises :math:`\sum_{sy} k_s r_y E_{sy}` over the simplices, subject to
:math:`\sum_{sy} \sqrt{p_{sy} k_s r_y} \ge 1 - \rho^2`. General shifting with a 0-1 loss splits the mass of a
cell into a part with loss 0 and a part with loss 1, :math:`q_{sy0} + q_{sy1} = k_s r_y`, and maximises the
second, subject to
:math:`\sum_{sy} \sqrt{p_{sy} (1 - E_{sy}) q_{sy0}} + \sqrt{p_{sy} E_{sy} q_{sy1}} \ge 1 - \rho^2`.

Both are given in two formulations, with roots :math:`x \le \sqrt q` as variables:

bilinear
    Every cell's mass is a variable, :math:`q_{sy} = k_s r_y`, with the redundant rows
    :math:`\sum_y q_{sy} = k_s` and :math:`\sum_s q_{sy} = r_y` that tighten the relaxation (about twice
    as fast, for general shifting).
cone
    The mass of a cell occurs only in :math:`\lVert x_{sy} \rVert^2 \le k_s r_y`, which SCIP recognises as a
    second-order cone. General shifting becomes convex, and SCIP needs hardly any branching.

Also tried, for sensitive shifting: SCIP's own ``sqrt`` instead of squares, slower than the better of these two in
9 of 11 problems, and the roots of :math:`k` and :math:`r` as variables, slower in all five 2x2 problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyscipopt

from benchmarks.repair import feasible_value
from benchmarks.timing import timed

if TYPE_CHECKING:
    from benchmarks.problems import Problem

Shift = Literal["general", "sensitive"]
Formulation = Literal["bilinear", "cone"]
FORMULATIONS: tuple[Formulation, ...] = ("bilinear", "cone")


@dataclass(frozen=True)
class ScipSolution:
    """What SCIP found.

    Attributes
    ----------
    value : float
        Objective of its best solution, which satisfies the constraints up to SCIP's tolerance.
    dual_bound : float
        Its upper bound on the optimum.
    feasible : float
        Value of the best solution after repair, which some fair distribution in the ball attains; minus
        infinity if there is no solution.
    status : str
        SCIP's word for how it ended.
    time : float
        Seconds of the solve; building the model is not counted.
    """

    value: float
    dual_bound: float
    feasible: float
    status: str
    time: float


def solve_with_scip(
    problem: Problem, shift: Shift, formulation: Formulation, *, gap: float, time_limit: float
) -> ScipSolution:
    """Build and solve one problem to a relative gap, within a limit in seconds."""
    builder = _SensitiveModel if shift == "sensitive" else _GeneralModel
    built = builder(problem, formulation)
    built.model.setParam("limits/gap", gap)
    built.model.setParam("limits/time", time_limit)
    duration, _ = timed(built.model.optimize)
    found = built.model.getNSols() > 0
    return ScipSolution(
        value=built.model.getObjVal() if found else np.nan,
        dual_bound=built.model.getDualbound(),
        feasible=built.feasible_value() if found else -np.inf,
        status=built.model.getStatus(),
        time=duration,
    )


class _FairModel:
    """A SCIP model with the marginals of a fair distribution as its first variables."""

    def __init__(self, problem: Problem, formulation: Formulation) -> None:
        self.problem = problem
        self.formulation = formulation
        self.model = pyscipopt.Model()
        self.model.hideOutput()
        groups, labels = problem.mass.shape
        self.cells = list(np.ndindex(groups, labels))
        self.group = self._marginal(groups)
        self.label = self._marginal(labels)

    def unit(self) -> Any:
        """Add a variable in [0, 1]."""
        return self.model.addVar(lb=0.0, ub=1.0)

    def _marginal(self, size: int) -> list[Any]:
        marginal = [self.unit() for _ in range(size)]
        self.model.addCons(pyscipopt.quicksum(marginal) == 1.0)
        return marginal

    def cell_masses(self) -> dict[tuple[int, ...], Any]:
        """Add the mass of every cell as a variable, with the rows that sum it to the marginals."""
        mass = {cell: self.unit() for cell in self.cells}
        for s, y in self.cells:
            self.model.addCons(mass[s, y] == self.group[s] * self.label[y])
        for s, share in enumerate(self.group):
            self.model.addCons(pyscipopt.quicksum(mass[s, y] for y in range(len(self.label))) == share)
        for y, share in enumerate(self.label):
            self.model.addCons(pyscipopt.quicksum(mass[s, y] for s in range(len(self.group))) == share)
        return mass

    def stay_in_ball(self, terms: list[Any]) -> None:
        """Demand that the terms of the affinity add up to the ball's."""
        self.model.addCons(pyscipopt.quicksum(terms) >= self.problem.affinity)

    def values(self, variables: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Read variables of the best solution."""
        return np.array([self.model.getVal(variable) for variable in variables])

    def maximize(self, objective: Any) -> None:
        """Set a linear objective."""
        self.model.setObjective(objective, "maximize")


class _SensitiveModel(_FairModel):
    def __init__(self, problem: Problem, formulation: Formulation) -> None:
        super().__init__(problem, formulation)
        root = {cell: self.unit() for cell in self.cells}
        self.stay_in_ball([sqrt(float(problem.mass[cell])) * root[cell] for cell in self.cells])
        if formulation == "bilinear":
            mass = self.cell_masses()
            for cell in self.cells:
                self.model.addCons(root[cell] * root[cell] <= mass[cell])
            self.maximize(pyscipopt.quicksum(float(problem.mean[cell]) * mass[cell] for cell in self.cells))
            return
        loss = self.unit()
        for s, y in self.cells:
            self.model.addCons(root[s, y] * root[s, y] <= self.group[s] * self.label[y])
        self.model.addCons(
            loss <= pyscipopt.quicksum(float(problem.mean[s, y]) * self.group[s] * self.label[y] for s, y in self.cells)
        )
        self.maximize(loss)

    def feasible_value(self) -> float:
        """Repair the best solution."""
        return feasible_value(self.problem, self.values(self.group), self.values(self.label), self.problem.mean)


class _GeneralModel(_FairModel):
    def __init__(self, problem: Problem, formulation: Formulation) -> None:
        super().__init__(problem, formulation)
        self.hit_root = {cell: self.unit() for cell in self.cells}
        miss_root = {cell: self.unit() for cell in self.cells}
        terms = []
        for cell in self.cells:
            mass, mean = float(problem.mass[cell]), float(problem.mean[cell])
            terms += [sqrt(mass * (1.0 - mean)) * self.hit_root[cell], sqrt(mass * mean) * miss_root[cell]]
        self.stay_in_ball(terms)
        if formulation == "bilinear":
            total = self.cell_masses()
            hit = {cell: self.unit() for cell in self.cells}
            miss = {cell: self.unit() for cell in self.cells}
            for cell in self.cells:
                self.model.addCons(hit[cell] + miss[cell] == total[cell])
                self.model.addCons(self.hit_root[cell] * self.hit_root[cell] <= hit[cell])
                self.model.addCons(miss_root[cell] * miss_root[cell] <= miss[cell])
            self.maximize(pyscipopt.quicksum(miss.values()))
            return
        loss = self.unit()
        for s, y in self.cells:
            self.model.addCons(
                self.hit_root[s, y] * self.hit_root[s, y] + miss_root[s, y] * miss_root[s, y]
                <= self.group[s] * self.label[y]
            )
        # All mass that does not stay at loss 0 has loss 1.
        self.model.addCons(
            loss <= 1.0 - pyscipopt.quicksum(self.hit_root[cell] * self.hit_root[cell] for cell in self.cells)
        )
        self.maximize(loss)

    def feasible_value(self) -> float:
        """Repair the best solution: its roots tell how much of a cell keeps loss 0."""
        group, label = self.values(self.group), self.values(self.label)
        mass = np.outer(group, label)
        hit = (self.values(list(self.hit_root.values())) ** 2).reshape(mass.shape)
        hit_share = np.divide(hit, mass, out=np.zeros_like(mass), where=mass > 0.0)
        return feasible_value(self.problem, group, label, 1.0 - hit_share)
