"""The forms of clauses that the rules know, one a line; of several that match, the first counts."""

from mnemolog.domain.entity import PERSON
from mnemolog.domain.extraction import times
from mnemolog.domain.extraction.belongings import bank, bank_now, bank_over, laptop, smoker, smokes_no_more
from mnemolog.domain.extraction.figures import (
    COST,
    CURRENCY,
    EMAIL,
    MONEY,
    PER,
    PHONE,
    RATE,
    SUM,
    cost,
    cost_over,
    earned,
    email,
    phone,
    raised,
    rate,
)
from mnemolog.domain.extraction.makers import (
    address,
    age,
    ailing,
    allergic,
    appointment,
    arrived,
    been_married,
    booked,
    born,
    called,
    car,
    car_bought,
    car_instead,
    diet,
    dose,
    drug,
    drug_instead,
    drug_over,
    due,
    eats,
    ends,
    ends_study,
    event,
    event_moved,
    favourite,
    freelance,
    gave_notice,
    joined,
    joins,
    last_day,
    left,
    likes,
    lived_in,
    lives_in,
    lives_on,
    living_with,
    married_to,
    moved_from,
    moved_to,
    moving,
    named_so,
    names,
    names_other,
    newly_occupied,
    no_longer,
    not_allergic,
    not_moving,
    occupied,
    only_intolerant,
    outgrown,
    parents,
    petless,
    planned,
    related,
    several,
    started_at,
    starts_as,
    starts_at,
    studied,
    studies_instead,
    switched,
    takes_over,
    titled,
    travels,
    trip,
    trip_again,
    trip_instead,
    trip_moved,
    trip_over,
    values,
    weekly,
    weekly_now,
    weekly_over,
    works_at,
    works_from,
)
from mnemolog.domain.extraction.others import (
    cancelled,
    child_aged,
    died,
    ends_for,
    given_away,
    left_the_company,
    lost,
    newborn,
    no_longer_is,
    parted,
    renamed,
    surname_changed,
    their_relative,
    they_are_aged,
    they_are_engaged,
    they_are_seeing,
    they_attend,
    they_have,
    they_live_in,
    they_live_with_me,
    they_married,
    they_move,
    they_moved_in_with_me,
    they_moved_out,
    they_moved_to,
    they_outgrew,
    they_parted,
    they_started_at,
    they_turned,
    they_were_born,
    they_work_as,
    they_work_at,
    wed,
    wed_to_partner,
)
from mnemolog.domain.extraction.rule import PERSON_NAME, Rule, form, named, rule
from mnemolog.domain.extraction.vocabulary import AGES, SEVERAL, SUBJECTS, VERBS
from mnemolog.domain.lazy_regex import compile_lazy

_EVENT = (
    r"(?:the|my|our) (?:new )?(?-i:(?P<place>[A-Z][\w-]+) )?(?:(?!(?:next|last|first|second|final|big|little|whole|old|other)\b)(?P<kind>[a-z]{3,}) )?(?P<noun>wedding|(?:job )?interview|appointment|exam|flight|surgery|operation|graduation"
    r"|concert|party|conference|funeral|christening|race|deadline|due date|reunion|marathon|recital|ceremony|move|meeting|trip|holiday|vacation"
    r"|(?:dentist|doctor|dentist's|doctor's) appointment|housewarming|birthday party|driving test)"
    r"(?: (?:to|in) {NAME})?"
)
# What `they` say of somebody else, with `has` and the like.
_HAVE = (
    r"(?:'s| has| have| is| was| got)?(?: (?:just|now|finally|recently|since|already|sadly|unfortunately|officially))*"
)
_HAS = r"(?:(?: has|'s| have) got| has| have| (?:has )?developed)"
_COSTS = (
    r"(?:(?: is|'s)(?: now| going| up| down| currently)*(?: to)?| costs(?: me| us)?| will be"
    r"|(?: has| was| were| been| got|'s| just| is)*(?: raised| lifted| bumped| lowered| reduced| cut| gone| went| goes| going| increased| risen| rose| dropped| fallen| fell| come| came)(?: back)?(?: up| down)? to)"
)
_NEW = r"(?:{I} (?:have|got) )?(?:an? )?new"
_CHANGED = r"{I} (?:changed|switched|updated) my"
_INTO = r"(?: to|:|,? (?:it's|its|it is))(?: now)?"
_PARTED = r"(?:split up|split|separated|broke up|broken up|divorced|(?:are )?no longer together|(?:(?:are )?not|aren't) together any ?more|(?:got|are) (?:divorced|separated)|(?:are )?(?:separating|splitting up|divorcing|getting (?:a )?divorced?)|(?:have )?called it quits|are (?:over|finished|done|history))"
_GONE = r"(?=$|[,.!;:(]| (?:and|but|because|so|of|from|after|peacefully|suddenly|unexpectedly|in (?:his|her|their) sleep|in the night|overnight|last|yesterday|by text|by phone|this|while|surrounded|at (?:home|the age|age))\b)"
_AGE = rf"(?P<value>\d{{1,2}}|{'|'.join(AGES)})"
_FORM_OF_SCHOOL = (
    r"(?:reception|kindergarten|preschool|nursery|sixth form|(?:her|his|their) (?:first|second|third|final|last) year"
    r"|(?:year|form|grade|class|primary|junior|standard)(?: (?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen))"
    r"|(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\d{1,2}(?:st|nd|rd|th)) (?:grade|form|year)|[yp]\d{1,2})"
)
_AGAIN = r"(?: (?:once |yet )?again)?(?:,(?: this time)?)?"
_ALONG = r"(?: with (?:(?:(?:my|his|her|their) )?(?!the\b)[\w'-]+(?: (?:and|&) (?:(?:my|his|her|their) )?[\w'-]+)?|the (?:kids|children|family|boys|girls|dogs?|cats?)))?"
_MOVED = (
    r"(?:(?: was| got| is| has|'s)(?: (?:been|now|just))*)? (?:moved|postponed|rescheduled|rearranged|pushed(?: back)?|put back|brought forward"
    r"|shifted|changed|delayed|extended)"
)

# fmt: off
# In these, a date is what is said, not since when it holds.
DATES: tuple[Rule, ...] = named(
    rule("birthday", rf"my (?:birthday|date of birth)(?: is|'s| falls)(?: (?:actually|really|in fact))?(?: on)? (?P<value>{times.DAY_AND_MONTH})", born),
    rule("birthday", rf"{{WHO}}'s birthday(?: is|'s| falls)(?: on)? (?P<value>{times.DAY_AND_MONTH})(?=$|[,.!;]| (?:and|but|so)\b)", they_were_born),
    rule("birthday", rf"(?:on )?(?:the )?(?P<value>{times.DAY_AND_MONTH}) (?:is|'s) my (?:birthday|date of birth)(?=$|[,.!;])", born),
    rule("born", rf"{{WHO}} was born(?: on| at)?(?: the)? (?P<value>{times.DAY_AND_MONTH}|today|yesterday|last night|this (?:morning|afternoon|evening))\b", newborn),
    rule("born on", rf"i was (?:actually |really )?born on (?P<value>{times.DAY_AND_MONTH})", born),
    rule("'m |am |turned", r"{I}(?: turned)? (?P<value>[1-9]\d) (?:years old|today)", age),
    rule("i'm |i am ", r"i(?:'m| am)(?: now)? (?P<value>[1-9]\d)(?=$|[.!,](?! ?\d)| and\b)", age),
    rule("turned", r"{I} turned (?P<value>[1-9]\d)(?=$|[,.!]| (?:yesterday|today|last|this|on|in|two|three|a few)\b)", age),
    rule("on |for |be |now ", rf"{_EVENT}(?: takes place|(?:'s| is| will be)(?: going to be| set| scheduled| planned)?)(?: now)?(?: (?:on|for))? (?P<when>{times.POINT})", event),
    rule("appointment", rf"(?:(?:my|the) )?{{PRACTITIONER}}(?:'s)?(?: office)?(?: has| had to)? (?:moved?|postponed?|rescheduled?|pushed|changed|delayed) (?:my|our|the) appointment(?: back)? (?:to|until|for) (?P<when>{times.POINT})\b", appointment),
    rule("on |for ", rf"(?:(?:my|the|our) )?{{PRACTITIONER}}(?:'s)?(?: appointment)?(?: is| is now| has been moved to| got moved to)? (?:on |for )?(?P<when>{times.POINT})(?=$|[,.!]| (?:at|in|from|with|because|now|instead)\b)", appointment),
    rule("last day|last shift", rf"my last (?:day|shift) (?:at|with) {{NAME}} (?:is|was|will be)(?: on)? (?P<when>{times.POINT})", last_day),
    rule("to |until|till", rf"{_EVENT}{_MOVED} (?:to|until|till|for) (?P<when>{times.POINT})", event_moved),
    rule("back on|on again", rf"{_EVENT}(?: is|'s)(?: now)? (?:back on|on again)[,:]?(?: (?:for|on|in))? (?P<when>{times.POINT})\b", event),
    rule("due", rf"(?:(?:the|our|my) (?:baby|little one|twins)(?: is|'s| are)|{{AM}}(?: pregnant[,!]?(?: and)?)?)(?: now)? due (?:on |in )?(?P<when>{times.DAY_AND_MONTH})", due),
    rule("booked", rf"{{I}} re-?booked {_EVENT} (?:for|on) (?P<when>{times.POINT})", event_moved),
    rule("booked", rf"{{I}} (?:re-?)?booked(?: (?:an?|our|my|the|some|two))?(?: (?!(?:table|seat|ticket)s?\b)[a-z-]+){{0,3}} (?:flights?|trip|holiday|vacation|week|weekend|hotel|getaway|break) (?:to|in) {{NAME}} (?:for|on|from|in) (?P<when>{times.POINT})", booked),
    rule("getaway|trip|holiday|vacation|break|weekend", rf"(?:{{I}} (?:got|have|planned) |there's )?an?(?: [a-z-]+){{0,2}} (?:trip|holiday|vacation|break|weekend|getaway) (?:to|in) {{NAME}}(?: with [\w ]{{2,20}}?)?,? (?:on|for|from) (?P<when>{times.POINT})\b", booked),
    rule("to |until|till", rf"(?:{{I}}|they|[\w' -]{{2,30}}?(?: has| have)?(?: just)?(?= \w+ (?:my|our)\b))(?: have)? (?:moved|postponed|rescheduled|pushed|shifted|put|delayed|changed|extended|rebooked) {_EVENT}(?: back)? (?:to|until|till) (?P<when>{times.POINT})", event_moved),
    # What something costs, and the numbers under which somebody is reached.
    rule("rent|mortgage|salary|wage|pension|rate|charge|tax|money|insurance|bill|member|fee|tuition|subscr|childcare|deduct", rf"(?:my|our)(?: (?:new|current|monthly|weekly))* (?P<what>{COST})(?: here| there| at (?:the )?(?-i:[A-Z])[\w'-]+)?{_COSTS} {MONEY}", cost),
    rule("put|rais|increas|lower|cut|drop|upp|bump", rf"(?:{{I}}|they|(?:(?:the|my|our) )?(?:landlord|landlady)|{{OTHER}})(?: has| have|'ve|'s| is| are| had to)?(?: just| finally)* (?:put|putting|rais(?:ed?|ing)|increas(?:ed?|ing)|lower(?:ed|ing)?|cut|dropped|upped|bumped) (?:my|our|the) (?P<what>{COST})(?: up| down)?(?: from [^,;]{{2,20}}?)?(?: to|,? (?:so |and )?(?:it's|it is)(?: now)?) {MONEY}", cost),
    rule("earn|make", rf"i(?: now)? (?:earn|make(?= (?:about |around )?(?:[£$€]|\d[\d,.]*(?:k\b| ?{CURRENCY}| ?{PER}))))(?: about| around)? (?P<value>[£$€]? ?(?:\d{{1,3}}(?:,\d{{3}})+|\d{{4,6}}|\d{{2,3}}k)(?: ?{CURRENCY})?(?: ?{PER})?)(?=$|[,.](?!\d)|[!;]| (?:now|before|after|gross|net|and|but|plus|at|as)\b)", earned),
    rule("m on |am on |me on ", rf"(?:{{AM}}(?: now)?|(?:they|they've|they have)(?: just)? put me) on(?: about| around)? (?P<value>(?:[£$€] ?\d{{2,3}}(?:,\d{{3}}|k)|(?:[2-9]\d|1\d\d)k)(?: ?{PER})?)(?=$|[,.](?!\d)|[!;]| (?:now|before|after|gross|net|and|but|plus|at|as)\b)", earned),
    rule("pay", rf"my(?: (?:new|basic|base|gross|net|take-home|current))* pay{_COSTS} {MONEY}", earned),
    rule("raise|rise", rf"(?:{{I}}|(?:they|(?:my|the) (?:boss|company))(?: have| has|'ve|'s)?(?: just| finally)? (?:gave|given) me|{{I}} (?:had|been|was) given)(?: just| finally)?(?: (?:got|had|given|been given))? (?:a|my|the|another)(?: [a-z-]+)? (?:raise|(?:pay )?rise)(?:,? (?:to|so|and)|,| -)?(?: (?:it's|it is|i'm|i am|i make|i earn|now|up to|on))* {MONEY}", raised),
    rule("pay", rf"{{I}} (?:pay|paying) {SUM} (?:in|for|of)(?: my| our)? (?P<what>{COST})(?=$|[,.!;]| (?:now|and|but)\b)", cost),
    rule("charge", rf"{{I}}(?: now)? charg(?:e|ing)(?: now)? {RATE}", rate),
    rule("number|mobile|phone|cell", rf"my(?: (?:new|current))*(?:(?: (?:mobile|cell|phone|telephone))? (?:number|no)| (?:mobile|cell|phone))(?:'s| is| has)?(?: (?:changed|now))*[,:]?(?: (?:it's|its|it is|to|is|now))* {PHONE}", phone),
    rule("new number|new mobile|new phone", rf"{_NEW} (?:(?:mobile|phone|cell) )?number(?: is|'s|,|:)?(?: (?:it's|its|it is))? {PHONE}", phone),
    rule("mail", rf"my(?: (?:new|current))* e-?mail(?: address)?(?: is|'s| has| changed)*(?: (?:changed|now))*(?: to)?:? {EMAIL}", email),
    rule("new email|new e-mail|new mail", rf"{_NEW} e-?mail(?: address)?(?: is|'s|,|:)?(?: (?:it's|its|it is))?:? {EMAIL}", email),
    rule("mail", rf"{_CHANGED} e-?mail(?: address)?{_INTO} {EMAIL}", email),
    rule("number", rf"{_CHANGED}(?: (?:mobile|phone|cell))? number{_INTO} {PHONE}", phone),
    # Days of the week on which something is, again and again.
    rule("every|each|on ", r"{I}(?: (?:always|usually|normally))? (?:(?:go|do|play|take|attend)(?: to)?|have(?= {PRACTICE}))(?: (?:my|an?|the|our))? {HABIT}(?: {LESSONS})? {WEEKDAYS}", weekly),
    rule("shifted|moved|changed|switched", r"(?:(?:my|the|our) )?{HABIT}(?: {LESSONS})?(?:'s)? (?:(?:has|have|is|are|was|were|got|been|now) )*(?:moved|changed|switched|shifted)(?: from [\w ]{6,30}?)? to (?=[\w ]+s\b){WEEKDAYS}", weekly_now),
    rule("shifted|moved|changed|switched", r"{I} (?:shifted|moved|changed|switched)(?: (?:my|the|our))? {HABIT}(?: {LESSONS})?(?: from [\w ]{6,30}?)? to (?=[\w ]+s\b){WEEKDAYS}", weekly_now),
    rule("days to|nights to|evenings to", rf"{{I}} (?:shifted|moved|changed|switched) (?:my|our) (?P<what>[a-z]+) (?:days|nights|evenings)(?: from [\w ]{{6,30}}?)? to (?P<days>(?:{times.DAY}s?(?:, | and |, and | & )?)+)(?=$|[,.!;]| (?:now|and|because|so|instead)\b)", weekly_now),
    rule("day", r"(?:{I} (?:(?:go|went|been|going) to) )?(?:(?:my|the|our) )?{HABIT}(?: {LESSONS}(?: at (?:the )?[a-z]{3,20})?)?(?: now)?(?:(?:,? which)? (?:is|are|has been|have been|meets?|is meeting|runs?)|'s)(?: now)? (?=(?:every|each|on \w+(?:s| \w+s)|\w+days(?: now| at)? ?\d\w*)\b){WEEKDAYS}", weekly_now),
    rule("shifted|moved|changed|switched", r"{OTHER}(?: has|'s)?(?: just)? (?:shifted|moved|changed|switched) (?:my|the|our) {HABIT}(?: {LESSONS})?(?: from [\w ]{6,30}?)? to (?=[\w ]+s\b){WEEKDAYS}", weekly_now),
    # Trips that are known: much else is moved.
    rule("postponed|moved|rescheduled|pushed|forward|changed|delayed", rf"(?:(?:the|our|my) )?{{PLACE}}{{NAME}}(?: (?:trip|holiday|vacation))?{{GOT}}? (?:moved|postponed|rescheduled|pushed(?: back)?|brought forward|changed|delayed)(?: back)? (?:to|until|till|for) (?P<when>{times.POINT})\b", trip_moved),
    rule(" is on| is now| is from| is in|'s on|'s now|'s from|will be", rf"(?:(?:the|our|my) )?{{PLACE}}{{NAME}}(?: (?:trip|holiday|vacation))?(?: is|'s| will be)(?: now)? (?:on|from|in) (?P<when>{times.POINT})\b", trip_moved),
    rule("back on|on again", rf"(?:(?:the|our|my) )?{{PLACE}}{{NAME}}(?: (?:trip|holiday|vacation))?(?: is|'s)(?: now)? (?:back on|on again)[,:]?(?: (?:for|on|in|from))? (?P<when>{times.POINT})\b", trip_again),
    rule("rebooked|re-booked", rf"{{I}} re-?booked {{PLACE}}{{NAME}} (?:for|on|from|in)(?: [a-z ]{{2,20}},)? (?P<when>{times.POINT})\b", trip_again),
    rule("postpon|mov|reschedul|push|delay|chang", rf"{{I}}(?: (?:had|have) to)? (?:moved?|postponed?|rescheduled?|push(?:ed)?|delay(?:ed)?|changed?) {{PLACE}}{{NAME}}(?: (?:trip|holiday|vacation))?(?: back)? (?:to|until|till|for) (?P<when>{times.POINT})\b", trip_moved),
)

