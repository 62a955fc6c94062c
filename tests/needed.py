"""What some tests need besides the library. Where it is lacking they are skipped, saying what to install.

A test that is skipped where changes are checked protects nobody: with CI=true in the environment, as .ci/run sets it,
a missing program is an error.
"""

import os
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("CI") != "true",
    reason="no Chromium: install the package chromium to try pages in a browser",
)


def needs_boosting():
    """Go on where both libraries of trees are installed."""
    for library in ("lightgbm", "xgboost"):
        pytest.importorskip(library, reason=f"no {library}: pip install 'rankwright[{library}]'")


def needs_dask():
    """Go on where Dask is installed."""
    pytest.importorskip("distributed", reason="no Dask: pip install 'rankwright[dask]'")


def needs_torch():
    """Go on where PyTorch is installed."""
    pytest.importorskip("torch", reason="no PyTorch: pip install 'rankwright[torch]'")


def needs_pyspark():
    """Go on where PySpark is installed, which is enough to import it."""
    pytest.importorskip("pyspark", reason="no PySpark: pip install 'rankwright[spark]'")


def needs_spark():
    """Go on where Spark can be started."""
    needs_pyspark()
    home = os.environ.get("JAVA_HOME")
    if shutil.which(f"{home}/bin/java" if home else "java") is None:
        lack = "no Java: install a Java 17 runtime (the package openjdk-17-jre-headless), or set JAVA_HOME"
        if os.environ.get("CI") == "true":
            pytest.fail(lack)
        pytest.skip(lack)
