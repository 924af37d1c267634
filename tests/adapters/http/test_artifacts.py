"""Files over HTTP: uploaded and downloaded as bytes, within the limit, and never as a page of this server."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.events.envelope import StreamId
from tests.adapters.http.conftest import Api

pytestmark = pytest.mark.spec_part("E05")


async def test_a_file_goes_up_and_comes_down_as_it_was(api: Api) -> None:
    page = b"<script>alert(1)</script>"
    params = {"user_id": api.user, "name": 'p"age é.html', "source_turn_ids": ["m1", "m2"]}
    headers = {"Content-Type": "application/json"}  # Whatever it says, the body is the file.
    made = await api.call("POST", "/v1/artifacts", 201, params=params, content=page, headers=headers)
    path = f"/v1/artifacts/{made['artifact_id']}"
    assert (await api.get(path))["source_turn_ids"] == ["m1", "m2"]
    answer = await api.http.get(f"{path}/content", params={"user_id": api.user})
    assert answer.content == page
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''p%22age%20%C3%A9.html"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await api.of("somebody-else").get(f"{path}/content", 404))["error"]["code"] == "not_found"


async def test_a_retry_with_the_same_key_is_one_artifact(api: Api, engine: Engine) -> None:
    sent = {"params": {"user_id": api.user}, "content": b"tea", "headers": {"Idempotency-Key": "one"}}
    first = await api.call("POST", "/v1/artifacts", 201, **sent)
    again = await api.call("POST", "/v1/artifacts", 201, **sent)
    assert (again["already"], again["artifact_id"]) == (True, first["artifact_id"])
    other = await api.call("POST", "/v1/artifacts", 409, **{**sent, "content": b"milk"})
    assert other["error"]["code"] == "idempotency_conflict"
    assert len([name async for name in engine.blobs.names(StreamId.of_user(api.user))]) == 1


async def test_a_link_needs_no_body_and_a_file_that_is_too_large_is_refused(api: Api, engine: Engine) -> None:
    params = {"user_id": api.user, "url": "https://example.org", "caption": "the recipe"}
    made = await api.call("POST", "/v1/artifacts", 201, params=params)
    found = await api.get(f"/v1/artifacts/{made['artifact_id']}")
    assert (found["type"], found["surrogate"].partition("] ")[2]) == ("link", "the recipe")
    assert (await api.get(f"/v1/artifacts/{made['artifact_id']}/content", 422))["error"]["field"] == "artifact_id"
    large = b"x" * (engine.settings.artifact_max_bytes + 1)
    await api.call("POST", "/v1/artifacts", 413, params={"user_id": api.user}, content=large)


async def test_a_label_with_a_nul_is_refused(api: Api) -> None:
    refused = await api.get("/v1/artifacts", 422, label="A7F\0C2")
    assert refused["error"]["field"] == "label"
