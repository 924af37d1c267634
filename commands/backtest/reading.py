"""What another policy would let agents read, and what it would put into a context (X06)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from mnemolog.commands.backtest.decisions import Difference
from mnemolog.domain.category import CategoryPolicy, Context, ContextMode
from mnemolog.domain.memory import Memory
from mnemolog.domain.scope import readable

ALWAYS = "always"


def allowed(
    memories: Iterable[Memory], agents: Collection[str], now: CategoryPolicy, then: CategoryPolicy
) -> Iterator[Difference]:
    """Which memories an agent would see or lose."""
    lists = {agent: (now.readable(agent), then.readable(agent)) for agent in sorted(agents)}
    changed = {agent: both for agent, both in lists.items() if both[0] != both[1]}
    for one in memories:
        if not one.visible:
            continue
        for agent, both in changed.items():
            seen = [names is None or one.content.category in names for names in both]
            if seen[0] != seen[1] and readable(one.scope, one.agent_id, agent):
                ways = (f"{'seen by' if each else 'hidden from'} {agent}" for each in seen)
                yield Difference("allowlist", None, str(one.memory_id), one.content.text, *ways)


def in_context(memories: Collection[Memory], now: CategoryPolicy, then: CategoryPolicy) -> Iterator[Difference]:
    """How memories would come into a context. A limit of a category matters once it has more memories than that."""
    visible = [one for one in memories if one.visible]
    count = Counter(one.content.category for one in visible)
    modes = {name: (now.mode(name), then.mode(name)) for name in count}
    for one in visible:
        number = count[one.content.category]
        ways = [_way(mode, number) for mode in modes[one.content.category]]
        if ways[0] != ways[1]:
            yield Difference("context", None, str(one.memory_id), one.content.text, *ways)


def _way(mode: ContextMode, number: int) -> str:
    if mode.context is Context.ALL:
        return ALWAYS
    return f"if it is among the best {mode.rag_length}" if number > mode.rag_length else "if it matches"
