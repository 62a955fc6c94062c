"""Names of features, models and tables: whatever they are, they stay names, or are refused."""

import ast
import sqlite3

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankwright as rw
from tests.export import engines
from tests.export.models import linear, stumps

HOSTILE = [
    'a"b',
    "a`b",
    "a'b",
    "select",
    "a b",
    "größe ★",
    '"; DROP TABLE docs; --',
    "`; DROP TABLE docs; --",
    "') + 1e9 * (1",
    "a\\",
    '"""',
    "'''",
    "a\nimport os",
    "{0}",
    "%s",
    "\x00",
    "\u2028",
    "a*/",
    "bm25(title) + 1e9",
    "bm25(title)) + (1",
    "f1 }",
    "# a",
    "1e5",
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(HOSTILE)
PAIRS = st.lists(TEXTS, min_size=2, max_size=2, unique=True)
MODELS = st.sampled_from(["linear", "stumps"])
ROWS = [(0.25, 3.0), (4.0, -1.0), (0.5, 0.75)]


def model_of(kind, names):
    if kind == "linear":
        return linear([2.0, -0.5], intercept=0.25, names=names)
    model = stumps([0, 1, 1], [0.5, -2.0, 0.5], [2.0, -0.5, 1.0])
    if names is not None:
        model.feature_names_in_ = names
    return model


def expected_of(kind):
    return model_of(kind, None).predict(ROWS).tolist()


@pytest.mark.parametrize("dialect", ["ansi", "mysql"])
@given(names=PAIRS, table=TEXTS, kind=MODELS)
def test_any_names_stay_names_in_sql(names, table, kind, dialect):
    assume(not any("\0" in name for name in (*names, table)))
    assume(names[0].casefold() != names[1].casefold())
    assume(not table.lower().startswith("sqlite_"))
    for owner in (None, table):
        expression = rw.export_model(model_of(kind, names), "sql", table=owner, dialect=dialect)
        assert engines.sqlite(expression, names, ROWS, table) == expected_of(kind)


@given(names=PAIRS, name=TEXTS, kind=MODELS)
def test_any_names_stay_names_in_python(names, name, kind):
    text = rw.export_model(model_of(kind, names), "python", name=name)
    assert text.isascii()
    tree = ast.parse(text)
    before = ["Expr", "Assign", "Assign"] if kind == "linear" else ["Expr", "ImportFrom", "Assign"]
    assert [type(node).__name__ for node in tree.body] == [*before, "Assign", "FunctionDef"]
    namespace = {}
    exec(compile(tree, "model.py", "exec"), namespace)
    assert namespace["NAME"] == name
    scores = [namespace["score"](dict(zip(names, row, strict=True))) for row in ROWS]
    assert scores == expected_of(kind)


@pytest.mark.filterwarnings("ignore:linear models of")
@pytest.mark.parametrize(("target", "run"), [("solr", engines.solr), ("elasticsearch", engines.elasticsearch)])
@given(names=PAIRS, name=TEXTS, kind=MODELS)
def test_any_names_stay_names_in_json(names, name, kind, target, run):
    text = rw.export_model(model_of(kind, names), target, name=name)
    content = engines.strict_json(text)
    assert (content if target == "solr" else content["model"])["name"] == name
    shift = 0.25 if kind == "linear" else 0
    scores = [run(text, dict(zip(names, row, strict=True))) + shift for row in ROWS]
    assert scores == expected_of(kind)


@given(names=PAIRS, kind=MODELS)
def test_names_are_rank_features_of_vespa_or_refused(names, kind):
    try:
        text = rw.export_model(model_of(kind, names), "vespa")
    except rw.ParameterError:
        return
    scores = [engines.vespa(text, dict(zip(names, row, strict=True))) for row in ROWS]
    assert scores == expected_of(kind)


@pytest.mark.parametrize(
    "name", ["bm25(title)", "attribute(a, b)", "fieldMatch(t).proximity", "term(0).weight", "nativeRank"]
)
def test_rank_features_are_taken_as_they_are(name):
    assert f"2.0 * {name}\n" in rw.export_model(linear([2.0], names=[name]), "vespa")


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "select"])
def test_names_that_are_no_rank_features_are_refused_by_vespa(name):
    with pytest.raises(rw.ParameterError, match="is no rank feature of Vespa"):
        rw.export_model(linear([2.0], names=[name]), "vespa")


