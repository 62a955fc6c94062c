"""What the commands read: the options that say how, on all commands the same, and the one reader of data and models."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.engines import ENGINES, ChosenEngine
from rankwright.cli.memory import MemoryLimit
from rankwright.cli.options import check_one_of, flag, naming_options, option, takes
from rankwright.cli.output import opening, reading
from rankwright.cli.progress import progress_bar, tell_reading
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.data.streams.streamed import StreamedQueries
    from rankwright.models.model import Model

DATA_HELP = "text, CSV, JSON lines (all plain or gzip) or Parquet"
_COLUMNS = "In CSV, JSON lines or Parquet"


@dataclass(frozen=True)
class DataReader:
    """Reads the queries of a command: which columns of a table are what, and how much memory they may take.

    Of LETOR text, the columns say which features to take.
    """

    columns: TableColumns
    description: Path | None
    memory: MemoryLimit
    engine: ChosenEngine | None = None

    def in_memory(self, reason: str) -> DataReader:
        """The same for a command that needs all data in memory, for this reason, with what to do instead."""
        return replace(self, memory=self.memory.refusing(reason))

    def read(self, path: Path, *, dtype: str | None = None, missing: str = "zero") -> Queries | StreamedQueries:
        """The queries of a file, of all files in a folder, or of those of a pattern; in memory if they fit in it.

        Of text, numbers have this type, and what a line leaves out is "zero" or "nan".
        """
        from rankwright.data.files import read_asked
        from rankwright.data.streams.opening import data_files, open_asked

        check_one_of(("float32", "float64"), dtype=dtype)
        check_one_of(("zero", "nan"), missing=missing)
        with opening(path), naming_options(*_DATA_OPTIONS, client="engine", master="engine"):
            is_pipe = path.exists() and not path.is_file() and not path.is_dir()  # which can be read only once
            files = [path] if is_pipe else data_files(path)
            how: dict[str, Any] = {"dtype": dtype, "missing": missing, "column_description": self.description}
            if self.engine is not None:
                return self._on_cluster(self.engine, path, files, **how)
            is_exceeded = not is_pipe and self.memory.is_exceeded(path, files)
            if files == [path] and not is_exceeded:
                with reading(path):
                    return read_asked(path, self.columns, **how)
            limit: dict[str, Any] = {"memory": self.memory.limit, "cache": self.memory.cache, "sort": self.memory.sort}
            with progress_bar(f"reading {path.name} (bytes)") as progress:
                queries = open_asked(files, self.columns, **limit, **how, progress=progress).watched(tell_reading)
            return queries if is_exceeded else queries.in_memory()

    def _on_cluster(self, engine: ChosenEngine, path: Path, files: list[Path], **how: Any) -> StreamedQueries:
        from rankwright.clusters.loading import Reading

        with progress_bar(f"reading {path.name} on {engine.name}"):
            return engine.load(files, Reading(self.columns, **how), self.memory).watched(tell_reading)

    def with_features_of(self, names: Iterable[str]) -> DataReader:
        """The same, but exactly these features, as far as a file has them; columns of text are encoded as they were."""
        return replace(self, columns=self.columns.for_features(names))

    def read_judgments(self, path: Path) -> Queries | StreamedQueries:
        """The queries in a file, with those features only that are asked for: to measure scores takes none."""
        return (self.with_features_of(()) if self.columns.features is None else self).read(path)

    def read_for_models(self, path: Path, *models: Model, judged: bool = True) -> Any:
        """The queries with the features that the models name, if they do, and if no others are asked for.

        So columns that the models do not know are not looked at, and columns of text are encoded as for training.
        Documents that need not be ``judged`` may have no grades.
        """
        reader = replace(self, columns=replace(self.columns, must_be_judged=judged))
        is_asked = self.columns.features is not None or self.columns.one_hot
        if not is_asked and all(hasattr(model, "feature_names_in_") for model in models):
            names = (str(name) for model in models for name in model.feature_names_in_)
            reader = reader.with_features_of(dict.fromkeys(names))
        return reader.read(path)

    def read_training(self, files: Mapping[str, Path]) -> dict[str, Any]:
        """The queries of files by their roles, "train" first, all with the features of the training data, in order.

        Features are matched by name where the training data name them, and columns of text encoded as there.
        """
        from rankwright.data.as_queries import equally_wide
        from rankwright.data.learnable import check_learnable

        train = self.read(files["train"])
        if train.n_features == 0:
            raise DataError(f"{files['train']}: there are no features to learn from")
        check_learnable(str(files["train"]), train)
        others = self.with_features_of(train.feature_names) if train.has_feature_names else self
        read = {"train": train, **{role: others.read(path) for role, path in files.items() if role != "train"}}
        with reading(files["train"]):
            read = dict(zip(files, equally_wide(list(files.values()), list(read.values())), strict=True))
        for role, queries in read.items():
            _check_features(files[role], queries, files["train"], read["train"])
        return read


def _reader(
    *,
    label: str | None = option("COLUMN", f"{_COLUMNS}: the column with the grades."),
    qid: str | None = option("COLUMN", "The column with the query ids."),
    doc: str | None = option("COLUMN", "The column with the document ids."),
    features: str | None = option(
        "LIST", "The feature columns: bm25,click* uses only these; -price uses all but price."
    ),
    one_hot: str | None = option("LIST", "Text columns to encode: each distinct value becomes a 0/1 feature."),
    column_description: Path | None = option(
        "FILE", "CatBoost's column description, for a table without a header line."
    ),
    memory: str | None = option(
        "LIMIT",
        "Read data that take more than this, such as 4GB or 500MB, part by part from disk; by default, half "
        "of the memory that is free.",
    ),
    cache: Path | None = option("DIR", "The folder for what is read part by part; by default, that of the data file."),
    sort: bool = flag("--sort", "If data are read part by part: bring rows of a query together by a sort on disk."),
) -> DataReader:
    """What reads data as these options say."""
    columns = TableColumns.of(
        label=label,
        qid=qid,
        doc=doc,
        features=_names("--features", features),
        one_hot=_names("--one-hot", one_hot),
    )
    return DataReader(columns, column_description, MemoryLimit.of(memory, cache, sort))


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    """A list of names, separated by commas."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ParameterError(f"{option}: {text!r} contains an empty name")
    return names


