"""Certificates, with proof, of how large a model's loss can be where all groups have equal base rates."""

from fairbound.solve.between import divergence_between, hellinger_radius
from fairbound.certificate.certificate import Certificate, Status
from fairbound.certificate.certify import certify, certify_curve, largest_certified_rho
from fairbound.verify.verdict import Verdict, Verification, verify
from fairbound.certificate.curve import CertificateCurve
from fairbound.errors import InfeasibleError, InputError, SmallCellWarning, ThresholdError
from fairbound.certificate.implied import ImpliedParity, implied_parity
from fairbound.data.losses import LOSSES, Loss
from fairbound.solve.nearest import NearestFair, nearest_fair
from fairbound.certificate.planning import expected_excess, rows_needed
from fairbound.data.population import Population
from fairbound.data.predicted import Predicted
from fairbound.sampling.region import REGIONS, Hoeffding, Region, Sphere, StandIn
from fairbound.reporting.report import report
from fairbound.certificate.scoring import certified_loss
from fairbound.version import __version__
from fairbound.solve.witness import Witness

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
