"""Certificates, with proof, of how large a model's loss can be where all groups have equal base rates."""

from fairbound.between import divergence_between, hellinger_radius
from fairbound.certificate import Certificate, Status
from fairbound.certify import certify, certify_curve, largest_certified_rho
from fairbound.checker import Verdict, Verification, verify
from fairbound.curve import CertificateCurve
from fairbound.errors import InfeasibleError, InputError, SmallCellWarning, ThresholdError
from fairbound.implied import ImpliedParity, implied_parity
from fairbound.losses import LOSSES, Loss
from fairbound.nearest import NearestFair, nearest_fair
from fairbound.planning import expected_excess, rows_needed
from fairbound.population import Population
from fairbound.predicted import Predicted
from fairbound.regions import REGIONS, Hoeffding, Region, Sphere, StandIn
from fairbound.report import report
from fairbound.scoring import certified_loss
from fairbound.version import __version__
from fairbound.witness import Witness

__all__ = [
    "LOSSES",
    "REGIONS",
    "Certificate",
    "CertificateCurve",
    "Hoeffding",
    "ImpliedParity",
    "InfeasibleError",
    "InputError",
    "Loss",
    "NearestFair",
    "Population",
    "Predicted",
    "Region",
    "SmallCellWarning",
    "Sphere",
    "StandIn",
    "Status",
    "ThresholdError",
    "Verdict",
    "Verification",
    "Witness",
    "__version__",
    "certified_loss",
    "certify",
    "certify_curve",
    "divergence_between",
    "expected_excess",
    "hellinger_radius",
    "implied_parity",
    "largest_certified_rho",
    "nearest_fair",
    "report",
    "rows_needed",
    "verify",
]
