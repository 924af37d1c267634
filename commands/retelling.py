"""What changes when something is told late: after what was said later (X13)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemolog.commands.graph import Graph
from mnemolog.domain import facts
from mnemolog.domain.facts import Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.relation import Relation
from mnemolog.domain.retelling import Beliefs, Change, History, Statement, history


@dataclass(frozen=True, slots=True)
class Late:
    """The validities to record, its own first, and the beliefs.

    `repeated`: it told what was known when it was told. `vain`: it ended what did not hold then.
    """

    validity: tuple[Validity, ...]
    beliefs: tuple[Beliefs, ...]
    repeated: bool
    vain: bool
    changed: frozenset[UUID]


def told_late(
    state: Graph,
    slot: Sequence[Relation],
    relation_id: UUID,
    change: Change,
    told_at: datetime | None,
    *,
    single: bool,
    timeless: bool | None = None,
) -> Late | None:
    """What a statement changes that was told before others of its slot; None if it is the last one.

    `timeless`: None if that is not known here, so that it is what explains what is in effect.

    None also if what is in effect does not follow from the statements, such as in histories that were imported before
    their order was taken into account: then it counts as told last.
    """
    if told_at is None:
        return None
    related = [one for one in slot if single or one.single or one.relation_id == relation_id]
    ids = list(dict.fromkeys((*(one.relation_id for one in related), relation_id)))
    known = [one for id_ in ids for one in state.statements.get(id_, ())]
    if all(one.told <= told_at for one in known):
        return None
    rules = (False, True) if timeless is None else (timeless,)
    explained = ((rule, history(ids, known, timeless=rule)) for rule in rules)
    rule, before = next(((rule, found) for rule, found in explained if _explains(found, related)), (False, None))
    if before is None:
        return None
    new = Statement(relation_id, told_at, state.told, None, change)
    after = history(ids, [*known, new], timeless=rule)
    redone = (
        set(ids) if _told_late_without(known) else {id_ for id_ in ids if after.beliefs[id_] != before.beliefs[id_]}
    )
    now = {one.relation_id: one.validity for one in after.slot}
    altered = {one.relation_id for one in facts.changes(before.slot, after.slot)}
    changed = [id_ for id_ in ids if id_ != relation_id and (id_ in redone or id_ in altered)]
    return Late(
        validity=tuple(now[id_] for id_ in (relation_id, *changed)),
        beliefs=tuple(after.beliefs[id_] for id_ in ids if id_ in redone),
        repeated=new.number in after.repeated,
        vain=new.number in after.vain,
        changed=frozenset(altered),
    )


def _explains(before: History, slot: Sequence[Relation]) -> bool:
    """Whether what is in effect follows from the statements."""
    follows = {one.relation_id: one.validity for one in before.slot}
    return all(
        follows[one.relation_id] == one.validity
        and (one.relation_id in before.hidden) == (one.status is not Status.ACTIVE)
        for one in slot
    )


def _told_late_without(known: Sequence[Statement]) -> bool:
    """Whether something was told late, but recorded without what it changed of earlier beliefs."""
    last: datetime | None = None
    for one in sorted(known, key=lambda one: one.number):
        if last is not None and one.told < last and not one.retold:
            return True
        last = one.told if last is None else max(last, one.told)
    return False
