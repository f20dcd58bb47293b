"""Plan how many rows to collect before a model is certified.

Known are guesses, from a pilot: the share of each cell of group and label, and the error in it. Asked is how many rows
bring the bound, at 95 % confidence, within a given excess of the bound that a known population would have.

    python examples/plan_a_test.py
"""

from __future__ import annotations

from fairbound import Population, certify, expected_excess, rows_needed

RHO = 0.2


def main() -> None:
    """Print the plan."""
    pilot = Population.from_moments(
        mass=[[0.45, 0.20], [0.30, 0.05]],
        mean=[[0.08, 0.30], [0.05, 0.40]],
        groups=["men", "women"],
        labels=["rejected", "accepted"],
    )
    known = {shift: certify(pilot, RHO, shift=shift).bound for shift in ("sensitive", "general")}
    print(f"rho = {RHO:g}, confidence 0.95")
    print(f"with a known population: sensitive {known['sensitive']:.3f}, general {known['general']:.3f}")
    print("excess  rows, sensitive  rows, general")
    for excess in (0.05, 0.02, 0.01):
        rows = [rows_needed(pilot, RHO, excess, shift=shift) for shift in ("sensitive", "general")]
        print(f"{excess:6.2f}  {rows[0]:15,}  {rows[1]:13,}")
    worth = expected_excess(pilot, RHO, 3000, shift="sensitive")
    print(f"3,000 rows raise the sensitive bound by {worth:.3f}")


if __name__ == "__main__":
    main()
