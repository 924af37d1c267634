"""Markers: words in several languages that make two similar statements mean different things.

Lower case and without accents, as `normalize_name` leaves them. They need not be complete: a word that is not known
here still keeps two statements from being taken for one (see `contradiction`).
"""

import re
from collections.abc import Mapping

from mnemolog.domain.lazy_regex import lazy_compile


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


def _valued(*lists: str) -> Mapping[str, str]:
    """Each language's words for 0, 1, 2, ...; forms of the same number are separated by slashes."""
    return {
        form: str(value) for words in lists for value, forms in enumerate(words.split()) for form in forms.split("/")
    }


NEGATIONS = _words(
    "not no never nor neither none nobody nothing nowhere without cannot no-one free less hardly scarcely barely",
    "lacks lack lacking except unless refuses refuse refused fails failed denies denied",
    "ne ni nikto nikogda",
    "не нет ни никогда никто ничто ничего нигде никак без нельзя вряд кроме неправда отнюдь",
    "nie nigdy nikt nic nigdzie bez ani zaden zadna zadnego zadnej wcale oprocz brak",
    "nunca jamas nadie nada ninguno ninguna ningun tampoco sin excepto salvo",
    "nicht nichts nie niemals niemand kein keine keinen keinem keiner keines ohne nirgends weder ausser kaum",
    "pas jamais rien personne aucun aucune sans non mai niente nessuno nessuna senza nao nem nenhum nenhuma sem",
    "niet geen nooit niemand zonder inte aldrig ingen utan ikke aldri uden ei koskaan degil yok hayir hic",
    "لا ليس ليست لم لن ما غير بدون לא אין בלי नहीं न मत बिना",
)

POLARITIES = _words(
    # Liked, wanted or allowed, and the opposites.
    "like likes liked love loves loved enjoy enjoys prefer prefers want wants wanted hate hates hated dislike dislikes",
    "disliked avoid avoids avoided loathe loathes detest detests fear fears allow allowed allows forbid forbids",
    "forbidden",
    "ban bans banned accept accepts accepted reject rejects rejected agree agrees agreed disagree disagrees trust",
    "trusts",
    "distrust distrusts good bad better worse best worst happy unhappy sad true false right wrong yes safe unsafe",
    "tolerates tolerate tolerant intolerant allergic immune",
    # Begun, ongoing, finished or only intended.
    "start starts started begin begins began begun stop stops stopped quit quits ended ends end finish finishes",
    "finished",
    "continue continues continued resume resumes resumed still yet already again anymore longer former formerly",
    "ex once",
    "previously used was were had did been will would wont shall should could might may must can perhaps maybe",
    "probably",
    "possibly likely unlikely allegedly supposedly if whether until till since almost nearly only just even",
    "rarely seldom",
    "sometimes often always usually mostly hope hopes plan plans planned intends wish wishes consider considers",
    "try tries",
    # More, open, alive, together, and the opposites.
    "more most few fewer least too enough earlier later than instead rather versus against",
    "open opened opens closed close closes shut won win wins lost lose loses",
    "alive dead single married divorced engaged separated widowed together apart increase increases decrease decreases",
    "raise raises lower lowers higher high low hot cold cheap expensive easy hard early late first last pro con",
    "for but or",
    "любит любил любила люблю нравится нравился нравилась ненавидит ненавидел ненавидела избегает хочет хотел хотела",
    "предпочитает начал начала начинает бросил бросила перестал перестала больше меньше уже еще бывший бывшая был была",
    "будет может возможно наверное если раньше после до до-после всегда иногда редко почти только да плохо хорошо",
    "лучше",
    "хуже жив мертв умер умерла замужем холост женат разведен разведена можно запрещено разрешено снова опять или но",
    "lubi lubil lubila uwielbia nienawidzi unika chce chcial chciala woli zaczal zaczela przestal przestala juz",
    "jeszcze",
    "byly byla byl bedzie moze chyba jesli zawsze czasem rzadko prawie tylko tak zle dobrze lepiej gorzej wiecej",
    "mniej zamezna zonaty rozwiedziony wolno zakazane znowu albo ale",
    "gusta gustaba encanta ama odia odiaba detesta evita quiere queria prefiere empezo empieza dejo deja mas menos ya",
    "todavia aun fue era estaba estuvo sera puede quizas tal vez si siempre raramente casi solo bien mal",
    "mejor peor casado casada soltero soltera divorciado divorciada permitido prohibido otra pero o",
    "mag mochte liebt liebte hasst hasste meidet vermeidet will wollte bevorzugt begann beginnt aufgehort mehr weniger",
    "schon noch war hatte wird kann vielleicht wahrscheinlich wenn falls ob immer manchmal selten fast nur ja gut",
    "schlecht besser schlechter verheiratet ledig geschieden erlaubt verboten wieder fruher spater gern gerne",
    "ungern oder",
    "aber ehemals ehemalige ehemaliger",
    "aime deteste prefere evite veut plus moins deja encore etait peut oui toujours souvent rarement presque",
    "seulement ama odia preferisce evita vuole piu meno gia ancora sempre gosta odeia prefere mais menos ja",
    "houdt haat wel meer minder altijd",
)

