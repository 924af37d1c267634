"""Text in any script."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import clean, count_tokens, normalize_name, search_document, search_terms

SCRIPTS = "aéßøŁđ İı Ωάς Ёйї אָב אً أئؤآٱـ हिंदी ไทย์ 漢字かガ 한국 '’- ﬁ½ \u0301\u0345\u200d\ufe0f 1٣"
any_text = st.text() | st.text(st.sampled_from(SCRIPTS))
storable_text = st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from(SCRIPTS))


def words(text: str) -> list[str]:
    return search_document(text).split(" ")


@pytest.mark.spec("A07")
@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("Marta", "marta"),
        ("Márta  KOVÁCS\n", "marta kovacs"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("Ærøskøbing", "aeroskobing"),
        ("Đặng Thị Ngọc", "dang thi ngoc"),
        ("Þórður", "thordur"),
        ("İSTANBUL ılık", "istanbul ilik"),
        ("Œuvre ﬁnale", "oeuvre finale"),
        ("Ὀδυσσεύς", "οδυσσευσ"),
        ("O’Brien‑Smith", "o'brien-smith"),
        ("e\u0301 é", "e e"),
        ("Ａｎａ", "ana"),
        ("An\u00ada\u200b", "ana"),
    ],
)
def test_names_lose_case_accents_and_spacing(name: str, normal: str) -> None:
    assert normalize_name(name) == normal


@pytest.mark.spec("A07")
@pytest.mark.parametrize(
    "name", ["हिन्दी", "ไม่", "தமிழ்", "বাংলা", "ދިވެހި", "မြန်မာ", "ខ្មែរ", "ガギグ", "한국어", "སྐད", "сергей", "київ", "مؤمن"]
)
def test_marks_that_carry_letters_stay(name: str) -> None:
    normal = normalize_name(name)

    assert unicodedata.normalize("NFKC", normal) == unicodedata.normalize("NFKC", name)


@pytest.mark.spec("A07")
@pytest.mark.parametrize(
    ("one", "other"),
    [("أَحْمَد", "احمد"), ("مُؤَذِّن", "مؤذن"), ("محـــمد", "محمد"), ("שָׁלוֹם", "שלום"), ("Алёна", "алена"), ("Ива́н", "иван")],
)
def test_marks_that_writers_may_leave_out_do_not_part_names(one: str, other: str) -> None:
    assert normalize_name(one) == normalize_name(other)


@pytest.mark.spec("A07")
@pytest.mark.parametrize(("one", "other"), [("мой", "мои"), ("ії", "іі"), ("は", "ば"), ("का", "की"), ("ใกล้", "ไกล")])
def test_other_letters_are_other_names(one: str, other: str) -> None:
    assert normalize_name(one) != normalize_name(other)


@pytest.mark.spec("A07")
@given(any_text)
def test_normalizing_twice_changes_nothing(name: str) -> None:
    normal = normalize_name(name)

    assert normalize_name(normal) == normal


@pytest.mark.spec("A07")
@given(any_text)
def test_a_name_with_any_visible_character_never_vanishes(name: str) -> None:
    assert bool(normalize_name(name)) == bool(name.strip())


def test_every_letter_keeps_something_and_is_stable() -> None:
    letters = (chr(code) for code in range(0x20000) if unicodedata.category(chr(code))[0] == "L")

    assert [c for c in letters if not (normal := normalize_name(c)) or normalize_name(normal) != normal] == []


def test_clean_strips_and_keeps_the_rest() -> None:
    assert clean("  Ana moved\nto Lisbon \t", "text") == "Ana moved\nto Lisbon"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "must be text, not NoneType"),
        (b"Ana", "must be text, not bytes"),
        ("", "is empty"),
        (" \n\u3000", "is empty"),
        ("A\0na", "NUL"),
        ("half \ud83d", "UTF-8"),
    ],
)
def test_clean_says_what_is_wrong_where_and_what_to_do(value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        clean(value, "memory.text")

    assert refused.value.field == "memory.text"
    assert refused.value.fix


def test_clean_counts_bytes_not_characters_and_says_both_sizes() -> None:
    assert clean("é" * 5, "text", max_bytes=10) == "ééééé"
    with pytest.raises(InvalidInput, match=r"262,146 bytes.*262,144"):
        clean("é" * 131_073, "text")


def test_refused_text_does_not_ride_along_in_the_error() -> None:
    with pytest.raises(InvalidInput) as refused:
        clean("secret \ud83d", "text")

    assert refused.value.__suppress_context__
    assert "secret" not in str(refused.value)


def test_terms_are_normalized_words_without_stop_words() -> None:
    assert search_terms("I don't know where Ana’s café in Łódź is, Ana!") == ("know", "ana", "cafe", "lodz")


def test_names_that_look_like_stop_words_are_found() -> None:
    assert search_terms("Will and Don") == ("will", "don")


@pytest.mark.parametrize("text", ["to be or not to be", "The Who", "don't"])
def test_stop_words_stay_when_nothing_else_remains(text: str) -> None:
    assert search_terms(text)


@pytest.mark.parametrize("text", ["", "?!", "🎉", "\ud83d"])
def test_text_without_words_has_no_terms(text: str) -> None:
    assert search_terms(text) == ()
    assert search_document(text) == ""


@pytest.mark.parametrize(
    ("document", "question"),
    [
        ("昨日、黒猫が東京タワーに登った。", "東京"),
        ("昨日、黒猫が東京タワーに登った。", "猫"),
        ("我搬到里斯本了", "里斯本"),
        ("나는 서울에서 살아요", "서울"),
        ("ฉันย้ายไปกรุงเทพเมื่อวาน", "กรุงเทพ"),
        ("मैं हिन्दी सीख रहा हूँ", "हिन्दी"),
        ("انتقل أَحْمَد إلى القاهرة", "احمد"),
        ("Сергей переехал в Киев", "КИЕВ"),
        ("iPhoneを買った", "iphone"),
        ("order id-4711/B by ana@example.com", "4711"),
    ],
)
def test_a_word_is_found_inside_any_script(document: str, question: str) -> None:
    assert set(search_terms(question)) <= set(words(document))


def test_marks_do_not_cut_words() -> None:
    assert search_terms("हिन्दी में") == ("हिन्दी", "में")


@given(any_text)
def test_whatever_a_text_is_searched_by_is_in_its_document(text: str) -> None:
    assert set(search_terms(text)) <= set(words(text))


@given(any_text)
def test_a_document_is_words_and_single_spaces(text: str) -> None:
    document = search_document(text)

    assert document == " ".join(document.split())
    assert {unicodedata.category(c)[0] for c in document.replace(" ", "")} <= {"L", "M", "N"}
    assert "\0" not in document
    document.encode()


def test_a_document_keeps_repetition() -> None:
    assert search_document("tea, Tea and téa") == "tea tea tea"


def test_documents_and_terms_stay_within_what_postgres_indexes() -> None:
    ideographs = "".join(chr(0x4E00 + (index * 7919) % 20000) for index in range(87_000))
    document = search_document(ideographs)

    assert len(document.encode()) <= 512 * 1024
    assert {len(term) for term in document.split(" ")} == {1, 2}
    assert max(len(term.encode()) for term in search_terms("ก" + "\u0e48" * 5000 + "𝒳" * 5000 + "𐐨" * 5000)) <= 2000
    assert search_document(f"tea {'a' * 500} {'b' * 501} {'c' * 1001}").split() == [
        "tea",
        "a" * 500,
        "b" * 500,
        "c" * 500,
    ]


@pytest.mark.spec("B06")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Ana", 1),
        ("Ana moved to Lisbon, remembers Zoë.", 9),
        ("我搬到里斯本了", 7),
        ("2026-01-03", 6),
        ("Привет", 3),
        ("🎉", 2),
        ("a\n\n\n\nb", 4),
    ],
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@pytest.mark.spec("B06")
@given(any_text, any_text)
def test_a_longer_text_never_counts_fewer_tokens_nor_more_than_its_parts(head: str, tail: str) -> None:
    whole = count_tokens(head + tail)

    assert max(count_tokens(head), count_tokens(tail)) <= whole <= count_tokens(head) + count_tokens(tail) + 1


@given(storable_text.filter(str.strip))
def test_every_visible_character_costs_something(text: str) -> None:
    visible = [c for c in text if unicodedata.category(c)[0] in "LNPS"]

    assert bool(count_tokens(text)) >= bool(visible)


def test_importing_text_pulls_in_the_standard_library_only() -> None:
    module = sys.modules["mnemolog.domain.text"]
    roots = {getattr(value, "__module__", "") or "" for value in vars(module).values()}

    assert {root.split(".")[0] for root in roots} <= sys.stdlib_module_names | {"", "mnemolog"}
