"""``rankwright train --ranker kernel-map``: what it trains and tells, and what it refuses."""

import json

import numpy as np
import pytest

import rankwright as rw
from tests.maps.dirty import dirty_queries


@pytest.fixture(name="files")
def written_files(tmp_path):
    for name, seed in (("train", 1), ("test", 2)):
        rw.write_parquet(dirty_queries(40, seed=seed)[:], tmp_path / f"{name}.parquet")
    return tmp_path


def test_it_trains_what_the_library_trains(run, files):
    model = files / "model.json"
    options = ["--components", "30", "--gamma", "0.05,0.1", "--scaling", "quantile", "--alpha", "1,4", "--seed", 5]
    result = run("train", files / "train.parquet", "--ranker", "kernel-map", *options, "--out", model, "--json")
    told = json.loads(result.out)
    train = rw.read_parquet(files / "train.parquet")
    by = rw.KernelMap(n_components=30, gamma=rw.search(0.05, 0.1), scaling="quantile", random_state=5)
    ranker = rw.MappedRanker(by, rw.RankRLS(rw.search(1, 4))).fit(train)
    assert (told["ranker"], told["maps_tried"], told["alphas_tried"]) == ("MappedRanker", 2, 2)
    assert (told["gamma"], told["alpha"]) == (ranker.setting_["gamma"], ranker.alpha_)
    training = rw.load_model(model).training_
    told = {name: value for name, value in told.items() if name not in ("ranker", "model")}
    assert training["figures"] | {name: training[name] for name in ("judged_on", "measures")} == told
    chosen = list(ranker.ranker_.path_.alphas).index(ranker.alpha_)
    ((_, estimates),) = ranker.ranker_.path_.lqo.items()
    assert told["judged_on"] == "held-out"
    assert told["measures"][0]["mean"] == pytest.approx(estimates[chosen].mean)
    test = rw.read_parquet(files / "test.parquet")
    np.testing.assert_array_equal(rw.load_model(model).predict(test), ranker.predict(test))
    scores = run("predict", model, files / "test.parquet").out.split()
    np.testing.assert_allclose(np.array(scores, float), ranker.predict(test), rtol=1e-12)


def test_it_tells_what_was_chosen(run, files):
    options = ["--components", "9", "--kind", "nystroem", "--behind", "ranksvm", "--valid", files / "test.parquet"]
    result = run("train", files / "train.parquet", "--ranker", "kernel-map", *options, "--out", files / "model.json")
    assert "columns; gamma" in result.out
    assert "chosen from 12" in " ".join(result.out.split())
    assert "regularisation λ of RankSVM" in result.out
    assert "on the validation queries" in result.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--ranker", "rankrls", "--components", "5"], "--components is for kernel-map, not for rankrls"),
        (["--ranker", "kernel-map", "--components", "0"], "--components must be a whole number of at least 1"),
        (["--ranker", "kernel-map", "--seed", "-1"], "--seed must be a whole number of at least 0"),
        (["--ranker", "kernel-map", "--kind", "poly"], "--kind must be one of"),
        (["--ranker", "kernel-map", "--gamma", "wide"], "--gamma: 'wide' is not a number above 0"),
        (["--ranker", "kernel-map", "--scaling", "wide"], "--scaling must be one of"),
        (["--ranker", "kernel-map", "--behind", "rankboost"], "--behind must be one of"),
        (["--ranker", "kernel-map", "--scale", "none"], "kernel-map scales by --scaling"),
        (["--ranker", "kernel-map", "--rounds", "3"], "--rounds is for rankboost"),
    ],
)
def test_what_does_not_fit_is_refused(run, files, options, told):
    result = run("train", files / "train.parquet", *options, "--out", files / "model.json")
    assert result.code
    assert told in result.err