def _reader_anywhere(
    *,
    engine: str = option(
        ENGINES,
        "Where to hold and work on the data: in this process; on Dask workers, one for each processor of this machine, "
        "or those of the scheduler at ADDRESS; or on Spark, on this machine or at MASTER. Workers read the files "
        "themselves.",
        default="local",
    ),
    reader: DataReader,
) -> DataReader:
    """The same on a cluster, if one is asked for."""
    return replace(reader, engine=ChosenEngine.of(engine))


reads_data = takes("reader", of=_reader)
reads_data_anywhere = takes("reader", of=reads_data(_reader_anywhere))
_DATA_OPTIONS = tuple(inspect.signature(_reader).parameters)


def _check_features(path: Path, queries: Any, train_path: Path, train: Any) -> None:
    """Refuse queries that have other features than the training data."""
    is_numbered = not queries.has_feature_names and not train.has_feature_names
    if is_numbered and queries.n_features == train.n_features:
        return  # there may be very many
    if queries.feature_names == train.feature_names:
        return
    known = set(queries.feature_names)
    lacking = next((name for name in train.feature_names if name not in known), None)
    which = "it has more features" if lacking is None else f"{lacking!r} is missing"
    raise DataError(f"{path} does not have the same features as {train_path}: {which}")


@contextmanager
def about(data: Path) -> Iterator[None]:
    """While queries are worked on: what is wrong with them is told with the file they came from."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{data}: {error}") from None


# Models


def read_model(path: Path) -> Model:
    """The model in a file."""
    from rankwright.models.model_file import load_model

    with reading(path):
        return load_model(path)


def for_features_of(model: Model, queries: Queries | StreamedQueries) -> Model:
    """The model without the features that the queries lack: text does not tell of those that are 0 in all its lines."""
    if queries.n_features >= model.n_features_in_ or queries.has_feature_names:
        return model
    return model.cut_to(queries.n_features)