FAVOURABLE = _words(
    "like likes liked love loves loved enjoy enjoys prefer prefers good happy safe",
    "любит нравится предпочитает хорошо",
    "lubi uwielbia woli dobrze",
    "gusta encanta ama prefiere bien",
    "mag liebt bevorzugt gern gerne gut",
    "aime adore prefere 好き 大好き 好む",
)
"""Words that are interchangeable within a group."""

ENDED = _words(
    "stop stops stopped quit quits ended ends finish finishes finished anymore longer former formerly ex previously",
    "бросил бросила перестал перестала бывший бывшая przestal przestala dejo deja aufgehort ehemals ehemalige",
    "ehemaliger やめ 辞め 그만",
)
"""Words that say of themselves that something holds no more."""

DIRECTIONS = _words(
    "in on off out into up down over under above below from to before after towards away inside outside by with for",
    "до после в на из от к под над с для",
    "w na z do od pod nad przed po dla",
    "en a de desde hacia hasta sobre bajo con para antes despues",
    "in auf aus zu von nach vor unter uber mit fur",
)
"""Opposite only if each statement has a different one; one alone is not significant."""

# Pronouns.
PRONOUNS = _words(
    "i me my mine we us our ours you your yours he him his she her hers they them their theirs it its",
    "я мне меня мой моя мы нам наш он его ему она ее ей они их им ты тебя твой вы вас ваш",
    "ja mnie moj moja my nas nasz on jego jemu ona jej oni ich ty twoj wy was wasz",
    "yo mi mis nosotros nuestro tu tus su sus el ella ellos ellas usted",
    "ich mich mir mein meine meinen wir uns unser unsere du dich dir dein deine er ihn ihm sein seine sie ihr ihre",
)

NUMBERS: Mapping[str, str] = {
    **_valued(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty",
        "ноль один/одна/одно/одного/одну/одной два/две/двух три/трех четыре/четырех пять/пяти шесть/шести семь/семи"
        " восемь/восьми девять/девяти десять/десяти одиннадцать двенадцать",
        "zero jeden/jedna/jedno dwa/dwie/dwoje/dwoch trzy/troje/trzech cztery/czworo piec/piecioro szesc siedem osiem"
        " dziewiec dziesiec jedenascie dwanascie",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
        "zero un deux trois quatre cinq six sept huit neuf dix onze douze",
    ),
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
}
# Quantities without digits: a different one means something else.
QUANTITIES = _words(
    "half double twice thrice triple dozen dozens hundreds thousands million billion both several many much some",
    "any all",
    "every each another second third fourth fifth sixth seventh eighth ninth tenth quarter pair couple",
    "половина дважды трижды дюжина сто тысяча миллион оба обе много мало все каждый второй третий четвертый",
    "polowa dwukrotnie tuzin sto tysiac milion oba obie wiele malo wszystko wszyscy kazdy drugi trzeci czwarty",
    "medio mitad doble docena cien mil millon ambos muchos mucho pocos poco todo todos cada segundo tercero cuarto",
    "halb halbe doppelt zweimal dreimal dutzend hundert tausend million beide viele viel wenige wenig alle jeder jede",
    "zweite zweiter dritte dritter vierte",
)


def _forms(*patterns: str) -> re.Pattern[str]:
    return lazy_compile("|".join(patterns))


# One pattern per weekday, Monday first, including inflected forms.
WEEKDAYS = (
    _forms("mondays?|mon", "понедельник(?:а|у|ом|е|и|ам|ами)?", "poniedzial(?:ek|ku|ki|kiem|kow)", "lunes", "montags?"),
    _forms("tuesdays?|tues?", "вторник(?:а|у|ом|е|и|ам|ами)?", "wtor(?:ek|ku|ki|kiem)", "martes", "dienstags?"),
    _forms("wednesdays?|wed", "сред(?:а|у|ы|е|ой|ам)", "srod(?:a|e|y|zie|ami)", "miercoles", "mittwochs?"),
    _forms("thursdays?|thu|thurs?", "четверг(?:а|у|ом|е|и|ам)?", "czwart(?:ek|ku|ki|kiem)", "jueves", "donnerstags?"),
    _forms("fridays?|fri", "пятниц(?:а|у|ы|е|ей|ам)", "piat(?:ek|ku|ki|kiem)", "viernes", "freitags?"),
    _forms("saturdays?|sat", "суббот(?:а|у|ы|е|ой|ам)", "sobot(?:a|e|y|ami)", "sabados?", "samstags?|sonnabends?"),
    _forms("sundays?|sun", "воскресень(?:е|я|ю|ем|ям)", "niedziel(?:a|e|i|ami)", "domingos?", "sonntags?"),
)

