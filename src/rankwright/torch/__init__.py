"""The losses of `rankwright.losses` for PyTorch: functions of a batch's scores, with gradients for autograd."""

try:
    import torch as _torch  # noqa: F401 - so that the error names what to install
except ImportError as error:
    raise ImportError("rankwright.torch needs PyTorch: pip install 'rankwright[torch]'") from error

from rankwright.torch.ranking_loss import LossOnQueries, RankingLoss, loss

__all__ = ["LossOnQueries", "RankingLoss", "loss"]
