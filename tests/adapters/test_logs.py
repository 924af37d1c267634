"""Logs for programs: a JSON object a line."""

import json
import logging
from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.logs import JsonFormatter
from tests.adapters.cli.command import mnemolog
from tests.adapters.principals.keys import calling


@pytest.mark.spec("X24")
def test_a_record_is_one_object_on_one_line_with_its_exception() -> None:
    try:
        raise ValueError("made up\non two lines")
    except ValueError as error:
        record = logging.LogRecord("mnemolog.relay", logging.ERROR, "", 1, "gave up on %s", ("ü",), None)
        record.exc_info = (type(error), error, error.__traceback__)

    line = JsonFormatter().format(record)

    told = json.loads(line)
    assert "\n" not in line
    assert (told["level"], told["logger"], told["message"]) == ("error", "mnemolog.relay", "gave up on ü")
    assert told["ts"].endswith("+00:00")
    assert "made up\non two lines" in told["exception"]


@pytest.mark.spec("X24")
async def test_a_request_is_logged_with_its_operation_and_without_its_user(
    engine: Engine, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mnemolog.http.requests"):
        async with calling(engine, None) as http:
            await http.get("/v1/memories/no-id", params={"user_id": user})

    [told] = [json.loads(JsonFormatter().format(one)) for one in caplog.records if one.name.endswith("requests")]
    assert {name: told[name] for name in ("method", "operation", "status", "caller")} == {
        "method": "GET",
        "operation": "get",
        "status": 422,
        "caller": "",
    }
    assert told["milliseconds"] > 0
    assert user not in json.dumps(told)


async def test_commands_log_as_the_setting_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMOLOG_LOG_FORMAT", "yaml")

    refused = await mnemolog(tmp_path, "config", "--json")

    assert (refused.code, refused.value["error"]["field"]) == (2, "log_format")
