"""Where there is no Java, or no Spark, the command says so in a line, and nothing of what Java has to say."""

import subprocess
import sys

import pytest

from tests.needed import needs_pyspark

pytestmark = pytest.mark.peers


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What a command on Spark prints, in a process of its own as Spark is started there."""
    needs_pyspark()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")

    def run(engine):
        command = [sys.executable, "-m", "rankwright", "train", "train.txt", "--engine", engine, "--out", "model.json"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (ended.returncode, ended.stdout) == (2, "")
        return ended.stderr

    return run


def test_a_missing_java_is_told(told, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert told("spark") == (
        "error: Spark needs Java 17 or newer, but there is no program `java` here: install it (on Debian and Ubuntu "
        "the package openjdk-17-jre-headless), or set JAVA_HOME to the folder of a Java that is there\n"
    )
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "there is no program `java` in JAVA_HOME, /nowhere: install it" in told("spark")


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("master", ["nonsense", "local[x]"])
def test_a_master_that_is_none_is_told_with_the_reason(told, master):
    found = told(f"spark={master}")
    assert found.startswith(f"error: --engine: there is no Spark at {master!r}: ")
    assert "aster" in found.removeprefix(f"error: --engine: there is no Spark at {master!r}: ")
    assert len(found.splitlines()) == 1