# The map of features


def test_features_are_renamed_by_the_map():
    model = linear([2.0, 3.0, 5.0])
    text = rw.export_model(model, "vespa", features={"f1": "bm25(title)", "f3": "attribute(age) + 1"})
    features = {"bm25(title)": 7.0, "f2": 11.0, "attribute(age)": 12.0}
    assert engines.vespa(text, features) == 2 * 7 + 3 * 11 + 5 * 13
    expression = rw.export_model(model, "sql", features={"f2": "the clicks"})
    assert engines.sqlite(expression, ["f1", "the clicks", "f3"], [(1.0, 10.0, 100.0)]) == [532.0]
    text = rw.export_model(model, "ranklib", features={"f1": "9", "f3": "1"})
    assert text.splitlines()[-1] == "9:2.0 2:3.0 1:5.0 0:0.0"


def test_features_without_a_weight_may_be_in_the_map():
    assert "clicks" not in rw.export_model(linear([2.0, 0.0]), "sql", features={"f2": "clicks"})


@pytest.mark.parametrize(
    ("expression", "is_fine"),
    [
        ("log(attribute(a) + 1)", True),
        ('query("a)b")', True),
        ("attribute(t){x:1}", True),
        ("1) + (2", False),
        ("(1", False),
        ("1]", False),
        ("a } }", False),
        ("a # b", False),
        ("a\n", False),
        ('a "', False),
        ("(a]", False),
    ],
)
def test_expressions_for_vespa_stay_in_their_place(expression, is_fine):
    model = linear([2.0])
    if is_fine:
        assert f"2.0 * ({expression})\n" in rw.export_model(model, "vespa", features={"f1": expression})
    else:
        with pytest.raises(rw.ParameterError, match="must be one line whose brackets"):
            rw.export_model(model, "vespa", features={"f1": expression})


@pytest.mark.parametrize(
    ("target", "features", "problem"),
    [
        ("sql", {"f9": "a"}, "the model has no feature 'f9', but 'f1', 'f2'"),
        ("sql", {"f1": 7}, "'f1' must be mapped to a text, not 7"),
        ("sql", {"f1": ""}, "the name of feature 1 must be a text that is not empty"),
        ("sql", {"f1": "a", "f2": "a"}, "two features are named 'a': rename one"),
        ("solr", {"f1": "f2"}, "two features are named 'f2': rename one"),
        ("sql", {"f1": "A", "f2": "a"}, "two features are named 'a' but for capitals"),
        ("sql", {"f1": "a\0"}, "but SQL has no zero bytes"),
        ("sql", {"f1": "\ud800"}, "is half a character"),
        ("sql", ["f1"], "features must map names of features"),
        ("ranklib", {"f1": "0"}, "feature 1 must be mapped to one, such as '7', not to '0'"),
        ("ranklib", {"f1": "²"}, "must be mapped to one"),
        ("ranklib", {"f1": "2147483648"}, "must be mapped to one"),
        ("ranklib", {"f1": "2"}, "two features are named '2'"),
    ],
)
def test_a_map_that_cannot_be_is_refused(target, features, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        rw.export_model(linear([2.0, 3.0]), target, features=features)


def test_a_feature_set_is_quoted_in_the_request():
    first, _, body = rw.export_model(linear([2.0]), "opensearch", feature_set="a/b\n?c").partition("\n")
    assert first == "POST _ltr/_featureset/a%2Fb%0A%3Fc/_createmodel"
    assert engines.elasticsearch(body, {"f1": 3.0}) == 6


def test_a_store_of_solr_is_named():
    assert engines.strict_json(rw.export_model(linear([2.0]), "solr", store="mine"))["store"] == "mine"
    assert "store" not in engines.strict_json(rw.export_model(linear([2.0]), "solr"))


@pytest.mark.parametrize("name", ["a b", "1a", "a{", "", "a-", "ä"])
def test_names_of_rank_profiles_are_checked(name):
    with pytest.raises(rw.ParameterError, match="name must be"):
        rw.export_model(linear([2.0]), "vespa", name=name)


def test_columns_that_differ_by_capitals_would_be_one_to_sqlite():
    with pytest.raises(sqlite3.OperationalError, match="duplicate column"):
        engines.sqlite("1", ["A", "a"], [])
