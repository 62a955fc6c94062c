"""The rooms stand in layers: a room imports from rooms below it and from itself, never from one above it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rankwright"

# From bottom to top. Rooms of one line do not know each other.
LAYERS = [
    {"_version", "errors", "types", "text", "plain", "progress"},
    {"checks", "html"},
    {"arrays", "machine"},
    {"judgments"},
    {"measures"},
    {"losses"},
    {"data"},
    {"engines", "torch"},
    {"clusters"},
    {"dask", "spark"},
    {"evaluation"},
    {"boosting"},
    {"lightgbm", "xgboost"},
    {"preparation", "trees"},
    {"solvers"},
    {"selection"},
    {"maps"},
    {"models"},
    {"rankers"},
    {"datasets"},
    {"report"},
    {"export", "explanation", "theory"},
    {"fitting", "reproduce"},
    {"cli"},
    {"__init__", "__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}

# Learners ask an engine, whose parts have the features and the threads.
ABOVE_ENGINES = {
    "evaluation",
    "maps",
    "models",
    "preparation",
    "solvers",
    "selection",
    "rankers",
    "trees",
    "explanation",
    "theory",
    "fitting",
}


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """The modules that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankwright"):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("rankwright"))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_imports_from_above(path):
    room = room_of(path)
    for name in imports(path):
        other = name.split(".")[1]
        assert other in LEVEL, f"{other} stands in no layer: say in which"
        assert other == room or LEVEL[other] < LEVEL[room], f"{room} imports {name}, which stands above it or beside it"


def test_every_room_stands_in_a_layer():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("room", ["judgments", "measures", "losses"])
def test_score_space_knows_no_threads(room):
    for path in (SOURCE / room).rglob("*.py"):
        assert not [name for name in imports(path) if name.startswith("rankwright.machine.threads")], path


@pytest.mark.parametrize("room", sorted(ABOVE_ENGINES))
def test_learners_know_no_threads(room):
    for path in (SOURCE / room).rglob("*.py"):
        assert not [name for name in imports(path) if name.startswith("rankwright.machine.threads")], path


# Those of a part that a step is given, and rankers that refuse queries which are not in memory.
READ_FEATURES = {
    "selection/judging.py",
    "rankers/first_look.py",
    "rankers/kernel_rankrls.py",
    "rankers/network_inputs.py",
    "rankers/kernel_space.py",
    "rankers/kernel_structured.py",
    "rankers/rankboost.py",
}


def test_learners_read_features_through_engines():
    modules = [path for room in ("solvers", "selection", "rankers") for path in (SOURCE / room).rglob("*.py")]
    reading = {
        path.relative_to(SOURCE).as_posix()
        for path in modules
        if any(isinstance(node, ast.Attribute) and node.attr == "X" for node in ast.walk(ast.parse(path.read_text())))
    }
    assert reading == READ_FEATURES
