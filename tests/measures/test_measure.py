"""Measures as objects: printing, comparing, parsing, refusing."""

import pickle

import numpy as np
import pytest

import rankwright as rw


def test_prints_as_typed():
    assert str(rw.nDCG @ 10) == "nDCG @ 10"
    assert repr(rw.nDCG(gain="linear") @ 10) == "nDCG(gain='linear') @ 10"
    assert str(rw.AP) == "AP"
    namespace = {name: getattr(rw, name) for name in ("nDCG", "ERR", "P")}
    for measure in (rw.nDCG(ties="best", gain="linear") @ 3, rw.ERR(max_grade=4), rw.P @ 5):
        assert eval(str(measure), namespace) == measure


def test_hashable_and_equal():
    assert len({rw.nDCG @ 5, rw.nDCG @ 5, rw.nDCG @ 6, rw.nDCG(gain="linear") @ 5}) == 3
    assert rw.nDCG(gain="linear", ties="best") == rw.nDCG(ties="best")(gain="linear")


def test_survives_pickling():
    measure = rw.nDCG(gain="linear") @ 7
    copy = pickle.loads(pickle.dumps(measure))
    assert copy == measure
    assert rw.evaluate([1.0, 0.0], rw.Queries(None, [0, 1]), copy).means[measure] < 1


def test_parsing():
    assert rw.parse_measures("ndcg@10, MAP,err ,P@5,mrr") == (rw.nDCG @ 10, rw.AP, rw.ERR, rw.P @ 5, rw.RR)
    assert rw.parse_measures("kendall,pairwiseerror,wpd,zeroone,meanndcg,dcg@3,recall@2") == (
        rw.KendallTau,
        rw.PairwiseError,
        rw.WPD,
        rw.ZeroOne,
        rw.MeanNDCG,
        rw.DCG @ 3,
        rw.Recall @ 2,
    )


def test_parsing_reads_what_measures_print():
    for measure in (rw.nDCG(gain="linear", ties="best") @ 7, rw.ERR(max_grade=4), rw.AP(empty=None), rw.P @ 5):
        assert rw.parse_measures(f"map, {measure}, rr") == (rw.AP, measure, rw.RR)


@pytest.mark.parametrize(
    "text",
    [
        "ndcg(linear)",
        "ndcg(gain=linear)",
        "ndcg(gain='cubic')",
        "ap(level=open('x'))",
        "ndcg(a)(gain='linear')",
        "ndcg(gain={[]:1})",
        "ndcg(**{'gain':'linear'})",
        "ndcg@99999999999",
        "ap(x=1)",
    ],
)
def test_parsing_refuses_options_that_are_none(text):
    with pytest.raises(rw.ParameterError):
        rw.parse_measures(text)


@pytest.mark.parametrize("text", ["", "ndgc@10", "ndcg@", "ndcg@x", "ndcg@-1", "ndcg@10;map", "p", "recall"])
def test_parsing_refuses_what_is_no_measure(text):
    with pytest.raises(rw.ParameterError, match="measures"):
        rw.parse_measures(text)


@pytest.mark.parametrize("cutoff", [0, -3, 2.5, "10", True])
def test_cutoff_is_a_positive_whole_number(cutoff):
    with pytest.raises(rw.ParameterError, match="cutoff of nDCG"):
        rw.nDCG @ cutoff


def test_numpy_numbers_print_as_plain_ones():
    measure = rw.ERR(max_grade=np.int64(4))
    assert rw.parse_measures(str(measure)) == (measure,)


def test_refusals():
    with pytest.raises(rw.ParameterError, match=r"use rankwright\.nDCG"):
        rw.Measure("nDCG")
    with pytest.raises(rw.ParameterError, match="relevant_from"):
        rw.AP(relevant_from="2")
    with pytest.raises(rw.ParameterError, match="KendallTau takes no cutoff"):
        rw.KendallTau @ 3
    with pytest.raises(rw.ParameterError, match="AP has no option 'gain'"):
        rw.AP(gain="linear")
    with pytest.raises(rw.ParameterError, match="gain must be one of"):
        rw.nDCG(gain="quadratic")
    with pytest.raises(rw.ParameterError, match="P needs a cutoff"):
        rw.evaluate([1.0], rw.Queries(None, [1]), rw.P)
    with pytest.raises(rw.ParameterError, match="at least one"):
        rw.evaluate([1.0], rw.Queries(None, [1]), [])
