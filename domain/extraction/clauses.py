"""The clauses in which a user states something: no questions, conditions, quotes or speculation (E06)."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mnemolog.domain.extraction import rule
from mnemolog.domain.extraction.corrections import contrasted, correction
from mnemolog.domain.extraction.denials import denials
from mnemolog.domain.extraction.figures import COST
from mnemolog.domain.extraction.times import DAY, LASTING, MONTH, POINT, is_time
from mnemolog.domain.extraction.together import apart
from mnemolog.domain.extraction.vocabulary import (
    AGES,
    AILMENTS,
    DIETS,
    NOTHING_BUT,
    ONE_OF,
    PARENTS,
    PETS,
    ROLE_WORDS,
    SOME_OF,
    VERBS,
)
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import NOT_A_TITLE

LONGEST = 2000
"""The characters of a message that are read: what is longer is a document, and its author may be somebody else."""


@dataclass(frozen=True, slots=True)
class Clause:
    """`corrects`: the sentence says that something before was wrong. `denies`: that this never was so. `before`: the sentences before it, and what its own
    says before it. `wrong`: the name that it says was wrong. `amends`: it begins as a correction may, such as "Sorry".
    `takes_back`: it says that the sentence before it is not so, and why if there is a text. `is_sentence`: a whole
    sentence, of which only what it mentions or takes for granted is read; it may ask or speculate.
    """

    text: str
    corrects: bool = False
    before: tuple[str, ...] = ()
    denies: bool = False
    wrong: str = ""
    amends: bool = False
    takes_back: bool = False
    is_sentence: bool = False


def beginning(text: str) -> str:
    """The sentences of a message that are read."""
    return text if len(text) <= LONGEST else text[: max(text.rfind(end, 0, LONGEST) for end in ".!?\n") + 1]


def clauses(text: str, names: Collection[str] = ()) -> Iterator[Clause]:
    """The clauses of a message that may state something about its author, without what leads up to them.

    `names`: of people and animals, which somebody who types in small letters may write so.
    """
    if found := _TEXT_FOLLOWS.search(text):
        text = "\n".join([text[: found.end()], *_own_allergies(found[0], text[found.end() :])])
    text = _SMILEY.sub(lambda one: "" if one["ended"] else ".", text)
    plain = _QUOTED.sub(
        ' "" ', _capitalised(_quietly(_apostrophes(_FIANCE.sub("e", text.translate(_TYPOGRAPHY)))), names)
    )
    plain = _IN_LAW.sub(
        "-in-law", _AGE.sub("", _NAMESAKE.sub(lambda one: one[0] if one["role"] else "somebody", plain))
    )
    plain = _ON_DAY.sub(r"\g<where> on ", _WEEKDAY.sub("", plain))
    if _SAID_YES.search(plain):
        plain = _PROPOSED.sub(r"I got engaged to \g<name>", _SAID_YES.sub("", plain))
    plain = _OF_A_TITLE.sub(r"\g<kin>", plain)
    if _JEST.search(plain) or _ANOTHER_WRITES.match(plain):
        return
    sentences = sentences_of(plain.replace(" - not ", ", not "))
    for place, sentence in enumerate(sentences):
        if meant := correction(sentence.strip()):
            yield Clause(meant.right, corrects=True, before=sentences[:place], wrong=meant.wrong, amends=True)
            continue
        if place and (found := _TAKES_BACK.match(sentence)) and not sentences[place - 1].endswith("?"):
            yield Clause(found["why"] or "", before=sentences[:place], takes_back=True)
        if place < _GREETED and (found := _IS_HERE.match(sentence)):
            yield Clause(f"my name is {found['name']}")
            sentence = sentence[found.end() :]
        if place < _GREETED:
            sentence = _INTRODUCED.sub(_of_age, sentence)
        stated, corrects = _opened(
            _certain(_for_reader(_ASIDE.sub("", _no_more(sentence.strip(), sentences[:place], plain))))
        )
        stated = _REASON.sub(r"\g<fact>,", stated)
        amends = corrects or _AMENDS.match(sentence) is not None
        stated, other_time = _NOT_THEN.subn("", stated)
        corrects = corrects or bool(other_time)
        stated, wrong = (stated, "") if _OF_TRIP.match(stated) else contrasted(stated)
        stated, denied = denials(stated)
        if not sentence.endswith("?"):
            yield from (Clause(one.strip(), before=sentences[:place], denies=True) for one in denied)
        stated = _IT_IS_WHO.sub(r"\g<who>", stated)
        stated = _ABOUT_ME.sub(_of_me, _NOTHING_BUT.sub("allergic to", stated))
        stated = _completed(stated, sentences[:place])
        if _KIDS.match(stated):
            stated = _AGE_OF_KID.sub("", stated)
            stated = stated if _OWN_KIDS.match(stated) else f"my {stated[0].lower()}{stated[1:]}"
        stated = _WITH_ME.sub("I have ", _ROLE_HERE.sub(r"\1", stated))
        stated = _BARE_ROLE.sub("my ", _NEW_ROLE.sub("my new ", _KIN.sub(r"my \1\2", stated)))
        stated = _WISHED.sub("call me ", _SO_I_GUESS.sub(r", I'm \1", _HEDGED.sub("I'm ", stated)))
        stated = _TAKING_IT.sub(r"accepted an offer from \g<firm>", _EMPHATIC.sub("", stated))
        stated = _TOLD_TO_STOP.sub("I stopped ", _DIAGNOSED.sub(_found_not_to_be, stated))
        stated = _RELEASED.sub(r"\g<fact> ", stated)
        stated, replaced = _NOT_BUT.subn(r"\1 \2 ", stated)
        corrects = corrects or bool(replaced)
        stated = _SHOULD_BE.sub("it's ", stated) if amends else stated
        stated = _SIMILE.sub("", _SINCE_SMALL.sub(" for ages", _since_childhood(stated)))
        stated = _APPARENTLY.sub("", stated).strip() if _OWN_HEALTH.match(stated) else stated
        whole = Clause(stated, before=sentences[:place], is_sentence=True)
        if not stated or stated.endswith("?") or _SPECULATION.search(stated):
            yield whole
            continue
        laughs = _LAUGHTER.search(stated) is not None
        stated = _LAUGHTER.sub("", stated).strip() if laughs else stated
        in_earnest = _IN_EARNEST.search(stated) is not None
        occasion = _OCCASION.match(stated)
        stated = stated[occasion.end() :] if occasion and not is_time(occasion[0].rstrip(", ")) else stated
        led = _LED.match(stated)
        stated = f"{led[1]} {stated[led.end() :]}" if led and is_time(led[1]) else stated
        own = _OWN.match(stated) is not None
        stated = _NOT_SO.sub(", I'm not ", stated)
        stated = _ON_DRUG.sub(", I'm on " if own else " and is on ", stated)
        said, being = "", False
        parts = _parts(stated, plain)
        for number, part in enumerate(parts, 1):
            before = (*sentences[:place], said)
            said = f"{said}, {part}" if said else part
            clause, again = _opened(part)
            own = _OWN.match(clause) is not None or (own and not _OTHERS.match(clause))
            goes_on = bool(said) and _NOW_AT.match(part) is not None and not own and " & I " not in before[-1]
            subject = _SHE if re.match(_IS_SO, part) else _SUBJECT
            who = (subject.match(parts[number - 2]) or _SUBJECT.match(before[-1])) if goes_on else None
            clause = (
                f"{who[0]} {'now ' if part.startswith('now ') else ''}{clause.removeprefix('now ')}" if who else clause
            )
            clause = f"I {clause}" if own and _VERB.match(clause) else clause
            being = _BEING_ONE.match(clause) is not None or (being and _AM.match(clause) is not None)
            clause = f"I'm {clause}" if being and _AM.match(clause) else clause
            clause = f"I have {clause}" if own and _PET.match(clause) else clause
            clause = f"they {treated['does']}" if (treated := _TREATS_ME.match(clause)) else clause
            clause = _NEW_ROLE.sub("my new ", _TREATED.sub(r"\1 my ", _KIN.sub(r"my \1\2", clause)))
            in_jest = laughs and number == len(parts) and not in_earnest and not _RELATIVE.match(clause)
            is_given = rule.GIVES.search(before[-1]) and _RELATIVE.fullmatch(clause.rstrip(" .!"))
            if clause and not (in_jest or is_given or _NEVER.search(clause)):
                clause = _in_present(clause.strip(" .!,;:"))
                yield Clause(clause, corrects or again, before, wrong=wrong, amends=amends or again)
        if not corrects:
            yield whole


def _parts(sentence: str, message: str) -> Sequence[str]:
    """The clauses of a sentence, one of each of those of whose health it tells at once."""
    if together := apart(sentence, message):
        before, each, rest = together
        shared, *others = _JOINT.split(rest)
        return [*filter(None, _JOINT.split(before)), *(f"{one}{shared}" for one in each), *others]
    sentence = _ME_AND.sub(lambda found: f"{found[1] or found[2].capitalize()} & I ", sentence)
    return _JOINT.split(_COUPLE.sub(r"\1 & I ", sentence))


def _own_allergies(announced: str, text: str) -> Sequence[str]:
    """What a text that somebody wants checked says of their allergies: "Can you check this?" of a letter is of their own."""
    if _TO_CHECK.match(announced) is None:
        return ()
    return [one for one in sentences_of(text) if _OWN_ALLERGY.match(one) and _IN_EARNEST.search(one)]


def _apostrophes(text: str) -> str:
    """
    >>> _apostrophes("im vegan, shes not and theyre sure that we dont mind")
    "i'm vegan, she's not and they're sure that we don't mind"
    """
    text = DROPPED_G.sub(r"\1ing", _IN_SHORT.sub(lambda found: _SHORT[found[0].lower()], text))
    for form in _CONTRACTED:
        text = form.sub(r"\1'\2", text)
    return text


def _quietly(text: str) -> str:
    """What is said in capitals in small letters: they do not tell which of its words are names.

    >>> _quietly("Oh no. MY MUM HAS ASTHMA, she's in A&E")
    "Oh no. my mum has asthma, she's in A&E"
    """
    return _SHOUTED.sub(lambda found: found[0].lower(), text)


def is_in_small(text: str) -> bool:
    """Whether somebody types names in small letters."""
    return text[:1].islower() or _SMALL_I.search(text) is not None


def _capitalised(text: str, names: Collection[str] = ()) -> str:
    """The names of places and of whom somebody calls something in capitals, for authors who type in small letters.

    >>> _capitalised("i live in leeds with a cat called mog")
    'i live in Leeds with a cat called Mog'
    >>> _capitalised("kaias on neocate, will will see", ["Kaia", "Will"])
    "Kaia's on neocate, will will see"
    """
    text = _DOCTOR.sub("Dr ", text)
    if not is_in_small(text):
        return text
    known = {one.lower(): one for one in names if one.isalpha() and len(one) > _SHORT_NAME} if names else {}
    if words := "|".join(sorted(known.keys() - _ALSO_WORDS, key=len, reverse=True)):
        text = re.sub(
            rf"\b(?P<name>{words})(?P<its>'?s(?= \w))?\b",
            lambda one: known[one["name"]] + ("'s" if one["its"] else ""),
            text,
        )
    text = _SMALL_NAME.sub(
        lambda found: f"{found['frame']}{_INITIAL.sub(lambda one: one[0].upper(), found['small'])}", text
    )
    text = _TWO_WORDS.sub(lambda found: _INITIALS.sub(lambda one: one[0].upper(), found[0]), text)
    text = _SMALL_RELATIVE.sub(lambda found: f"{found[1]}{found[2].capitalize()}", text)
    text = _SMALL_DOCTOR.sub(lambda found: f"Dr {found[1].capitalize()}", text)
    return _SMALL_SUBJECT.sub(lambda found: found[0].capitalize(), text)


def sentences_of(text: str) -> tuple[str, ...]:
    """
    >>> sentences_of("I saw Dr. Lang. He is new!")
    ('I saw Dr. Lang.', 'He is new!')
    """
    return tuple(one for one in _END.split(text) if one)


def _certain(sentence: str) -> str:
    """A sentence up to a second one that only says what somebody may do, or asks for something: "I live in Porto, but I
    might move", "I'm vegan, so what can I cook?".
    """
    if found := _REQUEST.match(sentence):
        sentence = found["fact"] or found["told"]
    sentence = _MUSING.sub("", sentence)
    found = _SECOND.search(sentence)
    if not found or _SPECULATION.search(sentence[: found.start()]) or not _INTENT.search(sentence[found.start() :]):
        return sentence
    return sentence[: found.start()]


def _for_reader(sentence: str) -> str:
    """What a sentence says of what one cannot have, without when the reader should think of it: "If you cook, I can't
    have nuts" is so whether anybody cooks or not.
    """
    sentence = _IF_READER.sub("", _SAID_BEFORE.sub("", sentence))
    return found["fact"] if (found := _IF_READER_DOES.match(sentence)) else sentence


def _since_childhood(sentence: str) -> str:
    """A sentence without how somebody came to know of an allergy: "I'm allergic to bees, one nearly killed me as a child"."""
    if (found := _ALLERGIC_SINCE.match(sentence)) is None or _TAKEN_BACK.search(found["rest"]):
        return sentence
    return sentence if _SPECULATION.search(_OF_THE_PAST.sub("", sentence)) else found["fact"]


def _in_present(clause: str) -> str:
    """What is said to have lasted since a day, or for so long by now, in the present tense.

    >>> _in_present("I've worked at Acme for ten years"), _in_present("my brother's lived in Oslo since 2021")
    ('I work at Acme for ten years', 'my brother lives in Oslo since 2021')
    """
    clause, always = _ALWAYS.subn("", _BEEN_ALLERGIC.sub("'m", clause))
    if not (always or LASTING.search(clause)) or _IS_OVER.search(clause):
        return clause
    clause = _BEEN_AT.sub(r"\g<who> work at ", clause)
    return _PERFECT.sub(lambda found: f" {_PRESENT[found['verb'].lower()][found['third'] is not None]}", clause)


def _of_age(found: re.Match[str]) -> str:
    """What somebody says of themselves behind their name: "I'm Ana, 34, nurse in Graz"."""
    return f"{found['who']}, I'm {found['age']}{', I am a ' if found['as'] is not None else ''}"


def _found_not_to_be(found: re.Match[str]) -> str:
    """What a test says that the author has not, as they would say it: "the test came back: not lactose intolerant"."""
    return f"{'' if found['who'] or found['fact'].lower().startswith('i ') else 'I am '}{found['fact']} after all"


def _of_me(found: re.Match[str]) -> str:
    """What follows "Things you should know about me:" without it."""
    return "I'm " if _BEING.match(found.string, found.end()) else ""


def _completed(sentence: str, before: Sequence[str]) -> str:
    """A sentence without its subject, as people write of themselves: "Moved to Lisbon last week".

    What one is may be somebody else, of whom the sentence before it speaks.
    """
    first = not before
    of_another = _PRONOUN.search(" ".join(before)) is not None
    if (day := _OWN_DAY.match(sentence)) and (first or (day["last"] and not of_another)):
        return f"my {sentence}"
    if (first or _MOVED.match(before[-1])) and _OWN_THING.match(sentence):
        return f"my {sentence}"
    of_others = _OF_OTHERS.search(" ".join(before)) is not None
    if (planned := _PLANNED.match(sentence)) and (first or (planned["moved"] and not of_others)):
        return f"the {sentence}"
    if (first or not of_others) and _CHILDREN.match(sentence):
        return f"I have {sentence[0].lower()}{sentence[1:]}"
    found = _ELLIPSIS.match(sentence)
    tells_of = _OF_ANOTHER.search if found and found[0].lower() == "off" else _TELLS_OF.match
    if found and before and tells_of(before[-1]) and not _OF_AUTHOR.search(before[-1]):
        return sentence
    being = _BEING.match(sentence)
    goes_on = (
        not first
        and being
        and being[0].startswith("on ")
        and _OF_AUTHOR.search(before[-1])
        and not _OF_ANOTHER.search(" ".join(before))
    )
    if found is None and not (first and being) and not goes_on:
        return sentence
    subject = "I" if found and not found["doing"] else "I'm"
    return f"{subject} {sentence[0].lower()}{sentence[1:]}"


def _no_more(sentence: str, before: Sequence[str], message: str) -> str:
    """Who takes a medication no longer: the only relative of whom is told before, or else the author."""
    if (found := _SO_NO_MORE.search(sentence)) is None or _OUT_OF_STOCK.search(message):
        return sentence
    said = " ".join((*before, sentence[: found.start()]))
    relatives = {(one["parent"] or one["kin"]).lower() for one in _A_RELATIVE.finditer(said)}
    if len(relatives) > 1 or (not relatives and _SHE_OR_HE.search(said)):
        return sentence
    over = f"so my {relatives.pop()} no longer takes" if relatives else "so I no longer take"
    return f"{sentence[: found.start()]} {over} {found['drug']}{sentence[found.end() :]}".strip()


def _opened(sentence: str) -> tuple[str, bool]:
    """A sentence without its interjections, and whether one of them announces a correction."""
    corrects = False
    while found := _OPENING.match(sentence):
        corrects = corrects or found["corrects"] is not None
        sentence = sentence[found.end() :].strip()
    return sentence, corrects


# What follows these is a text of somebody else, or one that is to be worked on: "Fix my English:\nI live in Oslo".
_TEXT = (
    r"(?:e-?mail|letter|novel|story|chapter|essay|poem|lyrics|script|scene|speech|paragraph|sentences?|text|message|post|bio|cv|resum[eé]"
    r"|draft|homework|exercise|translation|grammar|spelling|english|dialogue|transcript)\b"
)
_FICTION = r"(?:novel|(?<!long )(?<!short )story|chapter|essay|poem|script|scene|speech|homework|dialogue)\b"
_TEXT_FOLLOWS = lazy_compile(
    r"\b(?:fix|improve|check|correct|edit|polish|shorten|simplify|proofread|rephrase|reword|rewrite|translate|summari[sz]e|review|continue"
    rf"|reply to|respond to)\b[^\n.:!?]{{0,40}}?\b(?:{_TEXT}[^\n.:!?]{{0,40}}|(?:this|these|it|following|below)(?: (?:for me|please))*)[.:!?]*(?:\n|(?<=:) )"
    rf"|\b(?:here's|here is)\b[^\n.:!?]{{0,40}}?\b{_FICTION}[^\n.:!?]{{0,30}}[.:!?]+\s"
    rf"|^[^\n.!?]{{0,40}}\b{_TEXT}[^\n.:!?]{{0,30}}:\s*\n|\b(?:wrote|writes|replied|says|said)(?: (?:this|that|me|back))*:\s*\n"
    r"|^(?:(?:subject|from|to|re):|(?:fwd?|forwarded)\b)[^\n]{0,60}\n",
    re.IGNORECASE | re.MULTILINE,
)
_TO_CHECK = lazy_compile(
    r"(?:check|proofread|review|improve|polish)(?: over| through)? (?:this|these|it)(?: (?:over|for me|please))*\W*$",
    re.IGNORECASE,
)
_OWN_ALLERGY = lazy_compile(r"i(?:'m| am) (?:\w+ly )?allergic to\b", re.IGNORECASE)
_SHOUTED = lazy_compile(r"(?<![\w'&])(?:[A-Z][A-Z']*,? ){2,}[A-Z][A-Z']+(?![\w'&])")
_TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "—": "-", "…": "."})
_SMILEY = lazy_compile(r"(?:(?<=(?P<ended>[.!?,]))| |(?<=\w)) ?:'?-?[()D](?=\s|$)")
_FIANCE = lazy_compile("(?<=fianc)é", re.IGNORECASE)
_SHORT_NAME = 2
# Names that are words as well.
_COMMON_WORDS = (
    "will may mark rose grace bill joy hope dawn art sue pat jack drew chase miles frank guy nick ray gene dean penny ruby"
    " amber violet iris lily daisy ivy april june august summer autumn sky robin holly heather hazel olive ginger pepper"
    " biscuit cookie honey sunny lucky buddy angel faith charity rob ash clay cliff rich victor page bob don sandy misty"
    " shadow smokey jet star storm bear tiger princess duke king queen smudge patch spot socks mum mom dad"
)
_ALSO_WORDS = frozenset(_COMMON_WORDS.split())
# Who writes "i" for "I" writes names in small letters, too.
_SMALL_I = lazy_compile(r"(?<![\w'.&/-])i(?:'m|'ve|'ll|'d)?(?= [a-z])")
_NO_SMALL_NAME = (
    "a|an|the|my|our|your|his|her|their|this|that|these|those|it|its|me|us|you|him|them|and|or|but|so|not|no|all|any|some|one|two"
    "|bed|work|school|uni|university|college|town|city|cities|home|houses?|flats?|halls?|places?|rooms?|shared|rented|student"
    "|fear|hope|peace|denial|harmony|sin|poverty|luxury|limbo|style|comfort|chaos|silence|tears|the|what|where|which|how|here"
    "|there|now|constant|total|complete|separate|different|new|bigger|smaller|better|part|front|general|fact|with|between|outside"
    "|near|next|another|temporary|hotels?|tents?|vans?|caravans?|boats?|each|every|such|more|less|something|anything|wfh"
    "|myself|himself|nights?|weekends?|weekdays|sea|minimum|height|least|most|random|months?|years?|weeks?|days?|hours?|people|someone"
    "|somebody|clients?|charity|government|council|startups?|factories|restaurants?|bars?|shops?|cafes?|hospitals?|retail|local|big"
    "|small|good|great|nine|eight|seven|six|ten|five|half|noon|midnight|dawn|dusk|once|last|first|tips|money|food|free|cash|pay"
    "|lunch|dinner|reception|customs|friends|family|mum|mom|dad|uncle|several|many|various|both|large|monday|tuesday|wednesday"
    "|thursday|friday|saturday|sunday|tomorrow|today|easter|christmas|zero|scratch|about|around|over|under|god|life|love|fun"
    "|reality|january|february|march|april|may|june|july|august|september|october|november|december|summer|winter|autumn|spring"
)
_INITIAL = lazy_compile(r"(?:^|(?<=-))[a-z]")
_SMALL_NAME = lazy_compile(
    r"(?P<frame>\b(?:(?:liv(?:e|es|ing)|based)(?: now)?|flat|house|room) in |\bmov(?:ed|ing) in with (?:my )?[\w]{2,20}(?: [\w]{2,20})? in |\b(?:moved|moving|relocated|relocating)(?: back| over| up| down)? to "
    r"|\b(?:called|named) |\blost (?:(?:my|our) )?(?:uncle|aunt(?:ie|y)?|cousin|brother|sister) |\bi (?:now )?work (?:at|for) |\bi(?:'m| am) (?:now )?working (?:at|for) |\bi (?:got|found|took|have) a(?: new)? job (?:at|with) "
    r"|\bi(?:'ve)? (?:just )?start(?:ed)?(?: (?:work(?:ing)?|a (?:new )?job))? (?:at|with) |\b(?:married|engaged) to |\b(?:flying|off|heading|travell?ing|flights?|fly|trip) to |\bback from |\b(?:cancel(?:led)?|postponed?) |\b(?:quit|left) (?!\w+ing\b)|\b(?:first|last) day (?:at|with) |\b(?:his|her|its|their) name(?:'s| is) "
    r"|\bthis (?:girl|guy|woman|man|lad|bloke),? |\bdr\.? |\b(?:i'm|my name(?:'s| is)) (?=[a-z'-]+, \d\d\b))"
    rf"(?P<small>(?!(?:{_NO_SMALL_NAME})\b)[a-z][a-z'-]{{2,}})(?=$|[,.!;:)]|(?: (?:with|w/?|and|&|on|in|for|since|now|next|last|at|as"
    r"|cos|because|by|near|again|after|together|soon|this|from|who|which|is|but|so|too|when|until|till|today|tomorrow|yesterday)\b))"
)
# Places of two words, which only some words begin or end.
_TWO_WORDS = lazy_compile(
    r"(?<=\bin )(?:(?:new (?:york|orleans|delhi|haven|jersey|mexico|zealand)|(?:san|santa|saint|st|los|las|port|fort|mount|cape"
    r"|north|south|east|west|costa|buenos|abu|hong|tel|kuala|sri|sierra|puerto) [a-z]{3,})|[a-z]{3,} (?:park|hill|green|heath"
    r"|common|beach|bay|falls|springs|hills|heights|bridge|gate|wells|regis))(?=$|[,.!;:)]| (?:with|in|for|since|now|and|but|on|at)\b)"
    r"(?<!the park)(?<!(?:car|ain|eme|ter) park)"
)
_INITIALS = lazy_compile(r"\b[a-z]")
# A name between what somebody is to the author and what they do: "my sister dana lives in leeds".
_SMALL_RELATIVE = lazy_compile(
    rf"(?<=\bmy )((?:(?:new|older|younger|big|little|elder|best|eldest|youngest|twin|baby) )?(?:{SOME_OF}|{ONE_OF}) )(?!(?:has|have|had|is|was|got|now|also|still|just|only|never|always|finally|really|currently|actually|already|recently"
    r"|probably|usually|who|that|and|or|in|at|both|here|there|apparently|sometimes|even|then|first|later)\b)([a-z][a-z'-]{2,})"
    r"(?= (?:now |still |just |also )?(?:lives in|works (?:at|for|as)|moved (?:to|in|out)|is (?:an? |from )|got married|retired|died|passed away)\b)"
)
_SMALL_DOCTOR = lazy_compile(
    r"\bdr\.? ([a-z]{3,})(?= (?:has|is|was|took|put|prescribed|retired|left|switched|raised|and)\b)"
)
_DOCTOR = lazy_compile(r"\bdr\.? (?=[A-Z])")
# What somebody does of whom that is recorded if they are known.
_SMALL_SUBJECT = lazy_compile(
    r"(?:^|(?<=[.!?\n] )|(?<=\n))[a-z][a-z'-]{2,}(?= (?:(?:has|is) )?(?:just |now )?(?:died|passed away|started|starts|moved|moving|works|working"
    r"|lives|living|left|quit|retired|joined|married|seeing|dating|allergic|outgrown|outgrew|pregnant|engaged|got run over|was run over|got hit|was hit)\b)"
    r"|(?:^|(?<=[.!?\n] )|(?<=\n))[a-z][a-z'-]{2,}(?= and i (?:have |are |got |just |finally )*(?:split|broke|broken|separated|divorced|engaged|married)\b)"
    r"|(?:^|(?<=[.!?\n] )|(?<=\n))[a-z][a-z'-]{2,}(?=(?:'s| has| is| was| got)(?: (?:been|now))* (?:moved|postponed|pushed|rescheduled|delayed|off|cancell?ed|called off)\b)"
)
DROPPED_G = lazy_compile(
    r"\b((?:liv|mov|work|stay|rent|tak|learn|study|see|dat|start|join|fly|go|driv|leav|com|mak|hav|teach|plann))in'?(?= |$)",
    re.IGNORECASE,
)
"""How many write "we stayin here"."""
# What people write in short.
_SHORT = {
    "gonna": "going to",
    "nite": "night",
    "w/": "with",
    "w": "with",
    "wk": "week",
    "wks": "weeks",
    "yr": "year",
    "yrs": "years",
    "mths": "months",
    "t1": "type 1",
    "t2": "type 2",
    **dict.fromkeys(("tmrw", "tmr", "tmw", "tomoz", "tomoro", "2moro"), "tomorrow"),
    "bro": "brother",
    "sis": "sister",
    "gf": "girlfriend",
    "bf": "boyfriend",
    "hubby": "husband",
    **dict.fromkeys(("buddy", "pal", "bestie"), "friend"),
    "bday": "birthday",
    "veggie": "vegetarian",
}
_IN_SHORT = lazy_compile(
    r"(?<![\w'@./-])(?:gonna|nite|w/(?= )|(?<=[a-z] )w(?= [a-z])|(?<=\d )(?:wks?|yrs?|mths)|(?-i:T[12])(?= diabet)|tmrw|tmr|tmw|tomoz|tomoro|2moro|bday|veggie(?= (?:now|again|any ?more)\b|[.,!;]|$)|(?<=\bmy )(?:gf|bf|hubby|buddy|pal|bestie)|(?<=\bour )(?:buddy|pal)|(?:(?<=\bmy )|(?<=\blittle )|(?<=\bbig )|(?<=\byounger )|(?<=\bolder ))(?:bro|sis)"
    r"|(?<=\bher )(?:bf|hubby)|(?<=\bhis )gf)(?![\w@/-])",
    re.IGNORECASE,
)
# "Im" before a capital is German, "Im Sommer".
_CONTRACTED = (
    lazy_compile(r"\b(i)(m|ve)(?= (?-i:[a-z])| [\w-]+, [1-9]\d\b(?!/))", re.IGNORECASE),
    # "My sisters name", and of whom there is one "mums in hospital".
    lazy_compile(
        rf"\b((?:my|our) (?:{ONE_OF}|{SOME_OF}|{PETS}))(s)(?= (?:name|birthday|called|allergic)\b)", re.IGNORECASE
    ),
    lazy_compile(
        rf"(?:(?<=^)|(?<=my )|(?<=[.!?,] )|(?<=and )|(?<=but ))((?:{PARENTS}|mother|father|husband|wife))(s)(?= (?:got|just|in|at|on|moved|moving|been|having|not|back|home|taking|started|stopped|diabetic|now|an?)\b)",
        re.IGNORECASE,
    ),
    lazy_compile(r"\b(it)(s)(?= (?:now |only |up to |down to )?\d)", re.IGNORECASE),
    lazy_compile(r"\b((?:do|does|did|is|are|was|were|ca|wo|have|has)n)(t)\b", re.IGNORECASE),
    lazy_compile(r"\b((?:she|he|that)(?=s)|they(?=re|ve)|we(?=ve))(s|re|ve)\b", re.IGNORECASE),
)
_QUOTED = lazy_compile(
    r"```.*?(?:```|$)|`[^`\n]*`|\"[^\"]*(?:\"|$)|(?<![\w])'[^'\n]{3,}?'(?!\w)|^>.*$|^\w+: .*\n", re.S | re.M
)
# "Theo (6) and Ada (3)", "Luis from work (not my brother)"
_IN_LAW = lazy_compile(r"(?<=er) in law\b|(?<=son) in law\b", re.IGNORECASE)
_AGE = lazy_compile(
    r"(?<=[^\W\d_]) \((?:(?:aged? )?\d{1,2}(?: (?:years?|months?|weeks?))?(?: old)?|not (?:my|the|to be) [\w' ]{2,40})\)"
)
# What is watched, played or read with somebody may be named behind them: "a film with my niece Frozen".
_OF_A_TITLE = rule.form(
    r"(?P<kin>\b(?:films?|movies?|series|episodes?|panto\w*|musicals?|(?:video ?)?games?|watch(?:ed|ing)?|play(?:ed|ing)?|read(?:ing)?|listen(?:ed|ing)?)"
    r" with {ROLE}),? {ALONE}(?= and | at | in | on | every | again| yesterday| last |$|[,.!?;])"
)
# "It's Mia who's allergic to eggs" says so of Mia.
_IT_IS_WHO = lazy_compile(
    rf"^it(?:'s| is) (?P<who>(?:(?:my|our) )?(?:{PARENTS}|{ONE_OF}|{SOME_OF})(?: {rule.PERSON_NAME})?|{rule.PERSON_NAME}) (?:who|that)(?='s | (?:is|has|takes|can't) )",
    re.IGNORECASE,
)
# "On Saturday 15 August", "moving to Leeds 12 December".
_A_DATE = rf"(?=(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}\b)"
_WEEKDAY = lazy_compile(rf"\b{DAY},? {_A_DATE}", re.IGNORECASE)
_ON_DAY = lazy_compile(rf"(?P<where>\b(?:to|in|at) (?-i:[A-Z])[\w'-]+),? {_A_DATE}", re.IGNORECASE)
# "I asked Jean to marry me. She said yes".
_PROPOSED = lazy_compile(
    rf"\bI (?:have |just )?(?:asked (?=[^.!?]* to marry me)|proposed to )(?P<name>{rule.PERSON_NAME})(?: to marry me)?(?=[.,!]| and | last | yesterday| on | in |$)"
)
_SAID_YES = lazy_compile(
    r"\b(?:she|he|they) (?:just |then )?said(?: [^.!?]{1,20}\?)?(?: and then (?:she|he|they) said)? yes\b",
    re.IGNORECASE,
)
# "Martin (not my Martin)" is nobody who is known.
_NAMESAKE = lazy_compile(
    rf"(?P<role>\b(?:{ONE_OF}|{SOME_OF}) )?\b[A-Z][\w-]+(?= \(not (?:my|our|the) [\w' ]{{2,40}}\))"
)
_SOMEONES = rf"(?:(?-i:[A-Z])[\w-]+'s|his|her|their) (?:{ONE_OF}|{SOME_OF})"
# "This is Karen, Des's daughter", "his wife here": what follows is not of the author whom one knows.
_ANOTHER_WRITES = lazy_compile(
    rf"\W*(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: (?:there|all|again))?[,.! -]+)?"
    rf"(?:(?:it's|this is) {rule.PERSON_NAME}(?: here)?,? {_SOMEONES}\b|{rule.PERSON_NAME} here,? {_SOMEONES}\b"
    rf"|(?:(?:it's|this is) )?{_SOMEONES}(?:,? {rule.PERSON_NAME},?)? (?:here|writing|typing)\b)",
    re.IGNORECASE,
)
# "Actually no", "Wait no, that's my sister".
_TAKES_BACK = lazy_compile(
    r"\W*(?:oh )?(?:(?:(?:actually|wait|hang on|hold on)[, ]+(?:actually )?no|no[, ]+(?:wait|actually|hang on)"
    r"|(?:scratch|scrap|forget|ignore) that|(?:actually )?that's (?:not true|wrong))(?:[\W]*$|[,.:;]? +"
    r"(?P<why>(?:(?:it|that|he|she|they)(?:'s| is| was|'re| are)(?:n't)?\b|(?:i|we)(?:'m| am|'re| are)? (?:not|meant?|misread|was)"
    r"|(?:the |my )?(?:doctor|doc|gp|nurse|chemist|pharmacist|consultant|hospital|tests?|results?)\b).*)))",
    re.IGNORECASE | re.DOTALL,
)
_SO_NO_MORE = rule.form(
    r"(?:,? |^)so (?:that's |it's |there's )?no more (?P<drug>{A_DRUG})(?: for (?:me|him|her))?(?=$|[,.!;]| now\b)"
)
_OUT_OF_STOCK = lazy_compile(
    r"\b(?:left|stock|shortage|suppl(?:y|ies)|sold out|unavailable|(?:can't|cannot|couldn't) (?:get|find)|(?:ran|run|running) out|refill|prescription|pharmacy|chemist|(?:re-?)?order(?:ed)?|until|till)\b",
    re.IGNORECASE,
)
_A_RELATIVE = lazy_compile(rf"\b(?:(?P<parent>{PARENTS})|(?:my|our) (?P<kin>{ONE_OF}|{SOME_OF}))\b", re.IGNORECASE)
_SHE_OR_HE = lazy_compile(r"\b(?:he|she|his|her|him|they|their|them)\b", re.IGNORECASE)
# "I DO have ADHD".
_EMPHATIC = lazy_compile(r"(?<=\bi )do (?=(?:have|live|work|take|study)\b)", re.IGNORECASE)
# "Got an offer from Acme, taking it".
_TAKING_IT = lazy_compile(
    r"(?:got|had|have|received)(?: an?| the| my)?(?: job)? offer (?:from|at) (?P<firm>(?-i:[A-Z])[\w'&-]+(?: (?-i:[A-Z])[\w'&-]+){0,3})"
    r"(?:,| -)?(?: and| so)?(?: i(?:'m| am|'ve| have)?)?(?: just| definitely| gonna| going to)? (?:tak(?:e|ing)|took|accept(?:ed|ing)?) (?:it|the job)\b",
    re.IGNORECASE,
)
# What announces who somebody is, before a colon.
_ABOUT_ME = lazy_compile(
    r"^(?:(?:some|a few|the|a couple of|important|basic|quick|main) )*(?:(?:things?|facts?|stuff|info|information|basics|details) )?"
    r"(?:(?:(?:that )?you|to) (?:should |need to |ought to |must )?know )?about (?:me|myself|us): ",
    re.IGNORECASE,
)
_NOTHING_BUT = lazy_compile(NOTHING_BUT, re.IGNORECASE)
# "Our kids are Eve, she's 11, and Sam, who's seven"
_KIDS = lazy_compile(
    r"^(?:(?:my|our) )?(?:two |three |four )?(?:kids|children|sons|daughters|boys|girls) are (?-i:[A-Z])", re.IGNORECASE
)
_OWN_KIDS = lazy_compile(r"(?:my|our)\b", re.IGNORECASE)
_AGE_OF_KID = lazy_compile(
    rf",? (?:who(?:'s| is)|(?:s?he)(?:'s| is)|aged) (?:\d{{1,2}}|{'|'.join(AGES)})(?: and a half)?(?: (?:now|already))?(?=$|[,.!;]| and\b)",
    re.IGNORECASE,
)
_OFFSPRING = r"(?:two|three|four|five) (?:boys|girls|kids|children|sons|daughters)(?:,|:| called| named) (?-i:[A-Z])[\w-]+\b(?!')"
_END = lazy_compile(NOT_A_TITLE + r"(?<=[.!?])[\s)\"']+|\n+|;\s+| - |(?:^|\s+)\d{1,2}\)\s+")
# A gerund with a verb after it is itself the subject: "Moving to Lisbon was hard".
_ELLIPSIS = lazy_compile(
    r"(?:drive|rent)(?= an? )|(?:(?:just|finally|recently|also|now) )?(?:moved|relocated|started|joined|quit|left|got|accepted|handed in(?= my\b)|lost(?= (?:my|our|mum|mom|dad|nan|gran|uncle|aunt(?:ie|y)?)\b)|arrived(?= in\b)|broke up|split up|adopted|retired"
    r"|switched|changed|swapped(?= (?:the|my|our)\b)|finished(?= (?:the|my|a) (?:[a-z]+ )?course\b)|declared|graduated|became|turned|went|(?:opened|launched|founded|set up)(?= (?:my|our) own\b)|bought|booked|sold|scrapped|signed(?= (?:for|the lease)\b)|had(?= a miscarriage\b)|stopped|came off|gave up|(?:put|raised|upped|bumped|lowered)(?= my\b)|been(?= (?:seeing|dating)\b)|had to(?= (?:give|rehome|put|cancel|postpone|move|push|reschedule|call off)\b))\b(?! by\b)"
    r"|(?:(?:just|finally|recently|also|now) )?(?P<doing>moving|renting|sharing(?= an? )|starting|joining|living|working|seeing|dating|leaving|banking(?= with\b)|(?:flying|heading|travell?ing) to|not (?:going|flying|travell?ing) to(?= (?-i:[A-Z]))"
    rf"|(?:going to|back from|off to)(?= (?-i:[A-Z])[^,;.]*(?:[,;.]|$))|off(?= (?:the|my) (?:[a-z]{{5,}}\b|{rule.DRUG}))|planning(?= (?:an?|our|my|the) (?:trip|holiday|vacation)))\b"
    rf"(?! (?:(?:on|in|from) )?{POINT},? (?:i|we)\b)"
    r"(?!(?:(?!, (?:\w+ ){1,3}(?:is|are)\b).)*\b(?:is|isn't|was|wasn't|are|were|has|had|will|can|makes|made|takes|took|feels|felt|means|meant|sounds|seems)\b)",
    re.IGNORECASE,
)
# What is the author's own if no sentence before speaks of another, such as a flat that somebody saw.
_OWN_THING = lazy_compile(
    rf"(?:new )?(?:{COST}(?=(?: here| there)?(?:'s| is| has| went| goes))|(?:van|car|truck)(?=(?:'s| is) an?\b)|(?:home )?address(?=(?: is|'s|:) \d))",
    re.IGNORECASE,
)
_OWN_DAY = lazy_compile(r"(?:first|(?P<last>last)) (?:day|shift)(?= (?:at|with)\b)", re.IGNORECASE)
_PRONOUN = lazy_compile(r"\b(?:my|his|her|their|she|he|they)\b", re.IGNORECASE)
_CHILDREN = lazy_compile(_OFFSPRING, re.IGNORECASE)
# How a message begins that says who writes: "Daniel here, 34, living in Leeds".
_GREETED = 2
_IS_HERE = lazy_compile(
    r"(?!(?:Same|New|Back|Still|Right|Not|Nothing|Every|No|Some|All|People|Rain|Snow|Sunny|Over|Up|Down|Mum|Mom|Dad|Sis|Me)"
    rf"(?:one|body|ing)?\b)(?:(?:it's|this is) )?(?P<name>{rule.PERSON_NAME}) here(?:, [1-9]\d\b)?(?=[,.!]|$)[,.! ]*"
)
_INTRODUCED = rule.form(
    r"(?P<who>(?:(?:hi|hello|hey)[,!]? )?i(?:'m| am) {OTHER}, (?P<age>[1-9]\d))(?=$|[,.!](?! ?\d))"
    r"(?P<as>, (?:an? )?(?={OCCUPATION}))?"
)
# A home, whose cost or address the next sentence may tell.
_MOVED = lazy_compile(
    r"\W*(?:(?:i|we)(?:'ve| have)? )?(?:(?:just|finally) )?(?:moved\b|(?:now )?(?:live|rent)\b)", re.IGNORECASE
)
_PLANNED = lazy_compile(
    r"(?!\w+s (?:wedding|graduation|operation|surgery)\b)"  # "Anas wedding" is hers.
    r"(?:(?!(?:the|my|our|his|her|their|your|this|that|new|first|second|next|last)\b)[a-z]{3,} )?(?:wedding|interview|exam|operation|surgery|flight|driving test|graduation|funeral)"
    r"(?=(?:'s| is| will be| has| got| was)?(?: been| going to be)? (?:on|now|(?P<moved>moved|postponed|pushed|put back|shifted|extended|changed|delayed|rescheduled|cancell?ed|off))\b)",
    re.IGNORECASE,
)
_OF_OTHERS = lazy_compile(r"\b(?:(?i:my|his|her|their|she|he|they)\b|(?<!^)[A-Z][a-z]+)")
_BEING = lazy_compile(
    rf"(?:(?:(?:not|no longer) )?allergic to|on (?:\d+ ?(?:mg|mcg|units?) (?:of )?)?{rule.DRUG}|married to|engaged to|based in|self-employed|(?:{DIETS})(?=$|[,.!]| (?:now|since|for)\b))",
    re.IGNORECASE,
)
_KIN = lazy_compile(
    rf"^({PARENTS}|husband|wife|boyfriend|girlfriend)( (?!material\b)|(?='s\b))",
    re.IGNORECASE,
)
# "They put Mum on statins", "They stopped dad's warfarin".
_TREATED = lazy_compile(
    rf"\b(put|started|stopped|switched|changed|swapped|moved|took|taken) (?=(?:{PARENTS})(?:'s)? )", re.IGNORECASE
)
_NEW_ROLE = lazy_compile(
    rf"^(?:the new (?=(?:boss|manager|supervisor|landlord|landlady|dentist|gp)(?: is|'s)\b)|new )(?=(?:{ROLE_WORDS} )?(?:{ONE_OF}|(?:flat|house|room)mate)(?: from [\w ]{{3,20}})?(?: is|'s)\b)",
    re.IGNORECASE,
)
# "Our new doctor here is Dr Lacey" is about the new home.
_ROLE_HERE = lazy_compile(rf"^((?:(?:the|my|our) )?new (?:{ONE_OF})) here(?= is|'s)", re.IGNORECASE)
# In short, one's own: "Solicitor is Anneka".
_BARE_ROLE = lazy_compile(
    rf"^(?=(?:{ROLE_WORDS} )?(?:{ONE_OF})(?: is|'s)(?: now)?(?: an? (?:guy|man|lady|woman|bloke|dude|chap|lad|girl)(?= (?:called|named)\b))?(?: called| named)? (?-i:[A-Z]))",
    re.IGNORECASE,
)
_IS_SO = r"(?:(?:is|'s)(?: (?:also|now))* (?:on (?!the\b)|taking|allergic to)\b|takes (?!after\b)|has )"
_GOES_ON = (
    r"(?:now (?:works|lives) (?:at|in|for)\b|moved (?:back |down |up |over |out )?to (?-i:[A-Z])|joined (?-i:[A-Z])"
    r"|will be (?:(?:living|working|based) (?:in|at|for)|moving to)\b|"
    rf"{_IS_SO})"
)
_NOW_AT = lazy_compile(_GOES_ON)
_JOINT = lazy_compile(
    r",? (?:and|but|so|because|since|although|though|while|(?<!over )as(?! my\b)) (?=(?:now |then |recently |also |(?:from|since) \w+ )?(?:I|i|we|my|our|We|My|Our|Dr)\b(?!(?:'m|'re| am| are) moving in\b))"
    r"|,? (?:and|so|but) (?=(?:[A-Z][\w'-]+ ?){1,2}(?<! )(?:'s| is) (?:off|cancelled|canceled)\b)"
    rf"|,? (?:and|so|but) (?=they(?:'ve| have)? (?:just )?(?:put|started|took|taken|switched|moved|changed|swapped|stopped) (?:me|him|her|my|our|(?i:{PARENTS})\b|[A-Z]))"
    r"|, (?=(?:put|started|switched|kept|took) (?:me|him|her) (?:on|onto|to|off)\b)|(?:,| and|, and) (?=(?:switched|changed) to )"
    r"|,? (?:and|but|so) (?=[A-Z][\w'-]+ is (?:\w+ly )?allergic to\b)|, (?=(?:just |recently )?(?:moved|relocated) to [A-Z])"
    r"|,? (?:and|so|but) (?=(?:(?:the|my|our) )?(?i:doctor|doc|dr|gp|nurse|consultant|specialist|midwife|cardiologist|hospital|clinic|surgery)\b)"
    r"|,? (?:and |so )?(?:it )?(?:turns|turned) out (?:that )?(?=(?:I|i)(?:'m| am) (?!not\b|no longer\b))"
    r"|, (?=(?:I|i|we|my|she|he|they)\b(?!(?:'s| is) (?:called|named)\b))|, (?=(?:the|our) (?:wedding|race|operation|surgery|funeral|exam|interview)\b)"
    r"|,? (?:and|so) (?=(?:[A-Z][\w'-]+ ){1,2}(?:isn't|is not|is no longer) my\b)|(?:,(?: and| so| but)?| and| so| but) (?=(?:[A-Z][\w'-]+ ){1,2}is (?:now my|my new|my \w+ now)\b)|,(?: and)? (?=(?:[A-Z][\w'-]+ ){1,2}(?:(?:is|will) )?tak(?:es?|ing) over as (?:my|our)\b)|,? (?:and|so) (?=(?:now )?(?:she|he)\b)|,(?: and)? (?=(?:[A-Z][\w'-]+ ){1,4}is (?:now )?my favou?rite\b)|: (?=(?:I|i|we|We|my|the doctor)\b)|,? (?:but|because|although|though|while|whereas|however) "
    r"|: (?=(?:(?:my|our) \w+(?: [A-Z][\w-]+)?|[A-Z][\w-]+)(?:'s| is)(?: \w+ly)? allergic to\b)|, (?=(?:husband|wife|boyfriend|girlfriend)(?:'s| is| has| got| was| lost| left| started)\b)|, (?=(?:live|work) (?:in|at|for|as)\b)|,? (?:and|but) (?="
    rf"{_GOES_ON}"
    r")|,? and (?:then )?(?=(?:to )?(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)? (?:on|from) (?:the )?\d)"
    r"|(?:,|,? (?:and|but)) (?=(?:(?:allergic|married|engaged) to|based in|studying|living in)\b)"
    r"|, (?=(?:(?:my|the) )?(?:doctor|doc|gp|consultant)(?:'s| has)? (?:just )?(?:stopped|took|taken|put|raised|lowered|cut|switched|changed)\b)"
    rf"|,? and (?=an? (?:{PETS}|{SOME_OF})(?:,| called| named) (?-i:[A-Z]))|, (?={_OFFSPRING}|new job (?:at|with) |new (?:{ROLE_WORDS} )?(?:{ONE_OF})\b)"
    r"|,? and (?=(?:have|has|am|'m|live|work|moved(?! in\b)|started(?! me on\b)|joined|left|quit|love|hate|like|prefer|speak|study|take)\b)"
)
# What people add to a statement without making it less certain.
_ASIDE = lazy_compile(
    r",? (?:let's see (?:if|how (?:long|well)) (?:it|that|this) (?:lasts|goes|works(?: out)?|sticks)|in case (?:you're|you are|you were) wondering"
    r"|if you must know|if you're curious|if that (?:helps|matters)|if (?:you|anyone|anybody)(?: ever)? needs?(?: it(?: for [\w' ]{2,30})?| me| to (?:call|reach|ring) me)?|believe it or not)(?=\W*$)"
    r"|,? which (?:[\w']+ ){1,2}(?:says?|thinks?|reckons?) (?:is|was|are)\b[^.!?,;]*(?=\W*$)"
    r"|,? (?:by the way|btw|fyi|just so you know|would you believe(?: it)?)(?=\W*$|, )",
    re.IGNORECASE,
)
# A second sentence, which has a subject of its own and does not take back the first.
_SECOND = lazy_compile(
    r",? (?:and|but|so|though|although) (?=(?:I|i|we|he|she|they|nobody|my \w+|the (?:landlord|landlady|bank|council|boss|school|doctor|owner))\b)"
    r"(?!i should (?:\w+ )?(?:say|mention|add|note)\b)(?!.*\b(?:true|kidding|joking|lying|wish|wished|not)\b)(?!(?:(?!\bwants? to\b).)*\b(?:it|that(?! (?!to\b)[a-z])|this)\b)"
)
# Why somebody does something: "Since I'm vegan, I brought my own".
_REASON = lazy_compile(
    r"^(?:since|as|because|seeing as|given that|now that) (?P<fact>(?:i(?:'m| am|'ve(?: got| been)| have| live| work| can't)|my) [^.!?]*?)"
    r"(?:,(?= (?:i|it|we|that|this|my|the)\b)|(?= i(?:'m|'ve|'ll)? ))",
    re.IGNORECASE,
)
# What somebody only thinks of, behind what is so.
_MUSING = lazy_compile(
    r"(?<=\w),? (?:(?:and|but|so) )?(?:(?:now|also|still|just) )?(?:thinking (?:of|about)|considering|tempted to|hoping to) [^,.;!?]*(?=[.!]*$)",
    re.IGNORECASE,
)
# What somebody may, would or wants to do, as opposed to what is only imagined.
_INTENT = lazy_compile(
    r"^\W*(?:and|but|so|though|although) [\w ]{1,20}?(?:(?:'m|'re|am|are|is|been)? ?(?:thinking of|thinking about|considering)"
    r"|might|(?-i:may)|should|could|would|'d (?:like|love|rather|prefer|need|want|appreciate)|(?:want|wants|hope|hopes|love|like) to|hoping to|probably|maybe)\b",
    re.IGNORECASE,
)
# What somebody asks for because of what they say.
_NO_QUESTION = r"(?!\W*(?:do|does|did|is|are|was|were|am|can|could|should|would|will|shall|what|who|how|where|when|which|why|have|has|let's|if)\b)"
_REQUEST = lazy_compile(
    rf"{_NO_QUESTION}(?P<fact>[^?]+?)(?:,| -)? (?:and )?so (?:(?:please|pls|plz|just|maybe) )*(?:(?:check|make sure|don't|do not|never|remember|avoid|bear|skip"
    r"|be careful|careful|see if|let me know|nothing (?:with|that)|no (?!more\b))\b.*|(?:what|which|how|where|who|when|can|could|should|would|will|is|are|do|does|any)\b.*\?)$"
    rf"|(?P<told>{_NO_QUESTION}[^?]+?), (?:(?:anyway|btw|also|and|so) )?(?:(?:what|which|how|where|any)\b|(?:can|could|would|will) (?:you|i|we)\b).*\?$",
    re.IGNORECASE,
)
# Whom a sentence tells of that may go on without a subject: "Tom got into Leeds! Moving there in May".
_TELLS_OF = rule.form(
    rf"(?:{{WHO}}|she|he)(?:'s|(?: has| is| was)?(?: just| finally)?) (?:{VERBS}|going|been|moving)\b"
)
_OF_AUTHOR = lazy_compile(r"\b(?:i|we|me|us)\b", re.IGNORECASE)
# "I get awful reflux. On omeprazole for it" is the author's own if nobody else is told of.
_OF_ANOTHER = rule.form(
    rf"\b(?:he|she|his|her|him|they|their|them|someone|{PARENTS}|{ONE_OF}|{SOME_OF})\b|(?<!^)(?<![.!?] )(?-i:[A-Z][a-z]+)"
)
_SUBJECT = rule.form(r"{WHO}(?= (?-i:[a-z]))")
_SHE = rule.form(r"(?:(?:she|he)(?='s| )|{WHO}(?= (?!and\b)(?-i:[a-z])))")
_OWN = lazy_compile(r"(?:I|we)\b", re.IGNORECASE)
_OTHERS = lazy_compile(r"(?:(?i:she|he|they|it|you|who|my|our|his|her|their|the)\b|[A-Z])")
_PET = lazy_compile(rf"an? (?:{PETS}|{SOME_OF})(?:,| called| named) (?-i:[A-Z])|{_OFFSPRING}|new job (?:at|with) ")
# `love` and `like` may be nouns: "the hope and love theme".
_VERB = lazy_compile(
    r"(?:have|am|live|work|(?:switched|changed) to|(?:just |recently )?(?:moved|relocated)|started|joined|left|quit|hate|prefer|speak|study|take|will be (?:living|working|based|moving))\b"
)
# After "I'm vegan" it is the same one; after "I'm dating Tom" or "I have a friend who is vegan" it need not be.
_BEING_ONE = lazy_compile(
    r"i(?:(?:'m| am) (?!not\b|\w+ing\b|with\b|in\b)(?:an? )?[\w-]+(?: [\w-]+)?| (?:work at|work as an?|live in) (?!.* with )[^,]{2,40})$|(?:i'm|i am) (?-i:[A-Z])[\w-]+(?:, [^,]{2,30}){0,2}$",
    re.IGNORECASE,
)
# "Had a bacon sandwich, so not vegetarian any more"
_NOT_SO = lazy_compile(rf",? (?:and|so) not (?=(?:an? )?(?:{DIETS}) (?:any ?more|any longer)\b)", re.IGNORECASE)
# Who shares a home: "It's me and a flatmate, Priyanka"
_WITH_ME = lazy_compile(r"^it(?:'s| is)(?: (?:just|only|now))* me and (?=an? )", re.IGNORECASE)
# What somebody takes, behind what they have: "I've got ADHD, on elvanse".
_ON_DRUG = lazy_compile(rf"(?<=\w),? on (?=(?:\d+ ?(?:mg|mcg|units?) (?:of )?)?{rule.DRUG})(?<=, on )", re.IGNORECASE)
_AM = lazy_compile(r"(?:(?:allergic|married|engaged) to|based in|studying|living in)\b")
# "Tom and I" is one subject; any other "and I" begins a clause.
_COUPLE = lazy_compile(r"^((?i:my|our) (?:\w+ )?\w+|[A-Z][\w-]+(?: [A-Z][\w-]+)?) and [Ii] (?!(?i:am|'m|have to)\b)")
# A name in small letters is one before what a couple does.
_ME_AND = lazy_compile(
    r"^(?i:me and) (?:((?i:my|our) (?:\w+ )?\w+|[A-Z][\w-]+(?: [A-Z][\w-]+)?) (?!(?:at|in|on|for|is)\b)"
    r"|([a-z][\w-]+) (?=(?:have |are |just |back )*(?:split|broke|broken|separated|divorced|engaged|married|together|dating|courting|an item|a couple)\b))"
)
# "Last week, I moved" is one clause.
_LED = lazy_compile(r"([\w' -]{4,30}), (?=(?:i|we|my|our)\b)", re.IGNORECASE)
# After what something is so: "Since the divorce I rent a flat in Leith".
_OCCASION = lazy_compile(
    r"(?:since|after|following|because of|thanks to|due to) (?:(?:the|my|our|that|this|all(?: of)?(?: that| this)?) )(?!.*\b(?:if|not)\b.* i\b)"
    r"(?:(?!(?:i|we|he|she|they|you|it|who|that|if|when)\b)[\w'-]+ ?){1,7}?,? (?=(?:i|we)(?:'ve|'m|'re)?\b)",
    re.IGNORECASE,
)
# "In May, not March" corrects what was said of the time.
_NOT_THEN = lazy_compile(rf"(?<=\w),? (?:and )?not (?:(?:in|on|since|from) )?{POINT}(?=\W*$)", re.IGNORECASE)
# Who wants to write to somebody tells the reasons in sentences of their own.
_LETTER = r"(?:write|compose|draft) (?:me )?(?:an?|my) (?:[a-z-]+ ){0,3}?(?:message|note|e-?mail|letter|reply|card) to (?![^.!?:\n]* (?:from|as if|as though) )[^.!?:\n]{2,60}?(?:\.\s|,? (?:saying|explaining|mentioning|telling|asking|to (?:say|tell|explain|ask))\b)"
# What is said in jest, in a role or in a text that somebody asks for.
_JEST = lazy_compile(
    r"\b(?:kidding|joking|jk|april fools?|just testing|role[- ]?play(?:ing)?|act as|pretend)\b|(?<!\w)/s\b|, not[.!]*$|,? (?:but )?not really\W*$"
    rf"|^(?:please )?(?!{_LETTER})(?:write|tell(?= (?:me|us|(?:the|a|an) (?:\w+ )?(?:story|tale|joke|fable))\b)|compose|draft|translate|rewrite|proofread|summari[sz]e|correct)[ :]",
    re.IGNORECASE,
)
_LAUGHTER = lazy_compile(
    r"\b(?:(?:ha){2,}h?|(?:he){2,}|lo+l|lmao|rofl|just saying)\W*$|[\U0001f602\U0001f923\U0001f609]", re.IGNORECASE
)
# Who somebody is to the author is said in earnest, too: "my sister Orla lives in Cork lol".
_RELATIVE = rule.form("{ROLE},? {ALONE}")
# Nobody jokes about these, whatever they end with.
_IN_EARNEST = lazy_compile(
    r"\ballergic to (?:\w+ )?(?:(?:pea|wal|hazel|tree )?nuts?|cashews?|almonds?|pistachios?|pecans?|sesame|shellfish|prawns?|shrimps?"
    r"|crab|lobster|fish|eggs?|milk|dairy|lactose|gluten|wheat|soya?|kiwis?|strawberr(?:y|ies)|penicillin|amoxicillin"
    r"|ibuprofen|aspirin|latex|pollen|(?:bee|wasp) stings?|bees|wasps)\b",
    re.IGNORECASE,
)
# How somebody came to know of an allergy, behind what it is.
_PAST = r"\b(?:as a (?:child|kid|teenager|baby|student)|(?:back )?when (?:i|he|she) was|nearly|almost|never (?:forget|forgot|again))\b"
# What holds since a day or for so long, and how each verb is said of what holds: of "I" or "we", and of somebody.
_PRESENT = {
    "lived": ("live", "lives"),
    "worked": ("work", "works"),
    "taught": ("teach", "teaches"),
    "studied": ("study", "studies"),
    "taken": ("take", "takes"),
    "had": ("have", "has"),
    "been": ("have been", "is"),
}
_PERFECT = lazy_compile(
    rf"(?:'ve| have|(?P<third>'s| has))(?: (?:now|also|both|always|\w+ly))* (?P<verb>{'|'.join(_PRESENT)})\b",
    re.IGNORECASE,
)
# Read as "for ages", which `_ALWAYS` takes out: what follows "since" is not a clause of its own.
_SINCE_SMALL = lazy_compile(
    r"(?<=\w),? (?:ever )?since (?:i|he|she) was (?:an? |about )?[\w-]+(?: years old)?(?=[.!,;]|$)", re.IGNORECASE
)
_BEEN_ALLERGIC = lazy_compile(r"(?<=\bI)(?:'ve| have)(?: always)? been(?=(?: \w+ly)* allergic\b)", re.IGNORECASE)
# After "have lived" or "have had": for how long nobody can say.
_ALWAYS = lazy_compile(
    r"(?<=\w),? (?:(?:ever )?since (?:birth|childhood|forever)|all my life|my (?:whole|entire) life"
    r"|for (?:(?:many|several|quite some) years|years|ages|decades|ever|a long time|as long as i can remember)(?: now)?|forever)$",
    re.IGNORECASE,
)
_BEEN_AT = lazy_compile(
    r"\b(?P<who>I|we)(?:'ve| have)(?: now)? been at (?=(?-i:(?!(?:Mum|Mom|Dad|Gran|Nan|Uncle|Aunt)\w*\b)[A-Z]))"
    rf"(?!.*\b(?:uni|university|college|school)\b)(?=.* (?:years?|months?|\d{{4}}|{MONTH})\b)",
    re.IGNORECASE,
)
_IS_OVER = lazy_compile(
    r"\b(?:until|till|before|once|back then|in the past|in total|at a time|between)\b", re.IGNORECASE
)
_OF_THE_PAST = lazy_compile(_PAST, re.IGNORECASE)
_ALLERGIC_SINCE = lazy_compile(
    r"(?P<fact>(?:(?:i(?:'m| am)|(?:my|our) [\w ]{2,30}?(?: is|'s)|(?-i:[A-Z])[\w-]+(?: is|'s)) (?:\w+ )?allergic to"
    r"|(?:i|(?:my|our) [\w ]{2,30}?|(?-i:[A-Z])[\w-]+) (?:can't|cannot) (?:eat|have|drink|take|tolerate)) [^.;:?!]{3,80}?)"
    rf"(?P<rest>(?:,| -|;|:| \() ?(?:[^,;]*?){_PAST}.*)$",
    re.IGNORECASE,
)
# What nobody can have or bear, however the reader comes to ask.
_MUST_NOT = (
    r"(?:i(?:'m| am) (?:\w+ ){0,2}?(?:allergic to|\w+[- ]intolerant)|i (?:can't|cannot) (?:eat|have|drink|tolerate)"
    r"|i(?:'ve got| have|'ve) an? (?:\w+ ){0,3}?allergy)\b"
)
_IF_YOU = r"(?:if|in case|when|whenever|before) you (?!(?:were|was|are me|say|said|ask|believe|think|want)\b)"
_NOT_IF_I = r"(?!\b(?:if|would|could|might|pretend|imagine) (?:i|we|he|she|they)\b)"
_IF_READER = lazy_compile(
    rf"^(?:{_NOT_IF_I}[^:.!?])*?\b{_IF_YOU}(?:{_NOT_IF_I}[^:.!?])*[:,] (?={_MUST_NOT})", re.IGNORECASE
)
# What somebody has told others of themselves: "I've told the waiter twice that I'm allergic to nuts".
_SAID_BEFORE = lazy_compile(
    rf"^(?:(?:and|but|so|well|also) )?i(?:'ve| have)?(?: (?:already|always|just|only))? (?:told|tell|keep telling|said|keep saying|mentioned|warned|reminded)"
    rf"(?: (?!(?:if|that|as|so|because)\b)[\w']+){{0,6}}?(?: that)? (?={_MUST_NOT})",
    re.IGNORECASE,
)
# Not what may be had in some way: "I can't have eggs, if you bake them it's fine".
_IF_READER_DOES = lazy_compile(
    rf"(?P<fact>{_MUST_NOT}[^,.:;!?]*),? (?:so |just )?{_IF_YOU}(?!.*\b(?:it|it's|them|they|that|those|this|fine|ok|okay)\b).*$",
    re.IGNORECASE,
)
# What something feels like says nothing of the rest of the sentence: "it makes me feel like a slug, so I stopped it".
_SIMILE = lazy_compile(r"\b(?:makes?|made|making) (?:me|us) feel like (?:(?!,| so | and | but ).)+", re.IGNORECASE)
_TAKEN_BACK = lazy_compile(
    r"\b(?:not|no longer|any ?more|used to|until|or|but|(?:out)?gr[eo]wn?|was allergic|at least|thought|believed|said|says|in (?:my|the|an?|this) )\b|n't\b|^\W*(?:as a|when)\b",
    re.IGNORECASE,
)
# "I don't live in Linz but in Graz" says that I live in Graz.
_NOT_BUT = lazy_compile(
    r"^(i|we) (?:don't|do not) (live in|work at|work for) [^,.;]+?,? but (?:rather )?(?:(?:in|at|for) )?(?=[A-Z])",
    re.IGNORECASE,
)
# "So I guess I'm vegan now" is how people say it of themselves.
_HEDGED = lazy_compile(
    rf"\bi (?:guess|suppose) (?:that makes me|i'm|i am)(?= (?:now )?(?:an? )?(?:{DIETS})\b(?!-))", re.IGNORECASE
)
_SO_I_GUESS = lazy_compile(
    rf",? (?:and )?so (?:an? )?((?:{DIETS})(?: now)?),? i (?:guess|suppose)(?=\W*$)", re.IGNORECASE
)
# "I'd rather you called me Bea" asks for it.
_WISHED = lazy_compile(
    r"\b(?:i'd rather you(?:'d)? call(?:ed)? me|(?:i'd|i) prefer (?:to be called|(?:if |it if )?(?:you|people) call(?:ed)? me))"
    r" (?=(?-i:[A-Z]))",
    re.IGNORECASE,
)
# "The test says I'm not allergic to nuts" takes back what was believed before. What a doctor only thinks does not.
_HAS_NOT = (
    r"(?:(?P<who>i(?:'m| am) )?(?:not|no longer) (?:actually |really )?(?:allergic to [\w'-]+(?: (?!after\b|any ?more|any longer)[\w'-]+)?"
    rf"|[a-z]+[- ]intolerant|(?:an? )?(?:{'|'.join(AILMENTS)}))|i (?:don't|do not) (?:actually |really )?have (?:[\w'-]+ ){{0,2}}?[\w'-]+)"
)
_DIAGNOSED = lazy_compile(
    r"^(?:(?:it )?(?:turns|turned) out(?: that)?|(?:(?:my|the|our) (?:new )?(?:doctor|gp|allergist|consultant|specialist|dermatologist)"
    r"|(?:my|the) (?:(?:allergy|blood|skin|prick) )?(?:tests?|results?|test results?))"
    r"(?: now)? (?:says?|said|confirm(?:s|ed)|shows?|showed|told me|tells me)(?: that)?"
    r"|(?:my|the) (?:\w+ ){0,2}(?:tests?|results?)(?: have| has)? (?:(?:came|come) back(?: negative| clear)?|(?:was|were|is|are) negative)[,:]?(?: and| so)*)"
    rf" (?P<fact>{_HAS_NOT})"
    r"(?: after all| any ?more| any longer)?(?=$|[.!,])",
    re.IGNORECASE,
)
# "I've got coeliac disease, apparently" is what somebody was told that they have.
_APPARENTLY = lazy_compile(r",? ?\bapparently\b,?", re.IGNORECASE)
_OWN_HEALTH = rule.form(
    r"(?:apparently,? )?i(?:'m| am|'ve| have)(?: apparently)?(?: got)?(?: apparently)? (?:an? )?"
    rf"(?:{{CONDITION}}|(?:{'|'.join(AILMENTS)})\b|(?:\w+ )?allergic to\b|[a-z]+[- ]intolerant\b|[a-z]+ allergy\b)"
)
# Who treats somebody ends what they take. A condition that follows leaves it open, and is read further on.
_TREATS = rule.form("{TREATS}").pattern
_TREATS_ME = lazy_compile(
    r"(?:of [\w' ]{2,60}? and (?:then )?)?(?P<does>(?:just )?(?:put|started|switched|kept|took) (?:me|him|her) (?:on|onto|to|off) .*)",
    re.IGNORECASE | re.DOTALL,
)
_STOP = r"(?:stop|come off|quit)(?: taking)?"
_AND_THAT = r"(?: (?!(?:if|when|once|unless|until|i)\b)(?:(?!\b(?:if|when|once|unless|until)\b)[\w' ]){2,60},? (?:and|so)(?: that)?)?"
_TOLD_TO_STOP = lazy_compile(
    rf"^(?:{_TREATS}(?: has| have)?(?: now| just)? (?:(?:says?|said|confirm(?:s|ed)|agree[sd]|told me|tells me)(?: that)?"
    rf"{_AND_THAT} i (?:can|may|must|have to|should)|(?:said|told me)(?: that)?{_AND_THAT} i could)(?: now)? {_STOP}"
    rf"|(?:{_TREATS}(?: has| have)?(?: now| just)? told me|i(?:'ve| have)? (?:been|was) told(?: by {_TREATS})?) to {_STOP}) ",
    re.IGNORECASE,
)
_RELEASED = lazy_compile(
    rf"^{_TREATS}(?: now)? (?:says?|said|confirm(?:s|ed)|told me|tells me)(?: that)?"
    rf"{_AND_THAT} (?P<fact>i (?:no longer need|(?:don't|do not) (?:need|have to take|need to take)(?=.* any ?(?:more|longer)\b))) ",
    re.IGNORECASE,
)
# "Sorry, that should be ana@acme.com" does not speculate.
_SHOULD_BE = lazy_compile(
    r"^(?:that|it|this) should (?:be|have been|read|say) (?=[\w.+-]+@[\w-]|\+?\(?\d[\d ()/-]{5,})", re.IGNORECASE
)
# How a sentence begins that may correct what was said before.
_AMENDS = lazy_compile(
    r"\W*(?:oh |well )*(?:sorry|apologies|oops|no|wait|hang on|actually|my mistake|my bad|i got \w+ wrong)\b",
    re.IGNORECASE,
)
# "Not Oslo" behind these is read with them.
_OF_TRIP = lazy_compile(r"(?:the|our|my)(?: next)? (?:trip|holiday|vacation)\b", re.IGNORECASE)
_OPENING = lazy_compile(
    r"(?:(?P<corrects>(?:(?:oh |oops,? |wait,? )?(?:no|sorry|apologies|correction|a correction|my mistake|my bad)[,:;.-]+ "
    r"(?:that'?s wrong[,:;.-]+ )?)?(?:i meant(?: to say)?(?: that)?|what i meant (?:is|was)(?: that)?"
    r"|i misspoke|i (?:(?:said|wrote|put) (?:that|it|this)|told you(?: (?:that|it|this))?) wrong(?:ly)?|i (?:mixed|messed) (?:that|it|this) up"
    r"|i (?:mixed|messed) up (?:the|that|my) \w+|i (?:got|had|told you|gave you) the (?:wrong \w+|\w+(?: of the \w+)? wrong)"
    r"|that was (?:wrong|a mistake)|not what i said(?: before)?|to correct myself|correction|a correction"
    r"|to be (?:exact|precise))|(?:sorry|apologies)[,:]? (?=it (?:is|was)|it's|i meant))"
    r"|well|so|oh|omg|ugh|phew|yo|hey|hi|hello|yes|yeah|yep|ok|okay|wow|haha|lol|btw|by the way|fyi|just fyi|also|and|but|then|anyway"
    r"|actually|honestly|in fact|finally|(?:it'?s|its) official|guess what|good news|great news|big news|bad news|news|update|small update"
    r"|quick update|as (?:you know|i said|i mentioned)|just so you know|for (?:the record|your information)"
    r"|please (?:note|remember)(?: that)?|note that|remember(?: that)?|don't forget(?: that)?|change of plans?"
    r"|(?:we|i) (?:have )?changed (?:our|my) (?:plans?|minds?)|i (?:forgot|wanted) to (?:say|mention)(?: that)?"
    r"|i think (?:i|we) can (?:safely )?say(?: that)?|i should(?: (?:probably|also|just|maybe))* (?:say|mention|add|note)(?: (?:up ?front|first|straight away|right away|now|that))*"
    r"|(?:(?:the|my) )?(?:doctor|doc|dr|gp|consultant|specialist|midwife|nurse|dentist|allergist) (?:says|said|told me|confirmed)(?: that)?(?= i(?:'m| am| have|'ve got| mustn't| must not| can't| cannot)\b)"
    rf"|(?:it )?turns out(?! (?:that )?{_HAS_NOT})(?: that)?|from now on|these days|nowadays|right now|currently|at the moment|at present"
    r"|now|wait|hang on|hold on|lately|recently|(?:i|we)(?:'ve)? (?:just |recently )?(?:found out|discovered|learn(?:t|ed))(?: that)?(?= (?:i|we)\b)|as it happens|long story short|unfortunately|luckily|sadly|happily|instead|no(?! (?:more|longer)\b)|sorry|apologies|oops|my mistake|my bad|today)"
    r"\b(?!')(?:[\s,:;.!-]+|$)",
    re.IGNORECASE,
)
_NEVER = lazy_compile(r"\bnever\b", re.IGNORECASE)
_SPECULATION = lazy_compile(
    r"\b(?:(?:goes|went|reads|sings|sang)(?=[:,])|(?<!it's )(?<!it is )(?<!it was )(?<=s |m |e )(?:all )?like,? (?=i(?:'m|'ve)? )|(?:song|lyrics?|poem|motto|slogan|caption|headline|joke|meme|script|bio|profile|essay|letter|post|speech|text|message|reply)(?: \w+){0,3}(?=:)|(?:prompt|character)(?: \w+){0,3}(?=: i\b)|hopefully(?=\W*$)|^\W*hopefully|if|unless|whether|suppose|supposing|imagine[ds]?|imagining|pretend(?:s|ing)?|hypothetically|would|could|might"
    r"|should|maybe|perhaps|probably|possibly|(?:^\W*|\b(?:i|we|he|she|they|it|who|and|but|then|(?:my|our) \w+|(?-i:[A-Z])\w+)(?:'ve|'s|'d| have| has| had)? (?:very |so |just )?)(?:almost|nearly)|wish(?:es|ed)?|dream(?:s|ed|t)?|daydream\w*|jok(?:es|ing)|(?<!is a )joke|kidding"
    r"|may (?:be|have|move|go|get|not|well|become|start|try|need)|(?:said|says|told|tells|asked|asks|wrote|writes|claims|claimed)"
    r"|heard|supposedly|allegedly|reportedly|apparently|i (?:think|guess|bet|suspect|doubt|believe|hope)|not sure|as though"
    r"|thinking (?:of|about)|thought (?:of|about|i)|consider(?:s|ed|ing)?|(?:want|wants|wanted|hope|hopes|hoping|love|like|tempted|supposed) to"
    r"|in (?:my|the|an?|this) (?:[\w-]+ ){0,2}?(?:novel|book|story|film|movie|game|videogame|simulator|play|screenplay|dream|essay)\b(?! (?:shop|club|store|fair))|in (?:minecraft|gta|forza|the sims|animal crossing)|role[- ]?play|(?<![@.-])example(?!\.\w)|for instance"
    r"|e\.g\.|feels? like|as a (?:child|kid|teenager)|when i was|back when|i'd|we'd|ought to|used by)\b",
    re.IGNORECASE,
)
