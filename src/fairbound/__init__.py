"""Certificates, with proof, of how large a model's loss can be where all groups have equal base rates."""

from importlib import import_module
from typing import TYPE_CHECKING

from fairbound.version import __version__

if TYPE_CHECKING:  # what type checkers and editors see; at run time a name is imported when it is first used
    from fairbound.certificate.certificate import Certificate, Status
    from fairbound.certificate.certify import certify, certify_curve, largest_certified_rho
    from fairbound.certificate.curve import CertificateCurve
    from fairbound.certificate.evidence import Evidence, Gate, Outcome, certify_all
    from fairbound.certificate.implied import ImpliedParity, implied_parity
    from fairbound.certificate.planning import expected_excess, rows_needed
    from fairbound.certificate.prices import Prices, RowPrices
    from fairbound.certificate.scoring import certified_loss
    from fairbound.data.losses import LOSSES, Loss
    from fairbound.data.population import Population
    from fairbound.data.predicted import Predicted
    from fairbound.data.provenance import Provenance
    from fairbound.data.tally import Tally
    from fairbound.errors import DataWarning, InfeasibleError, InputError, SmallCellWarning, ThresholdError
    from fairbound.improve.threshold import CertifiedThreshold
    from fairbound.reporting.report import Report, report
    from fairbound.sampling.region import REGIONS, Asymptotic, Hoeffding, Prequential, Region, Sphere, Surrogate
    from fairbound.solve.between import divergence_between, hellinger_radius, renyi_radius
    from fairbound.solve.measured import MeasuredShift, shift_between
    from fairbound.solve.nearest import NearestFair, nearest_fair
    from fairbound.solve.witness import Witness
    from fairbound.verify.verdict import Verdict, Verification, verify

#: Where each public name lives.
_HOMES = {
    "certificate.certificate": ("Certificate", "Status"),
    "certificate.certify": ("certify", "certify_curve", "largest_certified_rho"),
    "certificate.curve": ("CertificateCurve",),
    "certificate.evidence": ("Evidence", "Gate", "Outcome", "certify_all"),
    "certificate.implied": ("ImpliedParity", "implied_parity"),
    "certificate.planning": ("expected_excess", "rows_needed"),
    "certificate.prices": ("Prices", "RowPrices"),
    "certificate.scoring": ("certified_loss",),
    "data.losses": ("LOSSES", "Loss"),
    "data.population": ("Population",),
    "data.predicted": ("Predicted",),
    "data.provenance": ("Provenance",),
    "data.tally": ("Tally",),
    "errors": ("DataWarning", "InfeasibleError", "InputError", "SmallCellWarning", "ThresholdError"),
    "improve.threshold": ("CertifiedThreshold",),
    "reporting.report": ("Report", "report"),
    "sampling.region": ("REGIONS", "Asymptotic", "Hoeffding", "Prequential", "Region", "Sphere", "Surrogate"),
    "solve.between": ("divergence_between", "hellinger_radius", "renyi_radius"),
    "solve.measured": ("MeasuredShift", "shift_between"),
    "solve.nearest": ("NearestFair", "nearest_fair"),
    "solve.witness": ("Witness",),
    "verify.verdict": ("Verdict", "Verification", "verify"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "LOSSES",
    "REGIONS",
    "Asymptotic",
    "Certificate",
    "CertificateCurve",
    "CertifiedThreshold",
    "DataWarning",
    "Evidence",
    "Gate",
    "Hoeffding",
    "ImpliedParity",
    "InfeasibleError",
    "InputError",
    "Loss",
    "MeasuredShift",
    "NearestFair",
    "Outcome",
    "Population",
    "Predicted",
    "Prequential",
    "Prices",
    "Provenance",
    "Region",
    "Report",
    "RowPrices",
    "SmallCellWarning",
    "Sphere",
    "Status",
    "Surrogate",
    "Tally",
    "ThresholdError",
    "Verdict",
    "Verification",
    "Witness",
    "__version__",
    "certified_loss",
    "certify",
    "certify_all",
    "certify_curve",
    "divergence_between",
    "expected_excess",
    "hellinger_radius",
    "implied_parity",
    "largest_certified_rho",
    "nearest_fair",
    "renyi_radius",
    "report",
    "rows_needed",
    "shift_between",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: so a checker, or ``--version``, loads no NumPy."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