# What these are about was said before.
AT_WORK = form(r"{WHO}(?: is|'s|'re| are)(?: now)?(?: working)? (?:at|with|for) {NAME}{END}")
THERE_NOW = form(r"{AM} (?P<where>in|at) (?!the ){NAME} (?P<when>now|these days)\b(?! for\b)")
HAS_QUIT = form(r"(?P<whose>{WHO})" + _HAVE + r" (?:quit|left|leaving|resigned from) {NAME}[.!,]*$")
NOW_AT = form(r"(?:she|he)(?:'s| is| has)?(?: (?:now|just|already))* (?:(?:works|working)(?: (?:at|for))|joining|started(?: (?:working|a new job))? (?:at|with|for)|joined|at){FIRM_CALLED} {NAME}{END}")
MOVED_IT = form(rf"(?:{{I}}(?: had to)? (?:move|moved|postpone|postponed|reschedule|rescheduled|push|pushed|delay|delayed|change|changed) it|it{_MOVED})(?: back)? (?:to|until|till|for) (?P<when>{times.POINT})")
ONLY_INTOLERANT = form(r"(?:(?:my|the|that) allergy|it) {INTOLERANCE}(?=$|[,.!])")
OFF_IT = form(r"(?:(?:{TREATS}|they|she|he)(?: has|'s)?(?: just)? (?:took|taken) me off|{I} (?:(?:stopped|quit|no longer) (?:taking|take)|(?P<bare>stopped|quit)|(?:came |come |taken )?off)) (?:it|that|them){FOR_GOOD}")
SWAPPED_IT = form(r"(?:{DOCTOR}|they|she|he|{OTHER}|{I})(?: has| have|'s|'ve)?(?: just| now)* (?:swapped|replaced|changed|switched) (?:it|that) (?:for|with|to|by)(?: {DOSE})? {DRUG}(?:,? (?P<amount>{AMOUNT}))?")
ON_NOW = form(r"(?:{AM} on|it(?:'s| is)(?: now)?(?: up| down)?(?: to)?) (?P<amount>{AMOUNT}|\d+(?:\.\d+)?)(?: now| a day)*(?=$|[,.!;])")
ITS_NOW = form(r"(?P<raised>[^,;]{6,80}),? (?:and |so |now )?(?:it(?:'s| is)|its|i'm on|i am on|up to|down to)(?: now)? (?P<amount>{AMOUNT}|\d{1,3}(?:\.\d+)?)(?: (?:now|mg|a day|once a day|daily))*(?=$|[,.!;])")
_OR_NOT = r"(?:,? (?:and )?not [\w.+@ ()/-]+)?$"
REACHED_AT = {
    "email": (form(rf"(?:(?:it|that|this)(?:'s| is)(?: (?:actually|really))? )?{EMAIL}{_OR_NOT}"), email),
    "phone_number": (form(rf"(?:(?:it|that|this)(?:'s| is)(?: (?:actually|really))? )?(?!\d{{4}}-\d\d?-){PHONE}{_OR_NOT}"), phone),
}
MOVED_IN = form(r"{I}(?: all)? moved in(?:to (?:the|our|my)(?: new)? (?:flat|house|apartment|place|studio|bungalow|home))?(?=$|[,.!])")
SO_IS = form(r"(?:so )?is {NAME}(?: too)?$")
INSTEAD = form(r"(?:{AM} (?:going|flying|travelling|traveling|off)|(?:i|we)(?:'ll| will) (?:go|fly|travel)) to {NAME}(?: (?P<when>(?:in|on|for|next|this) [\w ]{2,20}?))? instead(?=$|[,.!;]| with\b)")
STARTS = form(rf"i(?:'ll| will|'m going to)? (?:start|started|begin|began)(?: (?:work|there))? (?P<when>(?:(?:on|in|from|this|next|last) )?{times.POINT})(?=$|[,.!])")
BACK_ON = form(r"(?:(?:the|our|my) )?{PLACE}{NAME}(?: (?:trip|holiday|vacation))?(?: is|'s)(?: now)? (?:back on|on again)(?=$|[,.!;])")
SEEING = form(r"{I} (?:(?:started|begun|been) )?(?:seeing|dating|going out with) (?:someone|somebody)(?: new)?(?:,? (?:sort of|kind of|now|again|lately))?[\s.!,]*$")
FLIES_ON = form(rf".*(?:\b(?:{{I}}|and|now)|[,;:]|^) ?(?:now )?(?:go|leave|fly|set off|going|leaving|flying|off)(?: out)?(?: now)? (?:on )?(?P<when>{times.POINT})\b")
IT_IS_A_HOME = form(r"it(?:'s| is) {SOME_HOME} (?:(?P<street>on|at)|in) {NAME}{END}(?:,? in {TOWN})?")
HOME_NOW = form(r"{PLACE}{NAME}(?: is|'s) (?:now home|home(?P<own> (?:for|to) (?:me|us))?(?: (?:now|these days))?)(?=$|[,.!;]| (?:and|but|so)\b)")
AND_TO = form(rf"(?:(?:and|then|also) )*to {{NAME}}(?: for [\w ]{{2,20}}?)? (?:on|from) (?P<when>{times.POINT})(?=$|[,.!;])")
AND_THERE = form(rf"(?:and |then |also )*{{NAME}}(?: for [\w ]{{2,20}}?)? (?:on|from) (?P<when>{times.POINT})(?=$|[,.!;])")
GOT_ONE = form(r"(?:(?:so|well|and|hey|hi|guess what|big news|btw|oh)[,.!]* )*(?:(?:i|we)(?:'ve| have)?(?: just| finally| also)? )?(?:got|adopted|have|rescued|bought|found|hired) (?:an?|another)(?: (?!friend)[a-z-]+){0,2}? {ONE}(?: (?:too|as well|from [\w ]{3,25}))?[\s.!,]*$")
SO_CALLED = form(r"(?:(?:he|she|it|they)(?:'s| is| are) (?:called|named)|(?:his|her|its|their) name(?:'s| is)) {OTHER}(?=$|[,.!;]| (?:and|from|who)\b)")
IT_IS = form(r"(?:.*(?:[,:]|\band|\bso|\bbut) )?(?:now )?(?:it(?:'s| is)|i(?:'m| am) with(?= (?:now )?(?-i:Dr|Prof)\b))(?: now)? {OTHER}(?: now)?(?:, not [^,]+)?$")
I_AM = form(r"(?:.*[,;:] (?:so |and )?|(?:since|after) (?:the|my|our) [a-z]{4,20},? )?(?:i(?:'m| am)|i go by|it(?:'s| is)|that(?:'s| is))(?: (?:now|officially|legally))* {FULL_NAME}(?: (?:now|again|these days|from now on|today))*(?=$|[,.!;])")
TRIP_GOES = form(r"(?:the|our|my)(?: next)? (?:trip|holiday|vacation|journey|flight|honeymoon|getaway|cruise)(?: (?:actually|really|now))*(?: goes| is going| leads| will go| is| was| will be)(?: (?:actually|really|going))*(?: (?:to|in))? {NAME}(?:,? \(?(?:and )?not(?: (?:to|in))? {FORMER}\)?)?{END}")
FLIES_TO = form(r"(?:{AM} (?:going|flying|travelling|traveling|off|heading)|(?:i|we) (?:go|fly|travel)) to {NAME}{STOP}")
HAS_LEFT = form(r".*?{ALONE}(?:'s| has| is| was)?(?: (?:just|now|been))* (?:left|leaving|retired|retiring|quit|resigned|moved on|fired|promoted|on (?:maternity|paternity|sick) leave)\b")
NAME_ALONE = form(r"(?:in |at |to |for )?(?:{NAME}|{OTHER})(?:,? not (?:in |at |to |for )?[\w .'-]+)?$")

