"""The doctor: what lags and goes on is well, what lags and stands is not."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog.adapters.cli import doctor
from mnemolog.adapters.cli.doctor import Finding, watched
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import now, open_engine
from mnemolog.adapters.openai.endpoint import FEATURES, endpoint_of
from mnemolog.adapters.postgres.pauses import Pause
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.model_server import error, model_server
from tests.testkit.settings import settings_in

AWAY = "http://127.0.0.1:9/v1"


def looks(*seen: int) -> Iterator[int]:
    yield from seen
    while True:
        yield seen[-1]


def test_findings_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    doctor.show([Finding(part, True, "well") for part in ("chat", "transcription")])

    assert [one.index("well") for one in capsys.readouterr().out.splitlines()[:2]] == [16, 16]


@pytest.mark.parametrize(
    ("seen", "well", "course"),
    [
        ((0,), True, ""),
        ((77, 77, 12), True, ", 65 fewer than before"),
        ((77, 90, 80), True, ", 10 fewer than before"),
        ((77, 0), True, ""),
        ((77,), False, ", no fewer after 15 s"),
        ((77, 78), False, ", no fewer after 15 s"),
    ],
)
async def test_a_lag_is_well_when_it_shrinks(
    seen: tuple[int, ...], well: bool, course: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LOOK_SECONDS", 0.001)
    found = looks(*seen)

    async def look() -> int:
        return next(found)

    lag = await watched(look, patience=60 if well else 0.05)

    assert (lag.well, lag.course) == (well, course)


async def test_without_models_it_says_what_is_skipped(tmp_path: Path) -> None:
    found = [await doctor._feature(load(data_dir=tmp_path), feature) for feature in FEATURES]
    assert all(finding.good and finding.found.startswith("no model") for finding in found)
    assert [finding.part for finding in found] == ["chat", "embedding", "vision", "transcription"]


async def test_models_are_asked_for_and_their_faults_name_the_fix(tmp_path: Path) -> None:
    async with model_server() as server:
        models = {"chat_model": "m-1", "vision_model": "m-2", "embedding_model": "m-3", "transcription_model": "m-1"}
        settings = load(data_dir=tmp_path, model_url=server.url, model_urls={"transcription": AWAY}, **models)
        found = {feature: await doctor._feature(settings, feature) for feature in FEATURES}
        assert found["chat"] == Finding("chat", True, f"m-1 at {server.url[7:-3]}")
        assert found["vision"].good
        assert (found["embedding"].good, "does not list" in found["embedding"].found) == (False, True)
        assert "cannot be reached" in found["transcription"].found
        assert "model_urls.transcription" in found["transcription"].fix
        server.replies.extend([error(401), error(404)])
        refused = await doctor._feature(settings, "chat")
        assert (refused.good, "401" in refused.found, refused.fix) == (False, True, "set a key that may use this model")
        assert (await doctor._feature(settings, "embedding")).good  # A server that lists no models.


async def test_the_tokens_of_the_day_are_shown(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, chat_model="m-1", model_url=AWAY, model_tokens_per_day=100)
    async with open_engine(settings, passive=True) as engine:
        endpoint = endpoint_of(settings, "chat")
        assert endpoint
        assert await doctor._tokens(engine) == Finding("tokens", True, "0 of 100 used today by tenant default")
        async with engine.models.budget.reserved("default", endpoint, 100) as spent:
            spent.add(90, 10)
        used = await doctor._tokens(engine)
        assert (used.good, used.found) == (False, "100 of 100 used today by tenant default")
        assert "model_tokens_per_day" in used.fix


async def test_unapplied_events_make_the_health_degraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PATIENCE", 0.3)
    settings = load(data_dir=tmp_path, durable=False, embedder="lexical", http_port=0, recall_seconds=0)
    async with open_engine(settings, passive=True) as engine:  # Its servers, and nothing that runs.
        await Person(engine, "ana").says("I moved to Lisbon")

        found = {finding.part: finding async for finding in doctor._running(engine)}

    assert not found["memories"].good
    assert "no fewer" in found["memories"].found
    assert "mnemolog projection status" in found["memories"].fix
    assert not found["relay"].good
    assert found["log"].good


async def test_a_paused_projection_is_not_well(tmp_path: Path) -> None:
    async with open_engine(settings_in(tmp_path)) as engine:
        await engine.projections.pause("history", Pause(now(), "ops"))
        ana, found = Person(engine, "ana"), dict[str, Finding]()

        async def behind() -> bool:  # It may finish the events that it has before it pauses.
            await ana.says("I live in Lisbon")
            found.update({one.part: one async for one in doctor._running(engine)})
            return re.match(r"[1-9]\d* events? behind: paused by ops", found["history"].found) is not None

        await eventually(behind)
    assert (found["history"].good, found["history"].fix) == (False, "run `mnemolog projection resume history`")
