import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]


def _keep_compiled_kernels_apart() -> None:
    """Numba sees a change of a kernel's own file, but not of the files of the kernels that it calls."""
    sources = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        if b"kernel" in (content := path.read_bytes()):
            sources.update(content)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba-cache" / sources.hexdigest()[:16]))


_keep_compiled_kernels_apart()  # before Numba is first imported

# The first example of a test may compile a kernel, so no example has a deadline. `thorough` tries more.
settings.register_profile("rankwright", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "rankwright"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with LETOR's MQ2008 and OHSUMED: beside the project, or where RANKWRIGHT_DATA points."""
    folder = Path(os.environ.get("RANKWRIGHT_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "MQ2008").is_dir():
        pytest.skip(f"no LETOR data at {folder}: set RANKWRIGHT_DATA to a folder with MQ2008 and OHSUMED")
    return folder
