"""What schemathesis is told of this API: whose data is written to, how long reads may wait, and what no schema says."""

import json
import re
from typing import Any

import schemathesis
from schemathesis.checks import load_all_checks
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import positive_data_acceptance

load_all_checks()

USER = "ana"
LONGEST_WAIT = 0.05

# What is judged by what else is said or known, each with why: a 422 on one of these fields is no contract's fault.
JUDGED = {
    r"after": "whose write the token is of",
    r"cursor": "it is one of this list",
    r"as_of|known_at": "both of them say when",
    r"(.*\.)?(until|since|updated_before|importance_max)": "their order, and beside what they may stand",
    r"message_id": "what was shown to a message is recorded or not",
    r"(.*\.)?categor(y|ies\[\d+\])|agent_id": "the policy says which there are, and what an agent may read",
    r"importance|importance_scale": "its scale",
    r"(.*\.)?predicate": "it has a letter or a digit",
    r"(.*\.)?(subject|object|literal|name|alias|aliases\[\d+\]|about)": "a name has a character that is seen",
    r"(.*\.)?(metadata|attributes)": "no text or key within has a NUL",
    r"content\..*": "a part of a seed is a request of its own",
    r"experience\..*": "each part of a scene is judged by itself",
    r"decay_at": "a time to come, within a day",
    r"told_at": "what was told was not told in the future",
    r"absorbed_ids(\[\d+\])?|to_id": "nothing is merged with or linked to itself",
    r"(.*\.)?(memory_key|entity_refs.*|refs.*|type|entity_type|fact_type|kind|text)": "they are judged together",
}
# The same of one route alone: its path and the field.
JUDGED_THERE = {
    r"/v1/profile.* field": "the policy says which fields a profile has",
    r"/v1/(forget|erase-scope) (thread_id|with_episodes|scope)": "they go with one scope",
    r"/v1/rollback (of_run|of_batch|of_thread)": "exactly one of them",
    r"/v1/undo (memory_id|event_id)": "exactly one of them",
    r"/v1/artifacts (content|url)": "either a file or a URL",
    r"/v1/being/entries body.*": "the store says which fields an entry has",
    r"/v1/turns messages\[\d+\]\.content.*": "an attachment may stand for it, and each part is judged by its type",
    r"/v1/knowledge content": "the bytes show whether they can be read, whatever they are called",
    r"/v1/prove-erased (\w+_id|field)": "one thing at a time is proved to be erased",
    r"/v1/envelope/validate .*": "the fault of an envelope is the answer",
    r"/v1/why/\{id\} id": "a UUID, or the name of a field of the profile",
}
_JUDGED, _JUDGED_THERE = (
    re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.DOTALL) for patterns in (JUDGED, JUDGED_THERE)
)


@schemathesis.hook
def before_call(context: Any, case: Any, **kwargs: Any) -> None:
    """Valid requests meet in one user's data, and no read waits for long for a write that nobody makes."""
    for part in (case.query, case.body):
        if isinstance(part, dict) and ("after" in part or _number(part.get("deadline")) > LONGEST_WAIT):
            part["deadline"] = LONGEST_WAIT
    if case.operation.path.endswith("/changes/stream") and isinstance(case.query, dict):
        waits = case.query.setdefault("wait", 0)
        case.query["wait"] = 0 if _number(waits) > LONGEST_WAIT else waits
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for part in (case.query, case.body):
        if isinstance(part, dict) and isinstance(part.get("user_id"), str):
            part["user_id"] = USER


@schemathesis.check
def valid_requests_are_accepted(context: Any, response: Response, case: Any) -> bool | None:
    """As `positive_data_acceptance`, but for what no schema can say."""
    if response.status_code == 422:
        field = _field(response)
        if _JUDGED.fullmatch(field) or _JUDGED_THERE.fullmatch(f"{case.operation.path} {field}"):
            return None
    return positive_data_acceptance(context, response, case)


@schemathesis.check
def errors_are_typed(context: Any, response: Response, case: Any) -> bool | None:
    """Every answer that is no success has a code and a message, and says of no value that it is undefined."""
    if response.status_code >= 400 and case.method != "HEAD":
        error = json.loads(response.content)["error"]
        assert error.keys() >= {"code", "message", "field", "fix"}, error
        assert error["code"] != "error", error
    return None


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0


def _field(response: Response) -> str:
    return str(json.loads(response.content)["error"]["field"])
