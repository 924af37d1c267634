"""`mnemolog knowledge add`: files and directories into an agent's library."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.operations import group_of
from mnemolog.adapters.cli.options import Agent, Json
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.files import read_all, read_file
from mnemolog.adapters.operations.knowledge import (
    AddDocument,
    DeleteDocument,
    DocumentsRead,
    add_document,
    delete_document,
    list_documents,
)
from mnemolog.domain.document import Outcome
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import validated

STDIN = "-"
# The files that are taken from a directory.
SUFFIXES = frozenset({".md", ".markdown", ".txt", ".html", ".htm", ".pdf", ".docx"})
PAGE = 1000


def register(app: typer.Typer) -> None:
    group_of(app, "knowledge").command("add")(add)


@dataclass(slots=True)
class Report:
    """The sources of documents, by what was done. `failed`: why a file was not added."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def show(self) -> None:
        for name in ("added", "changed", "restored", "removed"):
            for source in getattr(self, name):
                output.line(name, source)
        for source, error in self.failed.items():
            output.line("failed", f"{source}: {error['message']} → {error['fix']}")
        counts = {name: len(found) for name, found in self.as_dict().items()}
        always = ("added", "changed", "unchanged", "removed")
        output.done(", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name in always))


def add(
    context: typer.Context,
    paths: Annotated[list[str], typer.Argument(help="Files and directories; `-` reads standard input.")],
    agent: Agent = DEFAULT_AGENT,
    domain: Annotated[
        str | None, typer.Option("--domain", help="The field of knowledge they belong to. Default: unchanged.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="The name of a single document. Default: its path.")
    ] = None,
    mime: Annotated[str | None, typer.Option("--mime", help="The media type. Default: from the name.")] = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Also delete documents of these directories whose files are gone.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", "--key", help="Your own key, for one document: a retry changes nothing."),
    ] = None,
    json: Json = False,
) -> None:
    """Add documents to an agent's library, or update those that are in it.

    Reads Markdown, HTML, PDF, DOCX and text; directories with their subdirectories, but no hidden files. A document is
    known by its path, relative to the working directory. Only chunks that changed are written.
    """
    directories = [path for path in paths if path != STDIN and Path(path).is_dir()]
    roots = list(map(_named, directories))
    if sync and (not roots or "." in roots):
        fix = "name the directory from its parent, such as `mnemolog knowledge add docs --sync`"
        raise InvalidInput("needs a named directory", field="sync", fix=fix)
    files = dict(_files(paths))
    if not files and not sync:
        fix = f"in a directory, files with {', '.join(sorted(SUFFIXES))} are read; name others one by one"
        raise InvalidInput("there is no file to add", field="paths", fix=fix)
    if source is not None and len(files) != 1:
        raise InvalidInput(f"is one name for {len(files)} files", field="source", fix="give a single file")
    if key is not None and len(files) != 1:
        raise InvalidInput(f"is one key for {len(files)} files", field="idempotency_key", fix="give a single file")
    if STDIN in files.values() and source is None:
        raise InvalidInput("is missing", field="source", fix="name the document: --source NAME")
    if source is not None:
        files = dict.fromkeys([source], *files.values())
    given = {"agent_id": agent, "domain": domain, "mime": mime, "idempotency_key": key}
    fields = {name: value for name, value in given.items() if value is not None}

    async def run(engine: Engine) -> Report:
        report = Report()
        with bar("adding documents", len(files)) as progressed:
            for name, path in files.items():
                await _add(engine, name, path, directories, fields, report)
                progressed(1)
        if sync:
            await _remove(engine, agent, roots, files.keys(), report)
        with output.errors.status("projections catch up"):
            await engine.settled()
        return report

    report = with_engine(settings_of(context.obj), run)
    if json:
        output.as_json(report.as_dict())
    else:
        report.show()
    if report.failed:
        raise typer.Exit(1)


async def _add(
    engine: Engine, name: str, path: str, directories: Sequence[str], fields: dict[str, Any], report: Report
) -> None:
    """A file that cannot be read does not stop the others."""
    try:
        _require_inside(path, directories)
        request = validated(AddDocument, {**fields, "source": name})
        done = await add_document(engine, request, await asyncio.to_thread(_read, path))
    except InvalidInput as error:
        report.failed[name] = error.as_dict()
        return
    {
        Outcome.ADDED: report.added,
        Outcome.CHANGED: report.changed,
        Outcome.RESTORED: report.restored,
        Outcome.UNCHANGED: report.unchanged,
    }[done.outcome].append(name)


async def _remove(engine: Engine, agent: str, roots: Sequence[str], present: Any, report: Report) -> None:
    """Delete the documents of these directories that are not among the files."""
    gone, cursor = [], None
    while True:
        request = validated(DocumentsRead, {"agent_id": agent, "limit": PAGE, "cursor": cursor})
        page = await list_documents.run(engine, request)
        within = (one for one in page if any(one.source.startswith(f"{root}/") for root in roots))
        gone += [one for one in within if one.source not in present]
        if (cursor := page.next_cursor) is None:
            break
    for one in gone:
        fields = {"agent_id": agent, "document_id": one.document_id, "reason": "its file is gone"}
        await delete_document.run(engine, validated(DeleteDocument, fields))
        report.removed.append(one.source)


def _files(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The name and the path of each file; InvalidInput for a path that is not there."""
    for path in paths:
        if path == STDIN:
            yield STDIN, STDIN
        elif Path(path).is_dir():
            yield from _below(Path(path))
        elif Path(path).is_file():
            yield _named(path), path
        else:
            raise InvalidInput(f"{path} is not a file or a directory", field="paths", fix="correct the path")


def _below(directory: Path) -> Iterator[tuple[str, str]]:
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and path.is_file():
                yield _named(str(path)), str(path)


def _require_inside(path: str, directories: Sequence[str]) -> None:
    """InvalidInput for a link in a directory to a file outside of it: whoever wrote the directory may not read that."""
    own = [one for one in directories if Path(path).is_relative_to(one)]
    if own and not any(Path(path).resolve().is_relative_to(Path(one).resolve()) for one in own):
        raise InvalidInput("is a link out of the directory", field="paths", fix="name the file that it leads to")


def _named(path: str) -> str:
    """The path relative to the working directory if it is below it, with forward slashes."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _read(path: str) -> bytes:
    return read_all(sys.stdin.buffer, "paths") if path == STDIN else read_file(Path(path), "paths")
