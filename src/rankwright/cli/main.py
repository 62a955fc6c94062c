"""The ``rankwright`` command.

Exit codes are listed in ``rankwright --help``, and named in :class:`rankwright.cli.output.Exit`.

Results go to standard output; errors, warnings and progress go to standard error. If the reader of the
results goes away (``| head``), the command ends quietly, with 1. Nothing heavier than Typer is imported
until a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from rankwright._version import __version__
from rankwright.cli.bounds import bounds
from rankwright.cli.certify import certify
from rankwright.cli.consistency import consistency
from rankwright.cli.convert import convert
from rankwright.cli.evaluate import evaluate
from rankwright.cli.explain import explain
from rankwright.cli.export import export
from rankwright.cli.fit import fit
from rankwright.cli.inspect import inspect
from rankwright.cli.output import Exit, Failure, tell
from rankwright.cli.predict import predict
from rankwright.cli.reproduce import greedy_rankrls, large_margin, order_preserving
from rankwright.cli.select import select
from rankwright.cli.study import study_bounds
from rankwright.cli.termination import Terminated, ended_by_sigterm
from rankwright.cli.train import train
from rankwright.cli.training_record import COMMAND_WORDS
from rankwright.errors import ParameterError, RankwrightError

# What Typer raises on wrong usage has no public name in every version, but BadParameter is one of its kind.
_UsageError: Any = typer.BadParameter.__base__

_EXIT_CODES = """\b
Exit codes:
    0  success
    2  wrong usage, or an option with an invalid value
   65  malformed data
   66  an input file is missing or cannot be read
   71  not enough memory
   73  an output file cannot be created
  130  interrupted
  143  terminated
"""

app = typer.Typer(
    name="rankwright",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, so that Rich need not be loaded for it
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXIT_CODES,
)
for command in (fit, evaluate, inspect, convert, select, train, predict, explain, export, bounds, certify, consistency):
    app.command(epilog=_EXIT_CODES)(command)

reproduce = typer.Typer(rich_markup_mode=None, help="Repeat the experiments of a paper.", epilog=_EXIT_CODES)
reproduce.command(epilog=_EXIT_CODES)(greedy_rankrls)
reproduce.command(epilog=_EXIT_CODES)(order_preserving)
reproduce.command(epilog=_EXIT_CODES)(large_margin)
app.add_typer(reproduce, name="reproduce")

study = typer.Typer(
    rich_markup_mode=None, help="Compare theoretical risk bounds with measured risk.", epilog=_EXIT_CODES
)
study.callback()(lambda: None)  # so that the one study there is keeps its name
study.command("bounds", epilog=_EXIT_CODES)(study_bounds)
app.add_typer(study, name="study")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankwright {__version__}")
        raise typer.Exit


@app.callback()
def rankwright(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learning to rank: train a ranker on judged documents, then measure, explain, certify and export it.

    \b
    Examples:
      rankwright fit train.txt --test test.txt --out ranker
      rankwright fit clicks.csv --label grade --qid query --doc url --one-hot category --out ranker
      rankwright inspect train.txt
      rankwright convert train.txt train.parquet
      rankwright select train.txt --valid vali.txt --max-features 20
      rankwright train train.txt --valid vali.txt --out model.json
      rankwright predict model.json test.txt --out scores.txt
      rankwright evaluate scores.txt test.txt --measures ndcg@10,map --convention letor4
      rankwright explain model.json test.txt --query 17
      rankwright export model.json --to elasticsearch --name my_model --out model-es.json

    Run `rankwright COMMAND --help` for the options of a command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(Exit.USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; any error is one line on standard error."""
    if not sys.stderr:  # it is None after 2>&- in a shell
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # it stays open as long as the process runs
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without some letter is no reason to fail
    with warnings.catch_warnings(), ended_by_sigterm():
        warnings.showwarning = _show_warning
        try:
            words = sys.argv[1:] if arguments is None else arguments
            _refuse_empty(words)
            COMMAND_WORDS.set(words)
            code = app(words, prog_name="rankwright", standalone_mode=False)
        except (KeyboardInterrupt, typer.Abort):
            code = Exit.INTERRUPTED
        except Terminated:
            return _report("terminated", Exit.TERMINATED)
        except (_UsageError, RankwrightError, Failure) as error:
            return _report(*_problem_and_code(error))
        except MemoryError as error:
            return _report(f"not enough memory: {error}".rstrip(": "), Exit.NO_MEMORY)
    return _report("interrupted", Exit.INTERRUPTED) if code == Exit.INTERRUPTED else int(code or Exit.FINE)


def _refuse_empty(words: Sequence[str]) -> None:
    """An empty word is mostly a variable that the shell does not know; as a path it would be the current folder."""
    for place, word in enumerate(words, start=1):
        if not word or (word.startswith("--") and word.endswith("=")):
            named = f"the value of {words[place - 2]}" if place > 1 and words[place - 2].startswith("-") else repr(word)
            raise ParameterError(f"argument {place} ({named}) is empty: give it a value, or leave it out")


def _problem_and_code(error: Any) -> tuple[str, Exit]:
    match error:
        case Failure():
            return str(error), error.code
        case ParameterError():
            return str(error), Exit.USAGE
        case RankwrightError():
            return str(error), Exit.DATA
    command = error.ctx.command_path if error.ctx else "rankwright"
    problem = error.format_message().rstrip(".")
    if problem.endswith("is not readable"):  # Typer looks at paths before any command does
        return problem, Exit.NO_INPUT
    return f"{problem} (see {command} --help)", Exit.USAGE


def _report(problem: str, code: Exit) -> int:
    tell(f"error: {problem}")
    return int(code)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Python would show the place in the source, which tells the user of a command nothing."""
    tell(f"warning: {message}")
