"""Axes: a range of values, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rankwright.errors import ParameterError

SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"


@dataclass(frozen=True)
class Axis:
    """A range of values, where its ticks are and what they say."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool

    @classmethod
    def around(cls, name: str, values: list[float], log: bool, most: int, *, to_ticks: bool = False) -> Axis:
        """The axis for some values: it ends at them, or at the ticks around them."""
        if not values:
            raise ParameterError("series: there is no finite value to draw")
        low, high = min(values), max(values)
        if log and low <= 0:
            raise ParameterError(f"{name}: {low:g} has no place on a logarithmic axis")
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
        ticks = _log_ticks(low, high, most) if log else _even_ticks(low, high, most)
        if to_ticks:
            low, high = min(low, ticks[0]), max(high, ticks[-1])
        bare = cls(low, high, (), (), log)
        inside = tuple(tick for tick in ticks if -1e-9 <= bare.share(tick) <= 1 + 1e-9)
        return replace(bare, ticks=inside, labels=_tick_labels(inside))

    @classmethod
    def of_powers_of_two(cls, values: Sequence[float], most: int) -> Axis:
        """A logarithmic axis that ends at the least and the greatest of some powers of two, with ticks at others."""
        low, high = min(values), max(values)
        if low == high:
            low, high = low / 2, high * 2
        first, last = round(math.log2(low)), round(math.log2(high))
        exponents = range(first, last + 1, math.ceil((last - first) / (most - 1)))
        return cls(low, high, tuple(2.0**e for e in exponents), tuple(map(power_of_two, exponents)), log=True)

    def share(self, value: float) -> float:
        """Where a value lies between the two ends, 0 to 1."""
        scale: Callable[[float], float] = math.log if self.log else float
        return (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten that enclose both ends."""
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [multiple * step for multiple in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten that enclose both ends, and 2 and 5 times them if there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    stride = math.ceil((last - first) / most) or 1
    factors = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [factor * 10.0**power for power in range(first, last + stride, stride) for factor in factors]
    lowest = max((tick for tick in ticks if tick <= low * (1 + 1e-9)), default=ticks[0])
    highest = min((tick for tick in ticks if tick >= high * (1 - 1e-9)), default=ticks[-1])
    return [tick for tick in ticks if lowest <= tick <= highest]


def _tick_labels(ticks: Sequence[float]) -> tuple[str, ...]:
    """All with the same number of decimals; as powers of ten where that would be a long row of digits."""
    largest = max(map(abs, ticks), default=0.0)
    smallest = min((abs(tick) for tick in ticks if tick), default=1.0)
    if largest >= 1e6 or smallest < 1e-4:
        return tuple(map(as_power, ticks))
    if any(tick and abs(tick) * 1000 < largest for tick in ticks):  # a logarithmic axis
        return tuple(f"{tick:,.10g}" for tick in ticks)
    decimals = max((_decimals(tick) for tick in ticks), default=0)
    return tuple(f"{tick if tick else 0.0:,.{decimals}f}".replace("-", "−") for tick in ticks)


def _decimals(tick: float) -> int:
    return len(f"{tick:.10f}".rstrip("0").partition(".")[2])


def as_power(tick: float) -> str:
    """``3·10⁻⁷``."""
    if tick == 0:
        return "0"
    digits, _, power = f"{tick:.12e}".partition("e")
    factor = digits.rstrip("0").rstrip(".").replace("-", "−")
    ten = f"10{_raised(int(power))}"
    return ten if factor == "1" else f"{factor}·{ten}"


def power_of_two(exponent: int) -> str:
    """``2⁻³``."""
    return f"2{_raised(exponent)}"


def exponent_of_two(value: float) -> int | None:
    """−3 for 0.125, and None for what is no power of two."""
    digits, exponent = math.frexp(value)
    return exponent - 1 if digits == 0.5 else None


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", SUPERSCRIPTS))
