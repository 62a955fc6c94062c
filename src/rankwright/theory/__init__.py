"""Theory to run: risk bounds, certificates for new queries, and which losses are consistent with which measures."""

from rankwright.theory import consistency
from rankwright.theory.bound import RiskBound
from rankwright.theory.certificates import Certificate, certificate
from rankwright.theory.rademacher_averages import Rademacher, rademacher
from rankwright.theory.risk_bounds import risk_bound
from rankwright.theory.study import BoundStudy, study_bounds

__all__ = [
    "BoundStudy",
    "Certificate",
    "Rademacher",
    "RiskBound",
    "certificate",
    "consistency",
    "rademacher",
    "risk_bound",
    "study_bounds",
]
