"""Where Dask is not installed, only what needs it says so."""

import subprocess
import sys

import pytest

import rankwright
from rankwright.cli.main import main

_WITHOUT = "import sys; sys.modules['distributed'] = None; "


def test_the_library_is_there_without_dask():
    script = (
        _WITHOUT
        + "from rankwright import *; import rankwright as rw; print(Queries([[1.0]], [1]).n_documents); rw.dask"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.stdout == "1\n"
    assert "ImportError: rankwright.dask needs Dask: pip install 'rankwright[dask]'" in ended.stderr


def test_the_command_says_what_to_install(tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("rankwright.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(vars(rankwright), "dask", raising=False)
    (tmp_path / "train.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    assert main(["train", str(tmp_path / "train.txt"), "--engine", "dask", "--out", str(tmp_path / "model.json")]) == 2
    assert "--engine dask: rankwright.dask needs Dask: pip install 'rankwright[dask]'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "convert", "explain"])
def test_other_commands_have_no_engine(command, capsys):
    assert main([command, "--engine", "dask"]) == 2
