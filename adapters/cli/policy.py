"""Commands for the policy: check a file, show the effective policy or an earlier version, back-test another."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml  # type: ignore[import-untyped]

import mnemolog
from mnemolog.adapters.background.settings import as_the_engine, policy_of
from mnemolog.adapters.backtest import Backtest
from mnemolog.adapters.backtest import backtest as tried
from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import running_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.policy import load
from mnemolog.domain.errors import NotFound, PolicyRefused
from mnemolog.domain.policy import Policy
from mnemolog.events.envelope import StreamId

policies = typer.Typer(help="Check, show or try a policy.", no_args_is_help=True)


@policies.command()
def check(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="The policy file. Default: the one in the settings.")] = None,
    json: Json = False,
) -> None:
    """Check a policy file and list every fault with its line. Needs no engine."""
    settings = settings_of(context.obj)
    path = file or settings.policy_file
    try:
        policy = load(path, settings.unlisted_agents)
    except PolicyRefused as refused:
        if not json:
            raise
        output.as_json({"error": {**refused.as_dict(), "faults": [asdict(fault) for fault in refused.faults]}})
        raise typer.Exit(2) from refused
    if json:
        output.as_json({"file": str(path) if path else None, "version": policy.version})
        return
    output.done(f"{path.name if path else 'the built-in policy'} is valid: version {policy.version}")
    categories, agents = len(policy.categories.categories), len(policy.categories.allowlists)
    counts = f"{output.count(categories, 'category', 'categories')}, {output.count(agents, 'agent')} with an allowlist"
    output.console.print(f"  [dim]{counts}[/]")


@policies.command()
def get(
    context: typer.Context,
    version: Annotated[
        str | None,
        typer.Argument(metavar="[VERSION]", help="A version recorded in an event. Default: the effective policy."),
    ] = None,
    json: Json = False,
) -> None:
    """Print a policy as YAML: by default that of the running engine. An earlier version needs an engine."""
    policy = _effective(settings_of(context.obj))
    if version is None or version == policy.version:
        version, content = policy.version, policy.as_dict()
    else:
        content = _kept(context, version)
    if json:
        output.as_json({"version": version, "policy": content})
        return
    unlisted = content.pop("unlisted_agents", "all")
    output.console.print(f"# version {version}; setting unlisted_agents: {unlisted}", highlight=False)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    output.console.print(text, markup=False, highlight=False, end="", soft_wrap=True)


@policies.command()
def backtest(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The policy file to try.")],
    user: User,
    since: Annotated[int, typer.Option(min=0, help="Only decisions after this sequence number.")] = 0,
    json: Json = False,
) -> None:
    """Show what another policy would have decided over a user's log, and what readers would see. Nothing is written."""
    settings = settings_of(context.obj)
    load(file)  # An invalid policy is reported before an engine starts.

    async def work(engine: Engine) -> Backtest:
        engine.require_operator()
        policy = load(file, engine.settings.unlisted_agents)
        await engine.settled()
        return await tried(engine, StreamId.of_user(user, engine.settings.tenant), policy, since)

    done = with_engine(settings, work)
    if json:
        output.as_json(done.as_dict())
        return
    _show(done)


def _show(done: Backtest) -> None:
    rows = [(str(one.seq or ""), one.decision, one.now, one.then, one.text) for one in done.differences]
    if rows:
        output.show(("seq", "decision", "now", "then", "text"), rows)
    looked_at = sum(done.looked_at.values())
    output.done(f"{output.count(len(rows), 'difference')} in {output.count(looked_at, 'decision')} up to {done.head}")
    if done.shadow:
        output.show(("seen", "now", "then", "text"), [(one.kind, one.now, one.then, one.text) for one in done.shadow])
    output.done(f"{output.count(len(done.shadow), 'difference')} in what readers see")
    for one in done.unfollowed:
        output.line("not followed:", f"event {one.seq}, {one.id}: {one.why}")
    for kind, count in done.unread.items():
        output.line("not decided again:", f"{output.count(count, kind)}")
    if done.untested:
        output.line("differs, and needs a model:", ", ".join(done.untested))


def _effective(settings: Settings) -> Policy:
    """The policy of the running engine; if none of this version runs, that of the settings."""
    running = running_engine(settings.directory)
    if running and running.ready and running.version == mnemolog.__version__:
        return policy_of(as_the_engine(settings, running), running)
    return settings.policy


def _kept(context: typer.Context, version: str) -> dict[str, Any]:
    async def find(engine: Engine) -> str:
        found = await engine.policies.kept([version])
        if version not in found:
            raise NotFound(f"there is no policy version {version!r}", field="version", fix="see `mnemolog why ID`")
        return found[version]

    content: dict[str, Any] = json_format.loads(with_engine(settings_of(context.obj), find))
    return content
