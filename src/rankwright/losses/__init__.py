"""Losses in score space: functions of a query's scores and supervision, with gradients and curvature."""

from rankwright.judgments.judgments import judgments_of
from rankwright.losses.centred import RankRLSLoss
from rankwright.losses.listwise import ListwiseHinge
from rankwright.losses.loss import Loss, LossAtScores, Point, QueryLosses, query_weights
from rankwright.losses.named import LOSSES, loss_of
from rankwright.losses.pairwise import OrderPreservingLoss, PreorderLoss
from rankwright.losses.phi import PHIS, Phi, huber_hinge
from rankwright.losses.pointwise import SquaredLoss
from rankwright.losses.position_weights import learned_position_weights
from rankwright.losses.structured import StructuredHinge

__all__ = [
    "LOSSES",
    "PHIS",
    "ListwiseHinge",
    "Loss",
    "LossAtScores",
    "OrderPreservingLoss",
    "Phi",
    "Point",
    "PreorderLoss",
    "QueryLosses",
    "RankRLSLoss",
    "SquaredLoss",
    "StructuredHinge",
    "huber_hinge",
    "judgments_of",
    "learned_position_weights",
    "loss_of",
    "query_weights",
]