# One pattern per month, January first.
MONTHS = (
    _forms("january|jan", "январ[ьяею]м?", "stycz(?:en|nia|niu)", "enero", "janu?ar|janner"),
    _forms("february|feb", "феврал[ьяею]м?", "lut(?:y|ego|ym)", "febrero", "februar"),
    _forms("march", "март(?:а|е|у|ом)?", "mar(?:zec|ca|cu)", "marzo", "marz"),
    _forms("april|apr", "апрел[ьяею]м?", "kwie(?:cien|tnia|tniu)", "abril"),
    _forms("ма(?:й|я|е|ю|ем)", "maj(?:a|u)?", "mayo", "mai"),
    _forms("june|jun", "июн[ьяею]м?", "czerw(?:iec|ca|cu)", "junio", "juni"),
    _forms("july|jul", "июл[ьяею]м?", "lip(?:iec|ca|cu)", "julio", "juli"),
    _forms("august|aug", "август(?:а|е|у|ом)?", "sierp(?:ien|nia|niu)", "agosto"),
    _forms("september|sept?", "сентябр[ьяею]м?", "wrzes(?:ien|nia|niu)", "septiembre|setiembre"),
    _forms("october|oct", "октябр[ьяею]м?", "pazdziernik(?:a|u)?", "octubre", "oktober"),
    _forms("november|nov", "ноябр[ьяею]м?", "listopad(?:a|zie)?", "noviembre"),
    _forms("december|dec", "декабр[ьяею]м?", "grud(?:zien|nia|niu)", "diciembre", "dezember"),
)

TIMES = _words(
    "today tomorrow yesterday tonight now then day days daily week weeks weekly month months monthly year years yearly",
    "annually hour hours hourly minute minutes morning mornings noon afternoon afternoons evening evenings night",
    "nights",
    "midnight spring summer autumn fall winter weekend weekends decade century am pm ago next christmas easter",
    "new-year",
    "сегодня завтра вчера сейчас утром днем вечером ночью день дня дней неделя неделю неделе месяц месяца год года лет",
    "весной летом осенью зимой весна лето осень зима выходные",
    "dzis dzisiaj jutro wczoraj teraz rano wieczorem noca dzien dni tydzien tygodniu miesiac miesiaca rok roku",
    "lat wiosna",
    "latem jesienia zima weekend",
    "hoy manana ayer ahora tarde noche dia dias semana semanas mes meses ano anos primavera verano otono invierno",
    "heute morgen gestern jetzt abend abends nacht nachts tag tage taglich woche wochen wochentlich monat monate jahr",
    "jahre fruhling sommer herbst winter wochenende morgens mittag mittags",
)

# Words that do not matter: articles and copulas.
EMPTY = _words("a an the is are be being that of at", "el los las es son", "der das ist sind", "jest sa")

# Words that begin an addition to the previous statement.
ADDING = _words(
    "with along near by for because when while during through around",
    "с вдоль около для потому когда во-время",
    "z wzdluz przy dla bo podczas",
    "con por porque cerca durante cuando",
    "mit entlang nahe fur weil wahrend",
)

# Markers in scripts without spaces, found within a run of letters.
DENSE_NEGATIONS = (
    "ではありません|じゃありません|ではない|じゃない|くない|ません|ない|なかった|なくなった|なし|無し|ぬ|ずに|決して",
    "不|没有|没|沒|无|無|非|未|别|勿|않|없|못|아니|안|ไม่|ไร้",
)
DENSE_POLARITIES = (
    "大好き|好き|大嫌い|嫌い|好む|嫌う|苦手|得意|やめ|辞め|始め|続け|まだ|もう|だけ|しか|かもしれ|たぶん|多分|だろう|でしょう",
    "でした|だった|ました|いた|前|後|より|以上|以下|多い|少ない|良い|悪い|いい|既婚|独身|元|たい|か[?？]",
    "喜欢|喜歡|讨厌|討厭|爱|愛|恨|开始|停止|已经|曾|以前|以后|可能|也许|좋아|싫어|사랑|미워|시작|그만|했|였|었|았|ชอบ|เกลียด|รัก",
)
DENSE_WEEKDAYS = tuple(
    f"{kanji}曜日?|星期{numeral}|周{numeral}|禮拜{numeral}|礼拜{numeral}|{hangul}요일"
    for kanji, numeral, hangul in zip("月火水木金土日", "一二三四五六日", "월화수목금토일", strict=True)
)
DENSE_TIMES = (
    "今日|明日|昨日|毎日|毎週|毎月|毎年|朝|昼|夜|晩|午前|午後|今|来週|先週|今天|明天|昨天|오늘|내일|어제|[年月週周]",
)
DENSE_NUMBERS = ("[〇零一二三四五六七八九十百千万億两兩]+",)