RULES: tuple[Rule, ...] = named(
    # Home.
    rule("mov|relocat", r"{AM} (?:going to move|moving|relocating)(?: (?:over|back|down|up|out))? to {PLACE}{NAME}{END}", moving),
    rule("move to", r"(?:the|our|my) move to {NAME}(?:'s off| (?:is off|fell through|has fallen through|isn't happening|is not happening))(?=$|[,.!;]| (?:after all|now|any ?more|because|so|and)\b)", not_moving),
    rule("not", r"{AM} (?:not|no longer) (?:going to move|moving|relocating)(?: (?:over|back|down|up|out))? to {NAME}(?: (?:after all|any ?more|any longer))?{END}", not_moving),
    rule("will|'ll", r"(?:i|we)(?:'ll| will) (?:move|be moving|relocate) to {PLACE}{NAME}{END}", moving),
    rule("moved|relocated", r"{I} (?:moved|relocated)(?: (?:back|over|out|down|up|house|home))?" + _AGAIN + _ALONG + r"(?: here)? (?:to|into) {PLACE}{NAME}{END}", moved_to),
    rule("arrived|made it to", r"{I}(?: all)? (?:arrived in|made it to) {PLACE}{NAME}(?=$|[,.!]| (?:at last|and|with|last|safely|in one piece)\b)", arrived),
    rule("moved", r"{I} moved (?:back )?in with (?:my|our|his|her|their|some|a (?:friend|roommate|flatmate|couple)|(?-i:[A-Z]))[^,;]{0,40}? in {NAME}{END}", moved_to),
    rule("moved", r"{I} moved (?:back )?in with (?:my|our|(?-i:[A-Z]))", ends("lives_in")),
    rule("moving in", r"{AM} moving (?:back )?in with [\w .'-]{2,40}? in {NAME}{END}", moving),
    rule("moved out", r"{I} moved out(?=$|[,.!;])", ends("lives_in")),
    rule("moved", r"{I} moved (?:in)?to {SOME_HOME}(?: (?:with|together) [^,;]{2,40}?)?,? (?:in|near) {NAME}{END}", moved_to),
    rule("moved|live|living", r"{I} (?:moved (?:in)?to|live in|living in) {SOME_HOME} (?:on|at) {NAME}{END}(?:,? in {TOWN})?", lives_on),
    rule("moved in", r"{I} (?:bought|rented|found|got) {SOME_HOME} in {NAME},? (?:and|&) (?:(?:i|we) )?(?:have |'ve )?(?:just |finally |already )?moved in\b", moved_to),
    rule("moving in", r"{I} (?:bought|rented|found|got) {SOME_HOME} in {NAME},? (?:and|&) (?:we're|we are|i'm|i am) moving in(?=$|[,.!;]| (?:together|soon|with)\b)", moving),
    rule("renting|rent", r"{I} (?:renting|rent) {SOME_HOME} in {NAME}{END}", lives_in),
    rule("renting|rent", r"{I} (?:renting|rent) {SOME_HOME} (?:on|at) {NAME}{END}(?:,? in {TOWN})?", lives_on),
    rule("share|sharing", r"{I} (?:share|sharing) {SOME_HOME}(?: with [^,;]{2,40}?)? in {NAME}{END}", lives_in),
    rule("live|living", r"{I} (?:live|living) (?=with (?:my|our) )(?!.* (?:in|near|at) )", living_with),
    rule("back in", r"{AM} (?:back|home) in {NAME} (?:for good|permanently)", moved_to),
    rule("settled", r"{I} settled(?: down)? in {NAME}{END}", moved_to),
    rule("moved", r"{I} moved (?:out of|away from) {NAME}{END}", ends("lives_in")),
    rule("live", r"(?:i|we) (?:don't|do not) live in {NAME}(?:{NO_MORE}|(?: at all)?(?=$|[,.!;]))", ends("lives_in")),
    rule("longer", r"(?:i|we)(?:'m| am|'re| are)? no longer (?:live|living) in {NAME}{END}", ends("lives_in")),
    rule("used to", r"(?:i|we) used to live in {NAME}{END}", ends("lives_in")),
    rule("lived", r"{I} lived in {NAME}{END}", lived_in),
    rule("live|living|based|resid", r"{I} (?:live|living|based|reside|residing)(?: now)? in {NAME}{END}", lives_in),
    rule("live|living", r"{I} (?:live|living) (?:in an? (?:(?:small|tiny|little|quiet|big|pretty) )*(?:village|town|city|suburb) )?(?:just )?(?:outside(?: of)?|near|close to|not far from) {NAME}{END}", names("lives_near", category="Location", single=True)),
    rule("live|living", r"{I} (?:live|living) in an? (?:(?:small|tiny|little|quiet|big|pretty) )*(?:village|town|city|suburb)(?:,)? (?:called|named) {NAME}{END}", lives_in),
    rule("live|living", r"{I} (?:live|living) (?:with .{2,40}?|alone|on my own|by myself) in {NAME}{END}", lives_in),
    rule("home|place|flat|apartment|house", r"(?:home|(?:my|our)(?: new)? (?:home|place|flat|apartment|house))(?: is|'s)(?: now)?(?: in)? {NAME}{END}", moved_to),
    rule(" home", r"{PLACE}{NAME} is (?:now (?:my|our)(?: new)? home|(?:my|our)(?: new)? home now)(?=$|[,.!])", moved_to),
    rule(" home", r"i(?: now)? call {PLACE}{NAME} (?:my )?home(?: now)?(?=$|[,.!])", moved_to),
    rule(" resident", r"{I}(?: became| become)? an?(?: (?:official|permanent|legal|proud|new))* (?-i:(?!(?:Medical|Surgical|Junior|Senior|Chief|General|Emergency)\b)){NAME} resident(?=$|[,.!]| (?:now|again|and|at last)\b)", lives_in),
    rule(" resident of| resident in", r"{I}(?: became| become)? an?(?: (?:official|permanent|legal|proud|new))* resident (?:of|in) {NAME}{END}", lives_in),
    rule("place|city|town|country|village", r"the (?:place|city|town|country|village)(?: that| where| which)? (?:i|we)(?:'ve| have)?(?: just| now)? (?:live in|live|moved to|moved into|moved|relocated to) (?:is|was) {NAME}{END}", lives_in),
    rule("it is|it's|it was", r"(?:it is|it's|it was) {NAME} (?:(?:that|where) )?(?:i|we) (?:live|moved|relocated)(?: in| to)?$", lives_in),
    rule("address", r"(?:my|our)(?: (?:new|home|current|postal))* address(?: (?:is|(?:has )?changed(?: again)?(?:,|:)? (?:it's|it is|to)))?(?: now)?:? (?P<value>\d+\w? (?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+){0,3})(?:, {NAME}{END}|(?=$|[,.!;]| now\b))", address),
    # Work.
    rule("work", r"i (?:don't|do not) work (?:at|for) {NAME}(?:{NO_MORE}|(?: at all)?(?=$|[,.!;]))", ends("works_at", in_short=True)),
    rule("longer|not", r"i(?:'m| am)? (?:no longer|not) (?:work|working|employed|with)(?: at| for| by)? {NAME}{NO_MORE}?{END}", ends("works_at", in_short=True)),
    rule("no longer", r"{AM} no longer at {NAME}{END}", ends("works_at", in_short=True)),
    rule("used to", r"i used to work (?:at|for) {NAME}{END}", ends("works_at", in_short=True)),
    rule("quit|left|resigned|leaving|retired", r"{I} (?:quit|left|resigned from|leaving|retired from)(?: (?:my|the) (?:job|position|role) (?:at|with))? {PLACE}{NAME}{END}", left),
    rule("fired|sacked|laid off|let go", r"{I} (?:got |was |were )?(?:fired|sacked|laid off|let go) (?:from|by|at) {NAME}{END}", ends("works_at", in_short=True)),
    rule("notice|resignation", r"{I} (?:handed in|handing in|put in|given in|gave in|gave|given|submitted) (?:(?:my|our) )?(?:(?P<weeks>\d|one|two|three|four|six|eight) weeks?'? )?(?:notice|resignation)(?: (?:at|to) (?:{PLACE}{NAME}|(?P<small>(?!(?:work|last|least|the|my|our|this|once|lunch)\b)[a-z][\w'&]+(?: (?!and\b)[a-z][\w'&]+)?)))?(?=$|[,.!;]| (?:at work|and|because|so|cos|after)\b)", gave_notice),
    rule("job|position", r"{I} (?:quit|left|lost|resigned from) my (?:job|position)(?=$|[,.!])", ends("works_at")),
    rule("fired|sacked|laid off|redundant|let go", r"{I}(?: got| was| were)? (?:fired|sacked|laid off|made redundant|let go)(?=$|[,.!])", ends("works_at", in_short=True)),
    rule("resigned|unemployed|out of work|between jobs|retired", r"{I} (?:resigned|unemployed|out of work|between jobs|retired)(?=$|[,.!]| now\b)", ends("works_at")),
    rule("work", r"{I} (?:work|working) {AS_A}(?: (?P<link>at|for|with|in) {NAME}{END})?", occupied),
    rule("work", r"{I} (?:work|working|started working|began working)(?: (?:full[- ]time|part[- ]time|remotely|again))? (?:at|for){FIRM_CALLED} {NAME}{END}", works_at),
    rule("job|position|role", r"{I} (?:started|starting|began|got|taken|took|accepted|landed|have)(?: (?:a|the|my|an))?(?: (?:new|great|full[- ]time|part[- ]time))* (?:job|position|role) (?:at|with|for){FIRM_CALLED} {NAME}{END}", started_at),
    rule("job|position|role", r"{I} (?:started|starting|began|got|taken|took|accepted|landed)(?: (?:a|the|my|an))?(?: (?:new|great|full[- ]time|part[- ]time))* (?:job|position|role) {AS_A}(?: (?:at|for|with) {NAME}{END}|(?=$|[,.!]| (?:and|in|from)\b))", newly_occupied),
    rule("jobs|companies|employers", r"{I} (?:switched|changed|moved) (?:jobs|companies|employers),? from [^,]{2,40}? to {NAME}{END}", started_at),
    rule("jobs", r"{I} (?:switched|changed) jobs(?: and| &|,) (?:now )?(?:work|working) (?:at|for) {NAME}{END}", started_at),
    rule("as a", r"{I} (?:started|starting)(?: (?:work|working))? as an? {OCCUPATION}(?: (?:at|for|with) {NAME}{END}|(?=$|[,.!]| (?:and|in|from)\b))", newly_occupied),
    rule("switch|chang", rf"i(?:'ve| have|'m| am)?(?: (?:just|now|also))* (?:switched|switching|changed|changing)(?: (?:my )?(?:course|degree|major|subject)s?)?(?: over)?(?: from [a-z ]{{3,25}}?)? to (?P<value>(?:{SUBJECTS}))(?=$|[,.!;]| (?:and|because|now|at|since|but)\b)", studies_instead),
    rule("switched from", r"{I} switched(?: over)? from {FORMER} to (?:(?:their|a) (?:competitor|rival),? )?{NAME}(?=$|[,.!(]| (?:now|and|as|because|since|this|last)\b)", switched),
    rule("moved from", r"{I} moved(?: back)? from {FORMER} to {NAME}{END}", moved_from),
    rule("start", r"{I} (?:started|starting) (?:(?:work )?at|work(?:ing)? (?:at|for|with)) (?!the University(?! Hospital)){PLACE}{NAME}{END}(?:,? as an? {OCCUPATION})?", starts_as),
    rule("start|begin", r"i (?:start|begin) (?:(?:work )?(?:at|with)|(?:my|the|a) (?:new )?(?:job|role|position) (?:at|with)) (?!the University(?! Hospital)){PLACE}{NAME}{END}(?:,? as an? {OCCUPATION})?", starts_at),
    rule("'ll|will|going to", r"i(?:'ll| will|(?:'m| am) going to)(?: (?:now|then|also|finally|officially))* (?:(?:start|begin|be starting|be beginning)(?: (?:work(?:ing)?|teaching))? (?:at|for|with)|(?:start|begin|be starting) (?:my|the|a) (?:new )?(?:job|role|position) (?:at|with)|(?:join|be joining)(?! the\b)) (?!the University(?! Hospital)){PLACE}{NAME}{END}(?:,? as an? {OCCUPATION})?", starts_at),
    rule("'ll|will|going to", r"i(?:'ll| will|(?:'m| am) going to)(?: (?:now|then|also|finally|officially))* (?:work|be working|teach|be teaching)(?: (?!not\b)[a-z ]{2,30}?)? (?:at|for) {PLACE}{NAME}{END}", works_from),
    rule("i join", r"i join (?!the ){PLACE}{NAME}{END}(?:,? as an? {OCCUPATION})?", starts_at),
    rule("join", rf"{{I}} (?:joined|joining) (?!the ){{PLACE}}{{NAME}}(?:{{END}}(?! for (?!the\b|an? (?:year|job))| in (?!(?-i:[A-Z])))|(?= (?P<when>{times.DAY})\b))", joined),
    rule("offer|contract", r"{I} (?:accepted|(?:took|taken|signed)(?= .{0,12}(?:job|contract))) (?:an?|the|their|my)(?: new)?(?: job)? (?:offer|contract) (?:from|at|with) {NAME}{END}", joins),
    rule("let me go|fired me|sacked me|laid me off|redundant", r"(?:they|(?:my|the|our) (?:boss|manager|company|firm|employer|school|agency|owner))(?: have| has|'ve|'s)?(?: just)? (?:let me go|fired me|sacked me|laid me off|made me redundant)(?=$|[,.!;]| (?:and|after|because|without|last|today|yesterday|this)\b)", ends("works_at", in_short=True)),
    rule("let me go|fired me|laid me off|redundant", r"{NAME} (?:has |have )?(?:just )?(?:let me go|fired me|laid me off|made me redundant)(?=$|[,.!;]| (?:and|after|because|in|without|for)\b)", ends("works_at", in_short=True)),
    rule("freelanc|self-employed", r"{I} (?:(?:gone|went|going|became|become|registered as|(?:started|begun|began|quit) to|started|begun|began|work|working(?: as)?) )?(?:an? )?(?:freelance|freelancing|freelancer|self-employed)(?:,? full[- ]time)?(?=$|[,.!;]| (?:now|again|as|since|these)\b)", freelance),
    rule("for myself", r"{I} (?:(?:started|begun|began) )?(?:work|working) for myself(?=$|[,.!;]| (?:now|these days|again|and|as|since|full[- ]time)\b)", freelance),
    rule("own boss", r"{AM} my own boss(?=$|[,.!;]| (?:now|these days|again|at last)\b)", freelance),
    rule(" own ", r"{I} (?:(?:set up|created|established|have)(?= .*\b{FIRM}\b)|started(?: up)?|founded|opened|launched|run|running) (?:my|our) own(?: (?!(?:old|former)\b)[a-z-]+){0,2} (?:{FIRM}|{WORKROOM})(?:(?:,|:|,? called|,? named|,? (?:and )?(?:it's|it is|which is) called) {NAME}{END}|{FIRM_END})", freelance),
    rule("founded|started|launched|set up", r"{I} (?:founded|co-founded|started|launched|set up) an?(?: [a-z-]+){0,2} (?:business|company|firm|start-?up|agency|consultancy)(?:(?:,|:| called| named) {NAME}{END}|{FIRM_END})", freelance),
    rule("on my own", r"{I} (?:gone|went|struck) out on my own(?: as an? {OCCUPATION}| with (?:an?|my)(?: [a-z-]+){0,2} (?:{FIRM}|{WORKROOM}))(?=$|[,.!;]| (?:now|in|last|this|and)\b)", freelance),
    rule("freelanc|self-employed", r"{I} (?:(?:stopped|quit|given up|gave up|done(?: with)?|finished(?: with)?) (?:freelancing|freelance work|being (?:self-employed|a freelancer))|(?:no longer|not)(?: an?)? (?:freelance|freelancing|freelancer|self-employed)(?:{NO_MORE})?)(?=$|[,.!;]| (?:now|and|because|since|for good|altogether)\b)", ends("employment")),
    rule("closed|shut|wound|sold|gave up|given up|folded", r"{I} (?:closed(?: down)?|shut(?: down)?|wound up|sold|given up|gave up|folded) (?:(?:my|our) own(?: [a-z-]+){0,2} {FIRM}|(?:my|our) (?:business|company|firm|start-?up|agency|consultancy|practice))(?: down)?{FIRM_END}", ends("employment")),
    rule("promoted", r"{I} (?:got |was |were )?promoted to {TITLE}", titled),
    rule("title|role|position", r"my(?: new| current)? (?:job title(?: is(?: now)?| changed to| became)|(?:title|role|position)(?: at work)? is now) {TITLE}(?=$|[,.!]| (?:at|now|from|as)\b)", titled),
    rule("teach", r"i(?: now)? teach(?: [\w ]{2,30}?)? at {NAME}{END}", works_at),
    rule("hired|employed", r"{I} (?:(?:got |was )?hired (?:by|at)|employed (?:at|by|with)) {NAME}{END}", started_at),
    rule("hired me", r"{NAME} (?:has |have )?(?:just )?hired me", started_at),
    rule("first", r"(?:today (?:is|was) )?(?:my|the) first (?:day|week|month)(?: of work)? (?:at|with) (?!.*\b(?:university|school|college|gym)\b){NAME}(?=$|[,.!]| (?:was|is|went|has)\b)", started_at),
    rule("day at|day with|shift at", r"(?:today (?:is|was) )?my last (?:day|shift) (?:at|with) {NAME}(?=$|[,.!;])", ends("works_at", in_short=True)),
    rule("employer|company|firm", r"(?:my|the)(?: new| current)? (?:employer|company|firm)(?: (?:(?:that|where|which) )?i(?:'m| am)?(?: now)? work(?:ing)?(?: (?:at|for|in))?)? is(?: now| called| named)? {NAME}{END}", works_at),
    rule(" a |became", r"{I}(?: became)? an? {OCCUPATION}(?: (?P<link>at|for|with|in) {NAME}{END}|(?=$|[,.!]| (?:now|by|and|in|from|these|here|with|at|for)\b))", occupied),
    # Study and languages.
    rule("stud", r"{AM} a student (?:at|of) {NAME}{END}", names("studies_at", category="Organization", single=True)),
    rule("stud", r"{I} (?:study|studying) at {NAME}{END}", names("studies_at", category="Organization", single=True)),
    rule("graduated|dropped out", r"{I} (?:graduated|dropped out)(?: (?:from|of) (?:{NAME}{END}|university|college|uni|school))?(?=$|[,.!;]| (?:in|with|and|last|from)\b)", ends_study),
    rule(" major", r"{AM} an? (?P<value>(?!(?:drum|sergeant|double|big|huge|joint)\b)[a-z]+(?: [a-z]+)?) major(?=$|[,.!;]| (?:at|in|and|but|now|with)\b)(?: at {NAME}{END})?", studied),
    rule("declared", rf"{{I}} declared (?:(?:my|an?) major(?: in| as|:)? )?(?P<value>(?:{SUBJECTS}))(?=$|[,.!;]| (?:as|today|last|and|at|because)\b)", studies_instead),
    rule("stud|major", r"{I} (?:study|studying|majoring in) (?P<value>(?!(?:for|hard|at|in|with|abroad|all|the|my|a|this|it|every|together|some|how)\b)[\w-]+(?: (?!(?:at|in|for|with|because|hard|right|here|now|together)\b)[\w-]+){0,2})(?: at {NAME}{END}|(?=$|[,.!]| (?:at|in|with|here|now)\b))", studied),
    rule("learning", r"{I} (?:(?:started|begun|began) )?learning {LANGUAGES}(?=$|[,.!;]| (?:now|and|but|with|on|at|for|in|because|too|again|to|so)\b)", values("learns")),
    rule("learning|studying|give|gave", r"{I} (?:(?:stopped|quit|no longer) (?:learning|studying)|(?:given up|gave up|giving up)(?: on)?(?: (?:learning|studying))?) {LANGUAGES}(?=$|[,.!;]| (?:now|and|but|because|for|since)\b)", ends("learns")),
    rule("speak", r"i (?:don't|do not|can't|cannot|can not) speak (?:any )?{LANGUAGES}(?:{NO_MORE}|(?: at all)?(?=$|[,.!;]))", ends("speaks")),
    rule("have a|have any", r"(?:i|we) (?:don't|do not) have (?:an?|any) {PET}s?(?:{NO_MORE}|(?: at all)?(?=$|[.!;]))", petless),
    rule("speak", r"i(?: can| also| now)? speak(?: fluent| some| a little| a bit of)? {LANGUAGES}(?! \w*(?:food|music))", values("speaks")),
    # Health.
    rule("allerg", r"{AM}(?: (?:very|severely|extremely|highly|deathly|mildly))* allergic to {FOOD}(?:,? (?:and )?not(?: to)? (?P<former>{DISH}))?(?=$|[,.!(]| (?:so|because|since|now|too|btw|fyi|lol|tho|though|haha|innit|pls|please)\b)", allergic),
    rule("allerg", r"{I}(?: (?:got|developed|(?:(?:was|were|been) )?(?:just )?diagnosed with))? an? (?:(?:severe|serious|bad|mild|strong|life-threatening) )?(?P<value>(?!(?:food|skin|new|seasonal)\b)[a-z]+(?: [a-z]+)?) allergy", values("allergy")),
    rule("allerg", r"{I}(?: (?:got|developed))?(?: an?)? (?:(?:severe|serious|bad|mild|strong) )?allergy (?:to|of) {FOOD}(?=$|[,.!(])", values("allergy")),
    rule("allerg", r"i(?:'m| am) (?:no longer|not(?=.*(?: after all| any ?more| any longer|, (?:but|only|it's|it is|i'm)\b))) (?:actually |really )?allergic to (?P<former>{DISH})(?: after all| at all|{NO_MORE})?(?:, (?:but(?: rather)?(?: to)?|it's|it is|i'm allergic to|(?:but )?only(?: to)?) (?P<value>{DISH}))?(?=$|[,.!])", not_allergic),
    rule("allerg", r"(?:my (?P<former>{DISH}) allergy|(?:my|the) allergy to (?P<other>{DISH})) {INTOLERANCE}(?=$|[,.!])", only_intolerant),
    rule("allerg", r"(?:my|the) allergy is(?: (?:actually|really|in fact))? to (?!blame\b){FOOD}(?:,? (?:and )?not(?: to)? (?P<former>{DISH}))?(?=$|[,.!(])", allergic),
    rule("allerg", r"it(?:'s| is) {FOOD} (?:that )?i(?:'m| am) allergic to(?:,? (?:and )?not(?: to)? (?P<former>{DISH}))?(?=$|[,.!(])", allergic),
    rule("outgrew|grew out|outgrown|grown out", r"{I} (?:outgrew|grew out of|outgrown|grown out of) my (?:(?P<former>{DISH}) allergy|allergy to (?P<other>{DISH}))(?=$|[,.!(]| (?:as|when|years|a)\b)", outgrown),
    rule("allerg", r"(?:my (?P<former>{DISH}) allergy|my allergy to (?P<other>{DISH}))(?: has| is|'s)(?: (?:now|finally|completely|all))* (?:gone(?: away)?|disappeared|over|cured){FOR_GOOD}", outgrown),
    rule("allerg", r"i (?:no longer have|(?:don't|do not) have(?=.* (?:any ?more|any longer)\b))(?: an?| any| my| the)? (?:(?P<former>{DISH}) allergy|allergy to (?P<other>{DISH}))(?:{NO_MORE})?{FOR_GOOD}", outgrown),
    rule("intoleran", r"i(?:'m| am) (?:no longer|not(?=.* (?:after all|any ?more|any longer)\b)) (?P<value>[a-z]+)[- ]intolerant(?: after all|{NO_MORE})?(?=$|[,.!])", ends("intolerance")),
    rule("intoleran", r"{AM} (?P<value>[a-z]+)[- ]intolerant", values("intolerance")),
    rule("eat|have|drink|tolerate", r"i (?:can't|cannot|can not|must not|mustn't)(?: really)? (?:eat|have|drink|tolerate)(?: any)? {NOT_TOLERATED}", values("intolerance")),
    rule("diagnosed", r"{I} (?:was|been|got|were)(?: (?:just|recently|officially))? {DIAGNOSED}(?=$|[,.!;(]| [a-z])", values("condition")),
    rule("tic|ac", r"{AM}(?: an?)? {AILING}", ailing(values("condition"))),
    rule("have|'ve got|suffer", r"{I} (?:have|got|suffer from|living with) {CONDITION}(?=$|[,.!;(]| (?:and|but|so|since|now|in|because|for|too|which|as)\b)", values("condition")),
    rule(" me on", r"(?:{DOCTOR}|they|she|he|{OTHER})(?: has| have|'s|'ve)?(?: just)? (?:(?:took|taken) me off|stopped|discontinued)(?: the| my)? (?P<former>[a-z][\w-]{3,}),? (?:and )?(?:put|started) me on(?: {DOSE})? {DRUG}(?:,? (?P<amount>{BARE_DOSE}))?", drug),
    rule("stopped it|off it", r"(?:(?:the|my) )?{DRUG} (?:was|is|made|makes|gave|gives|kept|keeps|didn't|wasn't|upset|upsets)\b[^,;.]{2,60}?,? (?:so|and) (?:they|she|he|we|i|{TREATS})(?: have| has|'ve)?(?: just| now| finally)? (?:stopped|(?:took|taken) me off|came off|come off|quit) it{FOR_GOOD}", drug_over),
    rule(" me off|let me", r"(?:{DOCTOR}|they|{OTHER})(?: has| have|'s|'ve)?(?: just)? (?:(?:took|taken) me off|let me (?:stop|come off|quit)(?: taking)?)(?: the| my)? {DRUG}{FOR_GOOD}", drug_over),
    rule("stopped|discontinued|cancelled", r"(?:{DOCTOR}|they|{OTHER})(?: has| have|'s|'ve)?(?: just)? (?:stopped|discontinued|cancelled) (?:my|the) {DRUG}{FOR_GOOD}", drug_over),
    rule("stopped|discontinued|withdrawn", r"my {DRUG} (?:has been|'s been|was|is|got)(?: now| finally)? (?:stopped|discontinued|withdrawn)(?: by {DOCTOR})?{FOR_GOOD}", drug_over),
    rule("swapped|replaced|changed|switched", r"(?:{DOCTOR}|they|{OTHER}|{I})(?: has| have|'s|'ve)?(?: just)? (?:swapped|replaced|changed|switched) (?:(?:the|my) )?(?P<former>[a-z][\w-]{3,}) (?:for|with|to|by)(?: {DOSE})? {DRUG}(?:,? (?P<amount>{AMOUNT}))?", drug),
    rule("swapped|replaced|changed|switched", r"(?:(?:the|my) )?(?P<former>[a-z][\w-]{3,})(?:'s| has| is| was| got)(?: (?:been|now|just))* (?:swapped|replaced|changed|switched) (?:for|with|by|to)(?: {DOSE})? {DRUG}", drug_instead),
    rule("tak| off|stopped|quit|no longer|g|finished|done with", r"(?:{I}|that(?:'s| is) me(?: now)?) (?:(?:stopped|quit|no longer) (?:taking|take|need|use)|no longer on|stopped|quit|given up|gave up|finished with|finished(?= (?:the |my |a )?course\b)|done with|(?:came |come |taken )?off)(?: (?:my|the|a course of|(?:my|the) course of))? {DRUG}(?:{NO_MORE})?{FOR_GOOD}", drug_over),
    rule(" any| now", r"i(?: (?:don't|do not) (?:take|need|use|have to take|need to take)|(?:'m| am) not (?:taking|on))(?: my| the)? {DRUG}(?:{NO_MORE}{FOR_GOOD}| now(?=$|[.!]))", drug_over),
    rule("no more", r"no more {DRUG} for me{FOR_GOOD}", drug_over),
    rule("tak| on |prescribed|switch|start|resumed", r"{I} (?:take|taking|put on(?: an?)?|(?:(?:gone|went|going) )?(?:back )?on|(?:re)?start(?:ed|ing)?(?: (?:taking|on))?|resumed|switched to|switching to|was prescribed|prescribed)(?: {DOSE})?(?: daily)? {DRUGS}(?! (?:research|trials?|stud(?:y|ies)|production|sales)\b)(?:,? (?P<amount>{BARE_DOSE}))?(?:(?: now)?(?: instead of|, not)(?: the| my)? (?P<former>[a-z][\w-]{3,}))?", drug),
    rule("switched from", r"{I} switched from (?P<former>[a-z][\w-]{3,}) to(?: {DOSE})? {DRUG}", drug),
    rule(" me from| me to| me onto", r"(?:{DOCTOR}|they|{OTHER})(?: has| have|'s|'ve)?(?: just| now)? (?:switched|changed|moved|swapped) me (?:from (?P<former>[a-z][\w-]{3,}) )?(?:to|onto)(?: {DOSE})? {DRUG}(?:,? (?P<amount>{BARE_DOSE}))?(?:,? (?:as |since )?(?:the )?(?P<spoilt>[a-z][\w-]{3,}) (?:made|gave|was|wasn't|didn't|kept|upset|caused)\b)?", drug),
    rule("added", r"(?:{TREATS}|they|she|he)(?: has| have|'s|'ve)?(?: just| now| also)* added(?: {DOSE})? {DRUGS}(?:,? (?P<amount>{BARE_DOSE}))?(?=$|[,.!;]| (?:as well|too|now|at|for|once|every|and|because|since)\b)", drug),
    rule("put me on|prescribed|has me on|started me on", r"(?:{DOCTOR}|they|she|he|{OTHER})(?: (?!not\b|never\b|n't\b)[\w' -]{2,60}? and)?(?: has| have|'s|'ve)?(?: just| now)? (?:prescribed me|prescribed|put me on|me on|started me on)(?: {DOSE})? {DRUGS}(?:,? (?P<amount>{BARE_DOSE}))?(?: instead of(?: the| my)? (?P<former>[a-z][\w-]{3,}))?", drug),
    rule("tak| on ", r"{I} (?:take|taking|on) {DOSE} (?P<value>(?!(?:every|each|with|before|after|daily|when|whenever|from|once|twice|three|because|that|this|these|more|less|today|tonight|about|instead|until|since|while|during|only|just|them|medication|medicine|water|sugar|milk|vitamins?)\b)[a-z][\w-]{3,30})\b", drug),
    rule("rais|increas|upp|doubl|lower|reduc|decreas|cut|chang|adjust|halv|put |brought|taken", r"(?:{DOCTOR}|they|she|he|{OTHER}|{I})(?: has| have|'s|'ve)?(?: just)? (?:raised|increased|upped|doubled|lowered|reduced|decreased|cut|changed|adjusted|halved|put|brought|taken) (?:(?:my|the) )?(?:dose of )?{DRUG}(?: (?:dose|dosage))?(?: from [^,;]{2,20}?)?(?: back)?(?: up| down)? to (?:{DOSE}|(?P<amount>\d+(?:\.\d+)?)(?=$|[,.!;]| (?:now|again|a day|once|twice|and|because|since)\b))", dose),
    rule("mg|mcg|µg|ml|iu|units|pills|tablets| to ", r"(?:(?:my|the) )?{DRUG}(?:(?:(?: is|'s| went|(?: has|'s) gone| goes|(?: was| got| has been| is)? (?:doubled|increased|raised|upped|bumped|reduced|halved|lowered|cut))(?: back| now)*(?: up| down)?(?: from [\d. mg]{1,12}?)? to)|(?: is|'s)? now) (?:{DOSE}|(?<= to )(?P<amount>\d+(?:\.\d+)?(?: (?:once|twice|three times)(?: a day| daily)?)?)(?=$|[,.!;](?! ?\d)| (?:now|again|a day|and|because|since)\b))", dose),
    rule(" now| instead", r"(?:(?:my|the) )?{DRUG}(?:'s| is)? (?P<amount>{AMOUNT}|\d{1,3}(?:\.\d+)?) (?:now|instead)(?=$|[,.!;])", drug),
    rule(" now", r"(?:(?:it's|it is|its|on) )?{DRUG} now,? (?P<amount>{AMOUNT})(?=$|[,.!; ])", drug),
    rule("dose|dosage", r"(?:my|the) (?:(?:dose|dosage) of )?{DRUG}(?: (?:dose|dosage))? (?:is|was|(?:has |was |is )?(?:been )?(?:raised|increased|upped|lowered|reduced|cut|changed|adjusted) to|(?:went|has gone|is) (?:up|down) to)(?: now)? {DOSE}", dose),
    # Diet.
    rule(" not", r"{I} not(?: an?)? {DIETS}(?:{NO_MORE}|(?: at all| really)?(?=$|[,.!;]))", ends("diet_plan")),
    rule("longer", r"{I} no longer(?: an?)? {DIETS}\b", ends("diet_plan")),
    rule("stopped|gave up|given up|quit|dropped|ditched|done", r"{I} (?:stopped|gave up|given up|quit|dropped|ditched|done(?: with)?)(?: being)?(?: an?| the| my)? {DIETS}(?: diet)?(?=$|[,.!])", ends("diet_plan")),
    rule("eat", r"{I} (?:(?:eat|eating|started eating|started to eat) (?:meat|fish|everything|meat and fish|fish and meat) (?:again|now(?! and\b)|these days)|back to eating (?:meat|fish|everything))", eats),
    rule("e|a", r"{I}(?: (?:switched to|switching to|went|going|gone|turned|become|became|decided to go|started eating|eat|eating|started|follow|following|doing|on|keep|trying|adopted|sticking to|committed to))?(?: an?| the| my)?(?: (?:strict|strictly|fully|new|completely|mostly|totally))? {DIET}", diet),
    rule(" me on", r"my (?:doctor|dietitian|dietician|nutritionist|gp)(?: has)?(?: just)? (?:put|placed) me on(?: an?| the)? {DIET}", diet),
    rule("my", r"my (?:new |current )?diet is(?: now)?(?: an?)? {DIET}", diet),
    rule("diet", r"{I} (?:on|following|follow|switched to|started) an? (?P<value>(?!(?:new|strict|different|better|special|bad|healthy|balanced|proper)\b)[\w-]+) diet\b", diet),
    # Allergies and conditions of others, who may eat with the author.
    rule("allerg", r"{WHO}(?: is| are|'s)(?: (?:very|severely|extremely|highly|also))* allergic to {FOOD}(?=$|[,.!(]| (?:so|because|since|now|too)\b)", they_have("allergy")),
    rule("intoleran", r"{WHO}(?: is|'s)(?: (?:also|very))* (?P<value>[a-z]+)[- ]intolerant", they_have("intolerance")),
    rule("eat|have", r"{WHO} (?:can't|cannot|can not|must not|mustn't)(?: really)? (?:eat|have|drink|tolerate)(?: any)? {NOT_TOLERATED}", they_have("intolerance")),
    rule("allerg", r"{WHO}" + _HAS + r" an? (?:(?:severe|serious|bad|mild|strong|life-threatening) )?(?P<value>(?!(?:food|skin|new|seasonal)\b)[a-z]+(?: [a-z]+)?) allergy(?=$|[,.!;(]| (?:and|but|so|too|now)\b)", they_have("allergy")),
    rule("allerg", r"{WHO}" + _HAS + r" an? (?:(?:severe|serious|bad|mild|strong) )?allergy to {FOOD}(?=$|[,.!(])", they_have("allergy")),
    rule("diagnosed", r"{WHO}(?: was|(?: has|'s) been| got)(?: (?:just|recently|officially))? {DIAGNOSED}(?=$|[,.!;(]| [a-z])", they_have("condition")),
    rule("tic|ac", r"{WHO}(?: is|'s)(?: (?:also|an?))* {AILING}", ailing(they_have("condition"))),
    rule("ha|'s got|suffer", r"{WHO}(?:" + _HAS + r"| suffers from) {CONDITION}(?=$|[,.!;(]| (?:and|but|so|since|now|in|because|for|too|which|as)\b)", they_have("condition")),
    rule("allerg", r"{WHO}(?:(?: is|'s) (?:no longer|not)| isn't) allergic to (?P<former>{DISH}){NO_MORE}?(?=$|[,.!(])", they_outgrew),
    rule("outgrew|grew out|outgrown|grown out", r"{WHO}(?: has|'s)?(?: just| finally)? (?:outgrew|grew out of|outgrown|grown out of) (?:his|her|their) (?:(?P<former>{DISH}) allergy|allergy to (?P<other_food>{DISH}))(?=$|[,.!(]| (?:as|when|years|a|according)\b)", they_outgrew),
    rule("is my fav|is our fav|is now my fav", r"(?P<value>(?-i:[A-Z])[\w'&-]+(?: (?-i:[A-Z])[\w'&-]+){0,3}) is (?:now )?(?:my|our)(?: new| current| all-time)? favou?rite (?P<what>[a-z]+(?: (?!now|these|at|right|because|since|and|but|by|in|of|for|so)[a-z]+)?)(?=$|[,.!;]| (?:now|nowadays|currently|these days|right now|at the moment|by far)\b)", favourite),
    # Deaths.
    rule("died|passed", r"{GONE}(?: has| have)?(?: (?:just|sadly|unfortunately|recently|suddenly))* (?:died|passed away|passed on)" + _GONE, died),
    rule("dead|no longer with us|no longer alive", r"{GONE} is (?:dead|no longer (?:with us|alive))" + _GONE, died),
    rule("down|sleep|euthani", r"{GONE} (?:was|had to be|has been)(?: just)? (?:put down|put to sleep|euthani[sz]ed)" + _GONE, died),
    rule("down|sleep", r"(?:{I}(?: had to| have had to)?|(?:the|our|my) vets?(?: had to)?) put {GONE} (?:down|to sleep)" + _GONE, died),
    rule("put down|put to sleep", r"{I}(?: had to| have had to)? (?:have|had) {GONE} put (?:down|to sleep)" + _GONE, died),
    rule("lost", r"{I} lost (?:(?:my|our){SORT} (?P<role>mother|father|mum|mom|mam|dad|grandmother|grandfather|grandma|grandpa|granny|gran|nan|nana|grandad|granddad|uncle|aunt|brother|sister|son|daughter|husband|wife)(?: (?P<person>" + PERSON_NAME + r"))?|{DEAR}|(?-i:{ALONE}))(?: (?:to|after) (?:an?|cancer|covid|illness|the (?!(?:crowd|shop|shops|sales|next)\b)|his|her)\b|(?: (?:suddenly|peacefully|unexpectedly|in (?:his|her) sleep))?(?=$|[.!;]))", lost),
    # Animals that live elsewhere now.
    rule("gave|given|give", r"{I}(?: (?:have )?had to)? (?:gave|given|give) {ANIMAL} (?:up|away|back|to (?!(?:be|the (?:vet|groomer|kennel))))(?!.*\b(?:while|until|till|look after|overnight)\b)", given_away),
    rule("gave|given|give", r"{I}(?: (?:have )?had to)? (?:gave|given|give) (?:up|away) {ANIMAL}(?=$|[,.!;]| (?:to|because|as|and|last|this)\b)", given_away),
    rule("rehome|re-home|surrender", r"{I}(?: (?:have )?had to)? (?:rehomed?|re-homed?|surrender(?:ed)?) {ANIMAL}(?=$|[,.!;]| (?:to|with|because|as|and|last|this)\b)", given_away),
    rule("home|family", r"{I} found {ANIMAL} (?:an?|another)(?: (?!foster|temporary)[a-z]+){0,2} (?:home|family)(?=$|[,.!;]| (?:with|in|near|because|as|and|last|this|through)\b)", given_away),
    rule("rehomed|re-homed|given away", r"{ANIMAL} (?:was|has been|got|had to be) (?:rehomed|re-homed|given away)\b", given_away),
    # Separations.
    rule(" & i", r"{WHO} & i(?: have|'ve| just| had| finally)* " + _PARTED + r"(?=$|[,.!;]| (?:and|because|after|so|for good|now|as of|since last)\b)", parted),
    rule("broke up|broken up|split up|separated|ended|finished", r"{I} (?:broke up|split up|separated|broken up|(?:ended|finished) (?:it|things)) (?:with|from) {WHO}" + _GONE, parted),
    rule("together", r"{I} (?:no longer|not) (?:together|dating|going out)(?: with)? {WHO}(?:{NO_MORE})?" + _GONE, parted),
    rule(" me", r"{WHO}(?: has| just)* (?:broke up with|broken up with|split up with|dumped|divorced) me" + _GONE, parted),
    rule(" and | & ", r"{WHO} (?:and|&) {OTHER}(?: have| just| had| finally| recently)* " + _PARTED + r"(?=$|[,.!;]| (?:and|because|after|so|for good|now|last|this|in|recently)\b)", they_parted),
    rule("left me", r"(?:(?:my|our) (?P<role>husband|wife|girlfriend|boyfriend|partner|fiancee?)|{ALONE})(?: has| just)* left me" + _GONE, parted),
    rule("divorced", r"{WHO}" + _HAVE + r"(?: got)? (?:divorced|separated)(?=$|[,.!;]| (?:and|after|now)\b)", ends_for("married_to")),
    rule("divorced", r"{I} divorced {WHO}" + _GONE, parted),
    rule("married|divorce", r"(?:{I} (?:no longer|not) married{NO_MORE}?|(?:our|my|the) divorce(?: (?:from|with) (?-i:[A-Z])[\w'-]+)?(?: (?:is|was|got|has been)(?: now| finally| officially)? (?:final|finalised|finalized)| (?:came|has come|is|went) through))(?=$|[,.!]| (?:now|and|as of|since|today|yesterday|last|this)\b)", ends("married_to")),
    rule("split|broken|separated|parted|quits", r"we(?:'ve| have)(?: (?:just|now|finally|officially))* (?:split up|broken up|separated|parted ways|called it quits)(?=$|[.!;]| (?:now|for good|last|this|in|after|because|and)\b)", parted),
    rule("together", r"we(?:'re| are) (?:no longer together|not together any ?more)(?=$|[,.!;]| (?:and|since|because)\b)", parted),
    rule("single", r"{AM} (?:newly )?single(?: again| now)(?=$|[,.!;])", parted),
    rule("engagement", r"{I}(?: had to)? (?:called off|broke off|ended|call off|broken off) (?:the|our|my) engagement", ends("engaged_to")),
    # Trips that are off; others are dates that are.
    rule("wedding", r"(?:(?:the|our|my) )?(?P<noun>wedding)(?:'s| is) off(?=$|[,.!;]| (?:and|because|now|after all)\b)", cancelled),
    rule("off|cancel", r"(?:{NAME}|(?:the|our|my) (?:trip|holiday|vacation) to (?P<value>[A-Z][\w-]+)|(?:the|our|my) (?P<other>[A-Z][\w-]+) (?:trip|holiday|vacation))(?:{GOT}|'s| is) (?:now )?(?:off|cancelled|canceled|called off)(?=$|[,.!;(]| (?:and|because|now|after all)\b)", trip_over),
    rule("decided not", r"{I} decided not to (?:go|fly|travel) to {NAME}{END}", trip_over),
    rule("no longer|not", r"{AM} (?:not|no longer) (?:going|flying|travelling|traveling) to {NAME}(?: (?:after all|any ?more|any longer))?{END}", trip_over),
    rule("cancel|called off", r"{I}(?: (?:had|have|need) to| must)? (?:cancel|cancelled|canceled|called off) (?:(?:the|our|my) (?:trip|holiday|vacation) to )?{NAME}{END}", trip_over),
    rule("back|return|home", r"{I}(?: safely)? (?:(?:(?:got|came|come|flown|flew|travelled) )?(?:back|home)|back home|returned)(?: safely| home)? from (?:(?:the|our|my) (?:(?P<other>(?-i:[A-Z])[\w-]+) (?:trip|holidays?|vacation|honeymoon)|(?:trip|holidays?|vacation|honeymoon) (?:to|in) (?P<value>(?-i:[A-Z])[\w-]+))|{NAME}){END}", trip_over),
    # Weddings.
    rule("engaged", r"{WHO}" + _HAVE + r"(?: got)? engaged to {OTHER}{FROM_HERE}", they_are_engaged),
    rule("engaged", r"{WHO} (?:and|&) {OTHER} (?:are|got|have got)(?: (?:just|now|finally))? engaged(?=$|[,.!;(]| (?:at|in|on|now|and)\b)", they_are_engaged),
    rule("married", r"{WHO} (?:and|&) {OTHER} (?:are|were|got|have got)(?: (?:just|now|finally))? married(?=$|[,.!;(]| (?:at|in|on|now)\b)", they_married),
    rule("married", r"{WHO}" + _HAVE + r"(?: (?:got|getting))?(?: married to| married) {OTHER}{FROM_HERE}", they_married),
    rule("married", r"{OTHER} & i(?: (?:just|finally))? (?:got|were) married" + r"(?=$|[,.!;(]| (?:and|at|with|by|on)\b)", wed),
    rule("tied the knot", r"(?:{OTHER} & )?{I}(?: finally| actually| really)* tied the knot(?=$|[,.!;(]| (?:and|at|with|by|on)\b)", wed_to_partner),
    rule("got married", r"{I} got married(?=$|[,.!;(]| (?:and|at|with|by|on)\b| in (?-i:[A-Z]))", wed_to_partner),
    rule("now married|finally married|officially married", r"we(?:'re| are)(?: (?:now|finally|officially))+ married(?=$|[,.!;(]| (?:now|and)\b)", wed_to_partner),
    rule("we're married|we are married", r"we(?:'re| are) married(?=$|[.!;(]| now\b)", wed_to_partner),
    rule("married", r"{I}(?: (?:got|getting|were))* married(?: to {OTHER})?(?=$|[,.!;(]| (?:and|at|with|by|on)\b)", wed),
    rule("been married", r"{OTHER} & i(?:'ve| have) been (?:happily )?married(?=$|[,.!;(]| (?:for|since|\d+)\b)", been_married),
    rule("married", r"i married {OTHER}(?=$|[,.!;(])", wed),
    rule("cancel|called off|is off", _EVENT + r" (?:is|was|has been|had to be|got|will be)(?: just| now)? (?:cancelled|canceled|called off|off)(?=$|[,.!;(]| (?:and|because|due|after|now|altogether|for good)\b)", cancelled),
    rule("cancel|call", r"{I}(?: had to| have to| have)? (?:cancel|cancelled|canceled|call off|called off) " + _EVENT, cancelled),
    rule("off", r"{I}(?: have)? called " + _EVENT + r" off", cancelled),
    # Who somebody no longer is.
    rule("not|n't|longer", r"{ALONE} (?:is not|isn't|is no longer) {ROLE}(?:{NO_MORE})?(?:[,;] (?:(?:now )?it(?:'s| is)(?: now)? )?{OTHER}(?: is)?(?: now)?)?(?=$|[.!])", no_longer_is),
    rule("not|n't|longer", r"{ROLE} (?:is not|isn't|is no longer) {ALONE}(?:{NO_MORE})?(?:[,;] (?:(?:but )?(?:now )?it(?:'s| is)(?: now)? )?{OTHER}(?: now)?)?(?=$|[.!])", no_longer_is),
    # Where others live and work.
    rule("moved|to live", r"{WHO}" + _HAVE + r" (?:moved (?:back )?in|(?:gone|went|come|came) (?:back )?to live) with (?:my|our|his|her|their|some|a (?:friend|roommate|flatmate|couple)|(?-i:[A-Z]))[^,;]{0,40}? in {NAME}{END}", they_moved_to),
    rule("to live", r"{WHO}" + _HAVE + r" (?:gone|went) (?:back )?to live in {NAME}{END}", they_moved_to),
    rule("moved", r"{WHO}" + _HAVE + r" moved (?:back )?in with (?:me|us)(?=$|[,.!;]| (?:and|again|now|to|because)\b)", they_moved_in_with_me),
    rule("moved", r"{WHO}" + _HAVE + r" moved (?:back )?out(?=$|[,.!;]| (?:again|now)\b)", they_moved_out),
    rule("live|living", r"(?:{WHO}|{THEIRS})(?: is)?(?: (?:now|currently|still|also))? (?:lives|living) with (?:me|us)(?=$|[,.!;]| (?:and|again|now|too|for|because|these)\b)", they_live_with_me),
    rule("moved", r"{WHO}" + _HAVE + r" moved (?:back )?in with (?:my|our|his|her|their|(?-i:[A-Z]))", ends_for("lives_in")),
    rule("mov|relocat", r"{WHO}(?: (?:and|&) {OTHER})?(?:(?: is| are)(?: also| both| now)? (?:(?P<wed>married) (?:and|&) )?(?:going to move|moving|relocating)|'s (?:going to move|moving)| will (?:move|relocate))(?: (?:over|back|down|up|out))? (?:to|into)(?: (?:{SOME_HOME}|an? (?:care|nursing|retirement) home) in)? {PLACE}{NAME}{END}", they_move),
    rule("moved", r"{WHO}" + _HAVE + r" moved from {FORMER} to {NAME}{END}", they_moved_to),
    rule("moved|relocated", r"{WHO}(?: (?:and|&) (?:(?:his|her|their) \w+|{OTHER}))?" + _HAVE + r" (?:moved|relocated)(?: (?:back|over|out|down|up))?" + _AGAIN + _ALONG + r" (?:to|into) {PLACE}{NAME}{END}", they_moved_to),
    rule("settled", r"{WHO}" + _HAVE + r" settled(?: down)? in {NAME}{END}", they_moved_to),
    rule("no longer|n't|not", r"{WHO} (?:no longer (?:lives|living)|(?:doesn't|does not) live) in {NAME}(?:{NO_MORE})?{END}", ends_for("lives_in")),
    rule("live|living|based", r"{WHO}(?: is)?(?: (?:now|currently|still))? (?:lives|living|based)(?: (?:now|alone|(?:on|by) (?:his|her|their) own|by (?:himself|herself)))? in {NAME}{END}", they_live_in),
    rule("no longer|n't|not", r"{WHO} (?:no longer works|(?:doesn't|does not) work) (?:at|for) {NAME}(?:{NO_MORE})?{END}", ends_for("works_at")),
    rule("quit|left|lost|resign", r"{WHO}" + _HAVE + r" (?:quit|left|lost|resigned from) (?:his|her|their) (?:job|position)(?: (?:at|with) {NAME})?(?=$|[,.!;]| (?:and|because|to|after|so)\b)", ends_for("works_at")),
    rule("quit|left|resign|fired|laid off|let go", r"{WHO}" + _HAVE + r" (?:quit|left|resigned from|(?:fired|laid off|let go) (?:by|from|at)) {NAME}{END}", ends_for("works_at")),
    rule("retired|fired|laid off", r"{WHO}" + _HAVE + r" (?:retired|fired|laid off|made redundant)(?=$|[,.!;]| (?:and|after|from|now)\b)", ends_for("works_at")),
    rule("work", r"{WHO}(?: is)?(?: (?:now|currently|still))? (?:works|working) (?:at|for){FIRM_CALLED} {NAME}{END}", they_work_at),
    rule("join|started|got|hired", r"{WHO}" + _HAVE + r" (?:joined|started(?: (?:working|a new job|his new job|her new job))? (?:at|with|for)|got a (?:new )?job (?:at|with)|hired (?:by|at)) {PLACE}{NAME}{END}", they_started_at),
    rule("goes to|go to|attends|at |to ", r"{WHO}(?: (?:now|still))?(?: goes to|(?: is|'s)(?: (?:now|still))? (?:going to|at)| attends|" + _HAVE + r" (?:moved|switched|transferred|started)(?: schools?)?(?: (?:over|across))? (?:to|at))(?: the)? {NAME}{END}", they_attend),
    rule("at ", r"{WHO}" + _HAVE + rf"(?: (?:starts|started|starting|in|going into|gone into|went into|moved up to))(?: (?:in|into))? {_FORM_OF_SCHOOL}(?: class)? at(?: the)? {{NAME}}{{END}}", they_attend),
    rule(" a", r"{WHO}(?:(?: is|'s| became| has become)(?: (?:now|currently|still|also))*|(?: (?:now|currently|still|also))? works as| working as) an? {OCCUPATION}(?: (?P<link>at|for|with|in) {NAME}{END}|(?=$|[,.!]| (?:now|by|and|in|from|these|here|with|at|for)\b))", they_work_as),
    # People and animals.
    rule("divorc|separat", r"{I} (?:got )?(?:divorced|separated|separating|getting (?:a )?divorced?)(?=$|[,.!]| (?:from|now)\b)", ends("married_to")),
    rule("married", r"{AM} married to {NAME}{END}", married_to),
    rule("married", r"{NAME} & i (?:just )?(?:got |are )married", names("married_to", category=PERSON, changes=True)),
    rule("married", r"i (?:just )?(?:got )?married(?: to)? {NAME}{STOP}", names("married_to", category=PERSON, changes=True)),
    rule("engaged", r"{I} (?:got )?engaged to {NAME}{END}", names("engaged_to", category=PERSON, single=True)),
    rule("engaged", r"{OTHER} & i (?:(?:just|finally|recently) )?(?:got |are |have got )(?:just )?engaged(?=$|[,.!;]| (?:and|in|last|on)\b)", names_other("engaged_to")),
    rule("dating|seeing|going out", r"{I} (?:(?:started|begun|began) )?(?:dating|seeing|going out with) (?:someone|somebody|an? (?:(?:nice|lovely|new|great|older|younger) )?(?:guy|man|woman|girl|bloke))(?: new)?(?:,| -|:)? (?:(?:her|his|their) name(?:'s| is)|called|named) {OTHER}", names_other("partner_of")),
    rule("seeing|dating|going out", r"{I}(?: (?:started|begun|began))? (?:dating|seeing|going out with) (?:(?:someone|somebody) new,|this(?: [a-z]+)? (?:girl|guy|woman|man|lad|bloke),?) {OTHER}(?=$|[,.!]| (?:and|for|from|who|at)\b)", names_other("partner_of")),
    rule("seeing|dating|going out", r"{WHO}(?: is|'s)(?: (?:now|also))? (?:dating|seeing|going out with)(?: (?:someone|somebody|an? (?:guy|man|woman|girl|bloke))(?: new)?,?)?(?: (?:called|named))? {OTHER}(?=$|[,.!;]| (?:now|and|from|who|at|since)\b)", they_are_seeing),
    rule("dating|going out", r"{I} (?:(?:started|begun|began|been) )?(?:dating|going out with) {OTHER}{FROM_HERE}", names_other("partner_of")),
    rule("together", r"{OTHER} & i (?:are|'re) (?:(?:now|officially|back) together|together now)(?=$|[,.!;])", names_other("partner_of")),
    rule("together", r"{OTHER} & i (?:have|'ve)(?: (?:now|officially))? been together(?=$|[,.!;]| (?:and|now)\b)", names_other("partner_of")),
    rule(" & i", r"{OTHER} & i (?:(?:are|have been|'re)(?: now| officially)?|started) (?:dating|a couple|an item|official|in a relationship)(?=$|[,.!;]| (?:now|and|since|again)\b)", names_other("partner_of")),
    rule("dating", r"{AM} dating {NAME}{STOP}", names("partner_of", category=PERSON)),
    rule("call|name", r"(?:my|our){SORT} {ONE}(?: (?:there|here|at (?:work|(?P<firm>(?-i:[A-Z])[\w'&-]+))))?(?:'s name is|'s called| is called| is named|, whose name is| named| called) {OTHER}{END}", related),
    rule("two|three|four", r"{I} (?:have|got|adopted|bought|rescued|own) (?:two|three|four)(?: [a-z-]+)? (?P<several>dogs|cats|puppies|kittens|rabbits|hamsters|budgies|parrots|horses|guinea pigs)(?:,|:|,? called|,? named) {ALL}(?=$|[,.!;])", several),
    rule(" is|'s |turned", rf"{{WHO}}(?: has|'s)?(?: just)? turned {_AGE}(?=$|[,.!;]| (?:and|today|yesterday|last|this|on)\b)", they_are_aged),
    rule(" was ", rf"{{WHO}} was (?!one\b){_AGE}$", they_turned),
    rule(" is |'s |turned", rf"(?:my|our)(?: (?:little|wee|youngest|eldest|oldest|baby|big))* (?P<child>boy|girl),? {{OTHER}}(?:(?: is|'s)(?: (?:now|only|already|just))*|(?: has|'s)?(?: just)? turned) {_AGE}(?: years? old)?(?=$|[,.!;](?! ?\d)| (?:and|now|today|years? old|but|so|yesterday|last)\b)", child_aged),
    rule(" is |'s ", rf"{{WHO}}(?: is|'s)(?: (?:now|only|already|just))* (?!one\b){_AGE}(?: years? old)?(?: (?:now|today|already))?(?=$|[,.!;](?! ?\d)| (?:and|years? old|but|so)\b)", they_are_aged),
    rule("my|our", r"(?:my|our)(?: (?:new|two|three|four|lovely|older|younger|little|best))* (?P<several>" + SEVERAL + r")(?: are(?: called| named)?|,|:) {ALL}(?=$|[,.!;]| (?:are|were|have|go|both|love|live|started|start)\b)", several),
    rule(" by ", r"{WHO}(?:'s| is| has| have| now| been)* (?:goes|go|going|gone) by(?: the name(?: of)?)? {OTHER}{END}", renamed),
    rule("name to", r"{WHO}(?:'s| has| have)?(?: (?:just|legally|officially|now))* changed (?:his|her|their|its) (?:first )?name to {OTHER}{END}", renamed),
    rule("my|our", r"(?:my|our){SORT} {ONE}(?: (?:there|here|at (?:work|(?P<firm>(?-i:[A-Z])[\w'&-]+))))?(?:,| is(?: now)?)? {OTHER}(?=$|[,.!]| &| (?:is|was|has|had|and|now|just|will|who|with|always|never|often|ate|waters|feeds|walks|minds|babysits|[a-z]{2,}ed|" + VERBS + r")\b)", related),
    rule(" is ", r"(?:my|our){SORT} {ONE} is(?: now)?(?: called)? {OTHER}(?= (?:at|from|in) (?:the )?(?-i:[A-Z]))", related),
    rule("called|named", r"(?:my|our){SORT} {ONE}(?: (?:there|here|at work))?(?: is|'s| will be)(?: now)? (?:(?:an?|this)(?: [a-z-]+){0,2} (?:guy|bloke|man|woman|lady|chap|lad|girl|person)|someone|somebody)(?: new)? (?:called|named) {OTHER}{END}", related),
    rule(" here is", r"the {ONE} here is(?: now)? {OTHER}(?=$|[,.!])", related),
    rule("his|her|'s", r"{THEIR}(?: is(?: now)?(?: called)?)? {OTHER}(?=$|[,.!]| &| (?:is|was|has|had|and|now|just|" + VERBS + r")\b)", their_relative),
    rule("called|named|name|, |: ", r"{I}(?: (?:got|have|adopted|bought|found|switched to|changed to))? (?:an?|one|another)(?: (?!imaginary\b)[a-z-]+)?{SORT}(?: (?!imaginary\b)[a-z-]+)? {ONE}(?:,? (?:called|named|whose name is)|,|:) {OTHER}{END}", related),
    rule("name is|name's|named|called", r"{I}(?: (?:got|have|adopted|bought|picked up|rescued))? (?:an?|one|another){SORT} {ONE}(?: too| as well| from (?:the |a )?[\w ]{2,20}?|, [a-z][a-z ]{2,25})?(?:,| and|:)? (?:(?:his|her|its|their) name(?:'s| is)|(?:he|she|it)(?:'s| is) (?:called|named)|(?:named|called) (?:him|her|it)) {OTHER}{END}", related),
    rule("name|called", r"(?:{I}(?: (?:got|have|adopted|bought|picked up|rescued))? (?:an?|another)|(?:the|my|our) (?:dog|cat|puppy|kitten), an?)(?: [\w-]+){0,3}? {PET}(?: cross| mix)?(?: from (?:the |a )?[\w ]{2,20}?)?(?:, [a-z][a-z ]{2,25})?(?:,? (?:called|named|by the name of)|,? (?:and )?(?:his|her|its) name(?:'s| is)|,? (?:and )?(?:he|she|it)(?:'s| is) (?:called|named)) {OTHER}{END}", related),
    rule("named|called", r"{I} (?:got|have|adopted|bought|picked up|rescued) (?:an?|the|our){SORT} {ONE}, an? [\w-]+(?: [\w-]+)? (?:named|called) {OTHER}{END}", related),
    rule("kids|children|sons|daughters|boys|girls|twins", r"{I} (?:have|got) (?:an? |two |three |four |five )?(?:kids|children|sons|daughters|boys|girls|twins)(?:,|:| called| named) {CHILDREN}", parents),
    rule("baby|son|daughter|boy|girl", r"{I} (?:had|have|welcomed)(?: a| our)(?: (?:second|first|third|little|beautiful|healthy))* (?:baby(?: boy| girl| son| daughter)?|son|daughter)(?:,| called| named|: | and (?:named|called) (?:him|her|them)) {OTHER}(?=$|[,.!;]| (?:on|and|in|last|this)\b)", parents),
    rule("named", r"{I} (?:named|called) (?:the|our) (?:baby|son|daughter|boy|girl) {OTHER}(?=$|[,.!;]| (?:after|because|and)\b)", parents),
    rule("over as", r"{OTHER}(?:'s| is| has| will(?: be)?|'ll(?: be)?)?(?: just| now)? (?:takes?|taking|taken|took) over as {ROLE}{FROM_HERE}", takes_over),
    rule("replaced|took over|succeeded", r"{OTHER}" + _HAVE + r" (?:replaced|took over from|taken over from|succeeded) (?P<alone>[A-Z][\w-]+) as {ROLE}", no_longer_is),
    rule("left", r"{ALONE} (?:has |have )?(?:just )?left (?:the |our )(?:company|firm|team|business)(?=$|[,.!;]| (?:and|for|to|after)\b)", left_the_company),
    rule("report", r"i(?: now|'ll)? (?:now )?report to {OTHER}{FROM_HERE}", names_other("manager")),
    rule(" is my", r"{OTHER} is(?: now)? my{SORT} {ONE}(?: now)?(?=$|[,.!])", related),
    # Another name.
    rule("called|named|known as", r"{WHO}(?:'s| is) (?:called|named|known as) {OTHER} (?:now|these days|nowadays)(?=$|[,.!;])", renamed),
    rule("called|named|known as", r"{WHO}(?:'s| is) now (?:called|named|known as) {OTHER}{END}", renamed),
    rule("renamed", r"{I} renamed {GONE}(?: to)? {OTHER}{END}", renamed),
    rule(" now", r"(?P<alone>(?-i:[A-Z][\w-]+ [A-Z][\w-]+))(?: is|'s) now {OTHER}(?=$|[,.!;])", surname_changed),
    rule(" now", r"(?P<alone>(?-i:[A-Z][\w-]+ [A-Z][\w-]+))(?: is|'s) {OTHER} now(?=$|[,.!;])", surname_changed),
    # A bank and a laptop.
    rule("bank", r"(?:my|our) bank(?: is|'s)(?: now)? {PERSON}{PLACE}{NAME}{END}", bank),
    rule("bank with", r"{I} (?:bank|banking) with {PLACE}{NAME}{END}", bank),
    rule("my bank|our bank", r"{PLACE}{NAME} is (?:now (?:my|our) bank|(?:my|our) (?:new bank|bank now))(?=$|[,.!;]| (?:and|because|so)\b)", bank_now),
    rule("account", r"{I} closed (?:my|our|the) (?:{PLACE}{NAME} (?:bank )?accounts?|accounts? (?:with|at) {FORMER})(?=$|[,.!;]| (?:and|because|last|this|today|yesterday|for)\b)", bank_over),
    rule("account|bank", r"{I} (?:moved|switched|transferred|changed) (?:(?:my|our|the)(?: (?:bank|current|checking|main|joint))? (?:accounts?|banking)|banks)(?: over)?(?: from {FORMER})?,? to {NO_TARIFF}{PLACE}{NAME}{END}", bank_now),
    rule("laptop", r"(?:my|our)(?: new)? laptop(?: is|'s)(?: now)? (?:an?|the)(?: (?-i:[a-z])[a-z-]*)? {NAME}(?:{END}|(?= (?P<rest>that)\b))", laptop),
    rule("got|bought|ordered|picked up|treated|swapped|replaced|switched|traded", r"{I} (?:got|bought|ordered|picked up|treated (?=my|our)|(?:swapped|replaced|switched from|traded in) (?:the|my|our) [\w -]{2,30}? (?:for|with|to)(?= an?\b))(?: (?:myself|ourselves))?(?: to)? (?:an?|the)(?: (?-i:[a-z0-9])[a-z0-9-]*){0,2}(?:(?<=laptop),(?: an?)?)? {LAPTOP}", names("laptop", single=True, changes=True)),
    rule("laptop|sold|rid|handed|gave|returned|lost|binned", r"(?:my|our) laptop(?:'s| is| has| was| got)?(?: (?:just|now|been))* (?:died|dead|stolen|nicked|broken beyond repair|written off)(?=$|[,.!;]| (?:on|last|this|yesterday|today|and|so)\b)|{I} (?:sold|got rid of|handed back|gave back|returned|lost|binned) (?:the|my|our)(?: old)? (?:laptop|{LAPTOP})(?=$|[,.!;]| (?:and|because|last|this|to|for|yesterday|today|so)\b)", ends("laptop", in_short=True)),
    # Smoking.
    rule("smok|vap", r"i(?: still| do| also|'ve started| have started| started|'m| am)? (?P<value>smok(?:e|ing)|vap(?:e|ing))(?: again)?(?: too| again| now| a bit| a little)?(?=$|[.!,;](?! (?:salmon|ham|fish|meat|ribs))|,? (?:(?:about|around|roughly|up to|maybe|like|some) )?(?:\d+|an?|half an?|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|forty)(?: (?:pack|packs|cigarettes|cigs|fags))?(?: an?| per| or| every)? (?:day|week|pack|cigarettes?)\b)", smoker),
    rule("smoker", r"{AM} a(?: heavy| light| social| regular)? (?P<value>smoker)(?=$|[.!,;]| (?:and|but|so)\b)", smoker),
    rule("smok|vap|cigarettes|fags|cigs", r"{I} (?:stopped|quit|quitting|given up|gave up|giving up|packed in|kicked|off|done with|no longer)(?: the)? (?:(?P<value>smok(?:e|ing)|vap(?:e|ing))|cigarettes|fags|cigs)(?=$|[,.!;]| (?:for good|altogether|completely|on|in|last|this|since|and|now|at|when|after|because|so|cold|again|years?|months?|weeks?)\b)", smokes_no_more),
    rule("smok|vap", r"i (?:don't|do not|never) (?P<value>smoke|vape)(?:{NO_MORE})?(?=$|[,.!;]| (?:and|or|but|now|at all)\b)", smokes_no_more),
    rule("smok|cigarette", r"{I} (?:not|haven't|have not) (?:smoked|had a (?:cigarette|smoke|fag|cig))(?: (?:at all|since|for|in)\b|$|[,.!;])", smokes_no_more),
    rule("smoke-free|smoke free|non-smoker|nonsmoker|ex-smoker", r"(?:{AM}|{I})(?: [\w-]+){0,3} (?:smoke[- ]free|an? (?:non-?smoker|ex-smoker))(?=$|[,.!;]| (?:now|and|since|for|today)\b)", smokes_no_more),
    # Cars.
    rule("drive", r"{I} drive(?: (?:an?|the|my|our))?(?: (?:19|20)\d\d)?(?: (?!(?:to|rental|hired|borrowed|for|with|in|at|on|from|near|through|around|between|past|into|across|over|along|by|via)\b)(?-i:[a-z])[a-z-]*){0,2} {NAME}{END}", names("drives", single=True)),
    rule(" car", r"{I} (?:bought|got|leased|have|picked up) (?:an?|our|my)(?: [a-z-]+){0,2} car(?:,|:| -)? (?:an?|it's an?)(?: (?-i:[a-z])[a-z-]*){0,2} {NAME}{END}", names("drives", single=True, changes=True)),
    rule("sold|traded|swapped|replaced|scrapped|rid|wrote off", r"{I} (?:sold|traded in|traded|swapped|replaced|scrapped|got rid of|wrote off) (?:the|my|our)(?: old)? {FORMER}(?: in| off)?(?: and| for| with|,)(?: (?:bought|got|ordered|leased))? (?:an?|the)(?: (?-i:[a-z])[a-z-]*){0,2} {NAME}{END}", car_instead),
    rule("car|van|truck|pick", r"(?:my|our)(?: new)? (?:car|van|truck|pick-?up)(?: is|'s)(?: now)? (?:an?|the)(?: (?!{CARS})[a-z-]+){0,2} {CAR}", car),
    rule("bought|got|leased|picked up", r"{I} (?:bought|got|leased|picked up) (?:an?|our|my)(?: (?:second[- ]hand|(?!(?:second|rental|toy|model|courtesy)\b)[a-z0-9-]+)){0,2} {CAR}", car_bought),
    rule("driv|shar|using", r"{I} (?:driving|drive|sharing|using)(?: (?:an?|the|his|her|(?:(?:my|our) )?[\w-]+'s|my|our))?(?: (?!(?:rental|hired|borrowed|courtesy)\b)(?-i:[a-z])[a-z-]*){0,2} {CAR}", car),
    rule("scrapped|sold|traded|swapped|replaced|rid|wrote off", r"{I} (?:sold|traded in|traded|swapped|replaced|scrapped|got rid of|wrote off) (?:it|(?:the|my|our)(?: old)? (?!(?:motor)?(?:bike|cycle)|bicycle|scooter|boat)[\w-]+)(?: in| off)?,? (?:and|for|with)(?: (?:bought|got|leased))? (?:an?|the)(?: [a-z-]+){0,2} {CAR}", car_bought),
    rule("bought|got|leased|picked up", r"(?:the|my|our)(?: old)? [\w-]+(?:'s| has| is)? (?:died|dead|packed (?:in|up)|given up|gave up|conked out|written off|was written off|broke down|broken down)(?: on (?:me|us))?,? (?:(?:so|and) )?(?:(?:i|we) )?(?:(?:have|'ve) )?(?:just )?(?:bought|got|leased|picked up) (?:an?|another)(?: (?!(?:rental|toy|model|courtesy)\b)[a-z0-9-]+){0,2} {CAR}", car_bought),
    rule("sold|rid|scrapped|wrote off|totalled|totaled", r"{I} (?:sold|got rid of|scrapped|wrote off|totalled|totaled) (?:my|our)(?: old)? (?:car|van)(?=$|[,.!;]| (?:and|because|last|this|to|for|yesterday|today)\b)", ends("drives")),
    rule("sold|rid|scrapped|wrote off|totalled|totaled", r"{I} (?:sold|got rid of|scrapped|wrote off|totalled|totaled) (?:the|my|our)(?: old)? {NAME}{END}", ends("drives", in_short=True)),
    # Name and birth.
    rule("i am |i'm ", r"i(?:'m| am) {OTHER}(?=, [1-9]\d\b(?!/))", named_so),
    rule("name", r"my (?:first |full )?name(?:'s| is) {OTHER}(?=$|[,.!;(]| (?:and|by the way|btw)\b)", named_so),
    rule("call", r"(?:(?:please|you can|just|everyone|everybody|people|(?:my |all my )?friends) )*calls? me {NAME}{STOP}", called),
    rule("go by", r"i go by {NAME}{STOP}", called),
    rule("name to", r"{I} changed my (?:first )?name to {NAME}{STOP}", called),
    rule("name", r"my (?:(?:new|married|legal|full)(?: last| legal| full)? name(?: now)?(?:'s| is)(?: now)?|name(?:'s| is) (?:now|officially|legally)) {FULL_NAME}{STOP}", called),
    rule("name", r"my name(?:'s| is) {FULL_NAME} (?:now|these days|again|from now on)(?=$|[,.!;])", called),
    rule("'m now|'m officially|'m legally|am now|am officially|am legally", r"i(?:'m| am) (?:now|(?:now )?(?:officially|legally)(?: now)?) {FULL_NAME}{STOP}", called),
    rule(" now| again| these days| from now", r"i(?:'m| am) {FULL_NAME} (?:now|again|these days|from now on)(?=$|[,.!;])", called),
    rule("born in", r"i was born in {NAME}{END}", names("born_in", category="Location")),
    # Plans.
    rule("planning to", r"{AM} planning to (?P<value>(?:move|relocate|emigrate|marry|get married|get divorced|retire|quit|resign|change (?:jobs|careers)|study|pursue|enroll?|apply|adopt|learn|propose|have (?:kids|children|a baby)|buy an? (?:house|flat|home|apartment|car)|sell (?:my|our|the) (?:house|flat|home|apartment|car)|open an?|found|launch)\b(?: (?!(?:and|but|so|because)\b)[\w'-]+){0,6})(?=$|[,.!]| (?:and|but|so|because)\b)", planned),
    rule("fly|going|travel|driv|heading|off ", r"(?:(?:{AM}|{OTHER} & i are) (?:going|flying|travelling|traveling|driving|heading|off|to (?:go|fly|travel|drive))|(?:i|we)(?:(?:'ll| will)(?: be)?)? (?:go|fly|flying|travel|travelling|drive|set off))(?: from (?-i:[A-Z])[\w-]+)? to {PLACE}{NAME}{END}", travels),
    rule("next", r"(?:(?:my|our|the) )?{NEXT_TRIP}(?: now)?(?::| is to| will be(?: to| in)?| goes(?: to)?| is going(?: to be)?(?: to| in)?| will go to| leads to| is)(?: now)?(?: to| in)? {NAME}{END}", trip),
    rule("next", r"{I} (?:booked|planned|decided on|settled on|chosen|chose|picked) (?:the|our|my) {NEXT_TRIP}(?::| to) {NAME}{END}", trip),
    rule("next", r"{I} (?:booked|planned|decided on|settled on|chosen|chose|picked) {NAME} (?:for|as) (?:our|my|the) {NEXT_TRIP}", trip),
    rule("honeymoon|holiday|vacation", r"{AM} (?:going|flying|travelling|traveling) to {NAME} (?:for|on)(?: (?:our|my|a|the))? (?:honeymoon|(?:(?:summer|winter|autumn|spring) )?(?:holidays?|vacation))(?=$|[,.!;])", trip),
    rule("not ", r"(?:the|our|my)(?: next)? (?:trip|holiday|vacation)(?: is| goes| is going| will be| will go)(?: now)?(?: to| in)? {NAME},? \(?(?:and )?not(?: to)? {FORMER}\)?(?=$|[,.!])", trip_instead),
    rule("next", r"{AM} (?:going|flying|travelling|traveling) to {NAME} (?:next$|for (?:my|our|the) {NEXT_TRIP})", trip),
    rule("trip|holiday|vacation", r"{AM} planning (?:a|our|my|the)(?: next)? (?:trip|holiday|vacation) to {NAME}{END}", trip),
    # What is not paid any more.
    rule("cancel|quit|left|dropped|ended|no longer pay", r"{I} (?:cancell?ed|quit|left|dropped|ended|no longer pay(?: for)?) (?:my|our|the) (?P<what>" + COST + r"|gym)(?=$|[,.!;]| (?:now|and|because|since|in|last|altogether|completely)\b)", cost_over),
    # Preferences.
    rule("favorite|favourite|fave", r"(?:my (?:(?:new|current|all-time) )?(?:favou?rite|fave)|fave) (?P<what>[a-z]+(?: (?!now|these|at|right|is|are)[a-z]+)?)(?: (?:now|nowadays|currently|these days|right now|at the mo(?:ment)?|atm))? (?:is|are)(?: (?:now|currently|still))? (?P<value>(?!(?:the|a|an|when|to|that|this|how|by|not|in|on|at|from|probably)\b)[\w'&-]+(?: (?!(?:and|but|because|since|so|by|from|in|at|when|which|that|of|now|nowadays|currently|these|right|again)\b)[\w'&-]+){0,3})(?=$|[,.!]| (?:and|but|because|since|so|by|from|now|nowadays|currently|these days|right now|at the mo(?:ment)?|atm|again|btw)\b)", favourite),
    rule("stopped|gave up|given up|quit", r"{I} (?:stopped|gave up|given up|quit)(?: (?:going|doing|playing|attending))?(?: to)?(?: my)? (?!(?:smok|drink|eat|vap|tak|us|try|work|be|hav|gett|mak|worry|think|car|talk|buy)ing\b)(?!(?:the )?{A_DRUG}){HABIT}(?: {LESSONS})?(?=$|[,.!;]| (?:now|altogether|because|for good|since|and|completely)\b)", weekly_over),
    rule("any", r"{I} (?:don't|do not) (?:go to|go|do|play|attend) {HABIT}{NO_MORE}(?=$|[,.!;]| (?:because|since|and)\b)", weekly_over),
    rule("any", r"i (?:don't|do not)(?: really)? (?:like|love|enjoy) (?P<value>(?:[\w'-]+ ){1,4}?)(?:any ?more|any longer)", no_longer),
    rule("longer|stopped", r"i (?:no longer (?:like|love|enjoy)|stopped (?:liking|enjoying)) {LIKED}", no_longer),
    rule("prefer", r"i(?: (?:really|also|still|now|just|much))* (?P<verb>prefer) (?P<value>(?!(?:it|that|this|to|not|the|a|an|your|you|them|if|when)\b)[\w'-]+(?: (?!(?:to|over|than|and|but|because|so|if|when|as|it|that|with|for|now|again|these|nowadays)\b)[\w'-]+){0,3})(?=$|[.!,]| (?:to|over|than|because|now|again|these days|nowadays)\b)", likes),
    rule("like|love|enjoy|hate|detest|dislike|stand|adore", r"i(?: (?:really|also|still|now|just|absolutely|truly|actually|much|quite|rather|do))*(?P<not> (?:don't|do not)(?: really)?)? (?P<verb>like|love|enjoy|hate|detest|dislike|can't stand|adore) {LIKED}", likes),
)


def compile_all() -> None:
    """Compile the patterns of all rules, which takes about a second: processes forked from this one have them."""
    for one in (*DATES, *RULES):
        form(one.text)
    compile_lazy()
