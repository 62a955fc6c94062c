"""Losses in score space: functions of a query's scores and supervision, with gradients and curvature."""

from rankwright.losses.loss import Loss, LossAtScores, QueryLosses
from rankwright.losses.pairwise import OrderPreservingLoss, PreorderLoss
from rankwright.losses.phi import PHIS, huber_hinge
from rankwright.losses.pointwise import SquaredLoss

__all__ = [
    "PHIS",
    "Loss",
    "LossAtScores",
    "OrderPreservingLoss",
    "PreorderLoss",
    "QueryLosses",
    "SquaredLoss",
    "huber_hinge",
]
