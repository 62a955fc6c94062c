"""Formulas of risk bounds against 60 digits and whole numbers of any size."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest

from rankwright.theory import formulas
from rankwright.theory.bound import shown

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
SETTINGS = [(0.05, 1.0, 100), (1e-6, 0.3, 7), (0.9, 250.0, 1_000_000)]  # δ, BM, N


@pytest.fixture(autouse=True)
def _sixty_digits():
    with localcontext(Context(prec=60)):
        yield


def number(value):
    """Exactly this float or whole number, to 60 digits."""
    return +Decimal(value)


def assert_log_of(log_value, exact, tolerance=1e-9):
    """The number whose logarithm is given is exact to this relative error."""
    assert abs(Decimal(log_value) - exact.ln()) <= Decimal(tolerance)


def two_terms(count, largest_margin, B, M, n, delta):
    """What paper P adds to the empirical risk."""
    root = number(n).sqrt()
    complexity = count * 4 * number(B) * number(M) / root
    confidence = count * (largest_margin + 2 * number(B) * number(M)) * (8 * (2 / number(delta)).ln()).sqrt() / root
    return complexity, confidence


@pytest.mark.parametrize(("delta", "M", "n"), SETTINGS)
@pytest.mark.parametrize("m", [2, 3, 10, 1000, 10_000])
def test_theorem_3(m, delta, M, n):
    pairs = m * (m - 1) // 2
    found = formulas.sum_of_hinges(formulas.log_of(pairs), m - 1, 0.5, M, n, delta)
    for log_value, exact in zip(found, two_terms(pairs, m - 1, 0.5, M, n, delta), strict=True):
        assert_log_of(log_value, exact, 1e-13)


@pytest.mark.parametrize(("delta", "M", "n"), SETTINGS)
@pytest.mark.parametrize("sizes", [(1, 1), (5, 3, 1), (900, 90, 9, 1)])
def test_corollaries_1_and_2(sizes, delta, M, n):
    pairs = sum(sizes[i] * sizes[j] for j in range(len(sizes)) for i in range(j))
    found = formulas.sum_of_hinges(formulas.log_of(pairs), len(sizes) - 1, 4.0, M, n, delta)
    for log_value, exact in zip(found, two_terms(pairs, len(sizes) - 1, 4.0, M, n, delta), strict=True):
        assert_log_of(log_value, exact, 1e-13)


@pytest.mark.parametrize(("delta", "M", "n"), SETTINGS)
@pytest.mark.parametrize("m", [1, 2, 8, 170, 171, 1000, 10_000])
def test_theorem_4(m, delta, M, n):
    found = formulas.sum_of_hinges(formulas.log_factorial(m), 1, 2.0, M, n, delta)
    for log_value, exact in zip(found, two_terms(number(math.factorial(m)), 1, 2.0, M, n, delta), strict=True):
        assert_log_of(log_value, exact)


@pytest.mark.parametrize(("delta", "M", "n"), SETTINGS)
@pytest.mark.parametrize(("m", "rel"), [(1, 1), (7, 3), (1000, 500), (10_000, 1), (10_000, 4_321)])
def test_corollary_3(m, rel, delta, M, n):
    found = formulas.sum_of_hinges(formulas.log_binomial(m, rel), 1, 2.0, M, n, delta)
    for log_value, exact in zip(found, two_terms(number(math.comb(m, rel)), 1, 2.0, M, n, delta), strict=True):
        assert_log_of(log_value, exact)


@pytest.mark.parametrize("m", [0, 1, 2, 5, 100, 999, 10_000])
def test_factorials(m):
    assert_log_of(formulas.log_factorial(m), number(math.factorial(m)))


@pytest.mark.parametrize(("m", "k"), [(0, 0), (9, 0), (9, 9), (10_000, 0), (10_000, 10_000), (12, 5), (10_000, 5_000)])
def test_binomials(m, k):
    assert_log_of(formulas.log_binomial(m, k), number(math.comb(m, k)))


@pytest.mark.parametrize("m", [2, 3, 20, 10_000])
def test_one_less(m):
    assert_log_of(formulas.log_less_one(formulas.log_factorial(m)), number(math.factorial(m) - 1))


def test_logarithms_of_nothing():
    assert formulas.log_less_one(formulas.log_binomial(10_000, 0)) == -math.inf
    assert formulas.log_of(0) == formulas.log_sum([]) == formulas.log_sum([-math.inf, -math.inf]) == -math.inf
    assert formulas.sum_of_hinges(-math.inf, 3, 1.0, 1.0, 10, 0.1) == (-math.inf, -math.inf)
    assert formulas.sum_of_hinges(0.0, 3, 1.0, 0.0, 10, 0.1).complexity == -math.inf


def test_sums_of_logarithms():
    values = [math.factorial(200), 1, math.factorial(199)]
    assert_log_of(
        formulas.log_sum([formulas.log_factorial(200), 0.0, formulas.log_factorial(199)]), number(sum(values))
    )
    assert formulas.log_sum([math.log(0.25), -math.inf, math.log(0.5)]) == pytest.approx(math.log(0.75), rel=1e-15)


@pytest.mark.parametrize(("lipschitz", "B", "M", "m", "n"), [(0.7, 1.0, 3.0, 5, 40), (140.25, 0.01, 90.0, 10_000, 3)])
def test_contraction_and_comparison(lipschitz, B, M, m, n):
    scale = number(B) * number(M) / number(n).sqrt()
    contraction = 2 * number(2).sqrt() * number(lipschitz) * number(m).sqrt() * scale
    assert formulas.by_contraction(lipschitz, B, M, m, n) == pytest.approx(float(contraction), rel=1e-14)
    comparison = 2 * ((PI / 2).sqrt() * number(lipschitz) * number(m).sqrt() + number(1.625)) * scale
    assert formulas.by_comparison(lipschitz, 1.625, B, M, m, n) == pytest.approx(float(comparison), rel=1e-14)


@pytest.mark.parametrize(("n", "delta"), [(1, 0.05), (1_000_000, 1e-9), (50, 0.999)])
def test_confidence(n, delta):
    exact = ((1 / number(delta)).ln() / (2 * n)).sqrt()
    assert formulas.confidence(n, delta) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("K", [0, 1, 64, 2000])
def test_shares_add_up_to_one(K):
    # 2/3 · 1/((k + 1)(k + 2)) = 2/3 · (1/(k + 1) − 1/(k + 2)): all but the first and the last cancel.
    exact = 1 - Fraction(4, 3 * (K + 2))
    assert math.fsum(formulas.share_of_delta(k) for k in range(-K, K + 1)) == pytest.approx(float(exact), rel=1e-15)
    assert formulas.share_of_delta(-K) == formulas.share_of_delta(K) > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("0.12344"), "0.1234"),
        (Decimal(12_345), "12,345"),
        (Decimal("9.949e45"), "9.9·10^45"),
        (Decimal("9.951e45"), "1.0·10^46"),
        (Decimal("2.846e35659"), "2.8·10^35659"),
        (Decimal(0), "0"),
        (Decimal("Infinity"), "∞"),
    ],
    ids=str,
)
def test_numbers_are_shown_by_their_logarithms(value, text):
    assert shown(float(value.ln())) == text
