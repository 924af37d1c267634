"""The state of the engine: projections and their lag, rebuilds, jobs, dead letters and incidents.

For those who may administer it, over all users and agents of their tenant; what belongs to other tenants is left out.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import Response

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.console.listing import MOST_A_READ, part_of
from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.jobs.job import Job, JobStatus
from mnemolog.adapters.nats.dead_letters import DeadLetter, DeadLetters
from mnemolog.adapters.verify.incidents import Incident
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.domain.identity import parse_uuid

PAGE, LETTERS = 20, 500
OPERATOR = "operator"


async def overview(visit: Visit) -> Response:
    """How far each projection is, and what needs somebody."""
    engine = _operated(visit)
    return visit.page("operations.html", **await _progress(visit), **await _counts(visit, engine))


async def progress(visit: Visit) -> Response:
    """The projections, as a part of the page that is asked for again every few seconds."""
    _operated(visit)
    return visit.page("progress.html", **await _progress(visit))


async def jobs(visit: Visit) -> Response:
    """Jobs, the newest first."""
    text = visit.query.get("status", "")
    if text and text not in list(JobStatus):
        raise InvalidInput(f"{text!r:.40} is not a status", field="status", fix=f"give one of {', '.join(JobStatus)}")
    status = JobStatus(text) if text else None
    found = [job for job in await _operated(visit).jobs.list(status, limit=MOST_A_READ) if _of(visit, job.tenant)]
    return visit.page("jobs.html", page=part_of(found, visit.query, PAGE), wanted=status, statuses=list(JobStatus))


async def letters(visit: Visit) -> Response:
    """Refused turns, the oldest first."""
    found = await _letters(visit, _operated(visit))
    return visit.page("letters.html", page=part_of(found, visit.query, PAGE), most=LETTERS)


async def incidents(visit: Visit) -> Response:
    """Damage that was found, the newest first."""
    found = await _incidents(visit, _operated(visit))
    shown = found if visit.query.get("all") else [one for one in found if one.open]
    return visit.page("incidents.html", page=part_of(shown[::-1], visit.query, PAGE))


async def operate(visit: Visit) -> Response:
    """Retry or cancel a job, replay or discard a dead letter, acknowledge an incident, or retry a stopped stream."""
    chosen = visit.request.path_params["act"]
    if chosen not in ACTS:
        raise NotFound("there is no such page", field="", fix="go back to the start")
    page, act = ACTS[chosen]
    await act(visit, _operated(visit), visit.form.get("id", ""))
    return visit.to(page, done=chosen)


def _operated(visit: Visit) -> Engine:
    """The engine, for who may administer all users and agents of a tenant."""
    engine = visit.engine
    engine.require_operator()
    if visit.principal:
        visit.principal.require_every_user()
        visit.principal.require_every_agent()
    return engine


def _of(visit: Visit, tenant: str) -> bool:
    """Whether something of this tenant may be shown; "" is what belongs to none."""
    return visit.principal is None or tenant in ("", visit.principal.tenant)


async def _progress(visit: Visit) -> Mapping[str, Any]:
    engine = visit.engine
    found = await engine.projections.status(engine.writes.now())
    stopped = [(one.name, stop) for one in found for stop in one.stopped if _of(visit, stop.stream.partition("/")[0])]
    return {"projections": found, "stopped": stopped, "outbox": await engine.outbox.size()}


async def _counts(visit: Visit, engine: Engine) -> Mapping[str, Any]:
    found = [job for job in await engine.jobs.list(JobStatus.FAILED, limit=MOST_A_READ) if _of(visit, job.tenant)]
    opened = [one for one in await _incidents(visit, engine) if one.open]
    return {"failed": len(found), "letters": len(await _letters(visit, engine)), "incidents": len(opened)}


async def _letters(visit: Visit, engine: Engine) -> list[DeadLetter]:
    found = list[DeadLetter]()
    async for letter in DeadLetters(engine.nats).all(visit.principal.tenant if visit.principal else None):
        found.append(letter)
        if len(found) == LETTERS:
            break
    return found


async def _incidents(visit: Visit, engine: Engine) -> list[Incident]:
    await engine.incidents.refresh()
    found = engine.incidents.all()
    return [one for one in found if _of(visit, one.damage.stream.tenant if one.damage.stream else "")]


async def _job(visit: Visit, engine: Engine, id_: str) -> Job:
    job = await engine.jobs.get(parse_uuid(id_, "id"))
    if not _of(visit, job.tenant):
        raise NotFound(f"there is no job {id_}", field="id", fix="choose one from the list")
    return job


async def _retry(visit: Visit, engine: Engine, id_: str) -> None:
    await engine.jobs.retry((await _job(visit, engine, id_)).job_id)


async def _cancel(visit: Visit, engine: Engine, id_: str) -> None:
    await engine.jobs.cancel((await _job(visit, engine, id_)).job_id)


async def _letter(visit: Visit, engine: Engine, id_: str) -> int:
    if not id_.isdecimal() or len(id_) > 18:
        raise InvalidInput("is not a dead letter", field="id", fix="choose one from the list")
    letter = await DeadLetters(engine.nats).get(int(id_))
    if not _of(visit, letter.tenant):
        raise NotFound(f"there is no dead letter {id_}", field="id", fix="choose one from the list")
    return letter.id


async def _replay(visit: Visit, engine: Engine, id_: str) -> None:
    outcome = await DeadLetters(engine.nats).replay(await _letter(visit, engine, id_))
    if isinstance(outcome, MnemologError):
        raise outcome


async def _discard(visit: Visit, engine: Engine, id_: str) -> None:
    await DeadLetters(engine.nats).discard(await _letter(visit, engine, id_))


async def _acknowledge(visit: Visit, engine: Engine, id_: str) -> None:
    if id_ not in {one.id for one in await _incidents(visit, engine)}:
        raise NotFound(f"there is no incident {id_!r:.80}", field="id", fix="choose one from the list")
    await engine.incidents.acknowledge([id_], visit.principal.name if visit.principal else OPERATOR)


async def _go_on(visit: Visit, engine: Engine, id_: str) -> None:
    name, _, wanted = id_.partition(" ")
    engine.projections.require(name)
    stopped = {str(stream): stream for stream in await engine.projections.stores[name].stopped()}
    if wanted not in stopped or not _of(visit, stopped[wanted].tenant):
        raise NotFound(f"no such stream is stopped in {name}", field="id", fix="choose one from the list")
    await engine.projections.retry(name, stopped[wanted])


Act = Callable[[Visit, Engine, str], Awaitable[None]]
ACTS: Mapping[str, tuple[str, Act]] = {
    "retry": ("/operations/jobs", _retry),
    "cancel": ("/operations/jobs", _cancel),
    "replay": ("/operations/letters", _replay),
    "discard": ("/operations/letters", _discard),
    "acknowledge": ("/operations/incidents", _acknowledge),
    "continue": ("/operations", _go_on),
}
