"""Experiment 4: comparison with WRM on a mixture of two Gaussians."""

from __future__ import annotations

import numpy as np

from fairbound.certificate.certify import certify_curve
from fairbound.data.population import Population
from fairbound.experiments.bench import Bench
from fairbound.experiments.elu_network import train_elu
from fairbound.experiments.section import Check, Figure, Line, Listing, Panel, Section
from fairbound.experiments.store import Table
from fairbound.experiments.wrm import Mixture, sampled_smoothness, wrm_certificate

#: As for the other networks.
WEIGHT_DECAY = 0.01


def _compute(bench: Bench) -> dict[str, Table]:
    chosen = bench.settings
    rows = 4_000 if chosen.quick else 20_000
    train, test = Mixture.draw(rows, 2 * chosen.seed), Mixture.draw(rows, 2 * chosen.seed + 1)
    network = train_elu(train.x, train.sign, chosen.seed, steps=500 if chosen.quick else 1500, decay=WEIGHT_DECAY)
    loss = np.minimum(network.loss(test.x, test.sign), 1.0)
    population = Population.from_losses(loss, test.sign, sensitive_features=test.group, loss="jsd")
    radii = chosen.radii[:-1]
    curve = certify_curve(population, radii)
    proved, seen = network.smoothness(), sampled_smoothness(network)
    return {
        "curve": {
            "rho": radii,
            "bound": curve.bound,
            "attained": curve.attained,
            "wrm": wrm_certificate(network, test, radii, proved),
            "wrm_if_smoothness_were_as_seen": wrm_certificate(network, test, radii, seen),
        },
        "total": {
            "rows": np.array([rows]),
            "loss": np.array([population.loss]),
            "error": np.array([float((test.sign * network.log_odds(test.x) < 0).mean())]),
            "nearest": np.array([curve.distance]),
            "smoothness": np.array([proved]),
            "smoothness_seen": np.array([seen]),
        },
    }


def wrm(bench: Bench) -> Section:
    """Run experiment 4."""
    about = {key: bench.stamp[key] for key in ("version", "seed", "quick")} | {"decay": WEIGHT_DECAY}
    with bench.progress.task("comparison with WRM"):
        tables = bench.store.tables("wrm", about, lambda: _compute(bench))
    curve, total = tables["curve"], tables["total"]
    lines = (
        Line("certificate (equal base rates)", curve["rho"], curve["bound"]),
        Line("WRM", curve["rho"], curve["wrm"], "baseline"),
        Line("WRM if the smoothness were as seen", curve["rho"], curve["wrm_if_smoothness_were_as_seen"], "moments"),
    )
    nearest = float(total["nearest"][0])
    panel = Panel("mixture of two Gaussians", "JSD", lines, distance=nearest, highest=2.0)
    shown = [i for i, rho in enumerate(curve["rho"]) if round(float(rho) * 10, 6) % 1 == 0 and rho < 0.95]
    columns = ("rho", "bound", "wrm", "wrm_if_smoothness_were_as_seen")
    rows = tuple(tuple(_shown(float(curve[name][i])) for name in columns) for i in shown)
    listing = Listing("JSD loss", ("rho", "certificate", "WRM", "WRM, smoothness as seen"), rows)
    feasible = ~np.isnan(curve["bound"])
    ratio = (curve["wrm"] / curve["bound"])[feasible]
    check = Check(
        "comparison with WRM: the certificate is at most half of WRM's at every radius",
        bool((ratio >= 2.0).all()),
        f"WRM's is {float(ratio.min()):.1f} to {float(ratio.max()):.1f} times as large",
    )
    text = (
        "Two Gaussians of unit variance around (-2, -0.5) and (2, 0.5) with labels 0 and 1; the sensitive attribute is "
        f"the sign of the second coordinate. An ELU network with hidden layers of 4 and 2 (JSD "
        f"{float(total['loss'][0]):.4f}, error {float(total['error'][0]):.4f} on {int(total['rows'][0]):,} test rows). "
        "WRM bounds the loss over a Wasserstein ball without the constraint of equal base rates; the radii correspond "
        f"as for a shift of the Gaussians. It needs a Lipschitz constant of the loss's gradient: "
        f"{float(total['smoothness'][0]):.2f}, computed from the weights layer by layer. The dotted line replaces it "
        f"by the largest curvature seen on a grid, {float(total['smoothness_seen'][0]):.2f}, which favours WRM "
        "and proves nothing."
    )
    return Section(
        "Comparison with WRM",
        text,
        (Figure("wrm", "General shifting against WRM.", ((panel,),)),),
        (listing,),
        (check,),
    )


def _shown(value: float) -> str:
    return "infeasible" if np.isnan(value) else f"{value:.3f}" if value != round(value, 1) else f"{value:g}"
