"""Prompts: loaded by name and version, and never changed once they were used."""

from hashlib import sha256
from importlib.resources import files

import pytest

from mnemolog.commands import prompts

# A change of a prompt is a new file with the next version. To add one: `sha256sum commands/prompts/*.md`.
PUBLISHED = {
    "answer.v1.md": "73464d16f87c17ecf353837028503d09b3bbfb05a773120deb189e8ec7a94cb5",
    "answer.v2.md": "6c1e73c9bdee76f52753c9d25a0c42a017bccaabc5c2a8b908b33e6a8772a6cf",
    "chunk_summary.v1.md": "5730fc6a36b2a76391453ca3df5d5bbac38e541e17ca919eb15b76b4643b322c",
    "consolidation.v1.md": "ae22f9ea3a6528f2a584f550409c477110ba3b9b2a8707fb6d8ccae4395fa44b",
    "curator.v1.md": "964cd369f29f8753e370487bb97614cf00873f9cddf0d972d121592153d0cc9a",
    "extraction.v1.md": "4d7e9f097a65006c5848d21b1da9f199ef3e4f4fc2ac8848d1fdd169b48d00cd",
    "extraction.v2.md": "66f10738423fc93b935d818ad802916fec993e78162c909a8cf0df37bb1a09d3",
    "file_summary.v1.md": "6603e8e333188690eb4f7f9e07842c7976450a6a850fa586814a8cc638a36d45",
    "final_summary.v1.md": "6e6fc7be09e269f6c4e5feb0970b5da17d1295c2f21c96e732c2d78a42168bc3",
    "image_description.v1.md": "4c9f1ef2f162b4d0bf7746967c978cb5b5e8466ec05f0870ca0a05ca98405254",
    "insights.v1.md": "a32ffc4a5a621dfb78dafb36c146e11911b4a28a761ce8209f5f7102a3eb2d25",
    "patrol_classify.v1.md": "a5b108952c520a7908105bdc04dac9dcce05c959ee68f4143bfe5c1a8694d481",
    "patrol_consolidate.v1.md": "2d6c36de20b87f1d5adee75fe2b54abc04f7ba86fab04f2548e2c1d2b144df98",
    "patrol_reflect.v1.md": "ec3f02b08616db0d95e8e689ae2dc566fde0fdd54f4b8fe6bfdfe5dcbc7b2f41",
    "patrol_split.v1.md": "b92e6ed6e74dce981a6a089572a71e5c1c1547b1d690cc4e28a30f9db0bc9c8d",
    "reflection.v1.md": "f0a116850a409ac1b72fa6b2143ed2581b0edad2bc452d5e8807426b3fb83a73",
    "reflection.v2.md": "9427ae750c759371fc36f2edd6b41fdc299f499de1112586b2e380bac34fd4a8",
    "rolling_summary.v1.md": "9551d30cbd3bd99c3aba8a8d5c1a237e2a16c0c74cf798b0864662f5def32840",
    "running_summary.v1.md": "25a40e7c67c41b0dac167662391576ed2cd8c6cb9f9bf72b1a403039bfa8201c",
    "session_summary.v1.md": "ffff51db67cbfd19e47bb6c7646904d7093a435bd70877af320ce8d4d64ba213",
    "spine_summary.v1.md": "9f6272cec3875707cd0c7d58d5fb23738a9c1d519feff919f622ba0376d9d6c2",
}


def test_no_published_prompt_changes() -> None:
    folder = files(prompts)
    found = {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.iterdir() if file.name.endswith(".md")}
    assert found == PUBLISHED


def test_the_latest_version_is_loaded_unless_another_is_named() -> None:
    prompt = prompts.load("image_description")
    assert prompt == prompts.load("image_description", version=prompt.version)
    assert prompt.text.startswith("You describe images")


@pytest.mark.spec_part("B09")
def test_extraction_is_asked_for_what_the_specification_asks_of_each_kind() -> None:
    text = " ".join(prompts.load("extraction", most=5, categories="note", predicates="lives_in").text.split())

    semantic = ("complete, self-contained", "third person", "no pronouns", "neutral tone", "one or two sentences")
    episodic = ("past tense", "discussed, decided or done", "without lasting facts unless they have changed")
    assert [one for one in (*semantic, "at most 280 characters", *episodic) if one not in text] == []


def test_values_replace_names_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "_versions", lambda name: {1: "old", 2: "At most $limit characters about $topic.\n"})
    assert prompts.load("any", limit=600, topic="$limit").text == "At most 600 characters about $limit."
    assert prompts.load("any", version=1).text == "old"
    with pytest.raises(KeyError, match="topic"):
        prompts.load("any", limit=600)


@pytest.mark.parametrize(("name", "version"), [("nothing", None), ("image_description", 99), ("image", None)])
def test_a_prompt_that_does_not_exist_is_an_error(name: str, version: int | None) -> None:
    with pytest.raises(LookupError, match="no prompt"):
        prompts.load(name, version=version)
