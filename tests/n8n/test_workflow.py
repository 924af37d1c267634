"""The workflow of the fast brain, as far as it can be checked without n8n: `make test-n8n` runs it."""

import json
import re

import pytest

from mnemolog.adapters.operations.respond import Respond, respond
from tests.n8n.n8n import SOURCE

WORKFLOW = json.loads((SOURCE / "workflows" / "fast-brain.json").read_text())
NODES = {node["name"]: node for node in WORKFLOW["nodes"]}


@pytest.mark.spec_part("A16")
def test_the_workflow_gives_the_operation_fields_that_it_has() -> None:
    given = dict(NODES["Fast brain"]["parameters"])
    assert (given.pop("resource"), given.pop("operation")) == ("main", respond.name)
    options = given.pop("options")
    fields = {**given, **options}
    required = {name for name, field in Respond.model_fields.items() if field.is_required()}
    assert required <= set(fields) <= set(Respond.model_fields)


def test_the_operation_is_given_what_was_identified() -> None:
    identified = {one["name"] for one in NODES["Identify"]["parameters"]["assignments"]["assignments"]}
    asked = set(re.findall(r"\$json\.(\w+)", json.dumps(NODES["Fast brain"]["parameters"])))
    assert asked <= identified


def test_the_messages_of_strangers_are_refused() -> None:
    assert NODES["Message"]["parameters"]["authentication"] == "headerAuth"
