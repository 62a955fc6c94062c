import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile("rankwright", deadline=None)
settings.load_profile("rankwright")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with LETOR's MQ2008 and OHSUMED: beside the project, or where RANKWRIGHT_DATA points."""
    folder = Path(os.environ.get("RANKWRIGHT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "MQ2008").is_dir():
        pytest.skip(f"no LETOR data at {folder}: set RANKWRIGHT_DATA to a folder with MQ2008 and OHSUMED")
    return folder
