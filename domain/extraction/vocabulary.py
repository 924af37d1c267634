"""The words that the rules know: diets, occupations, languages, relations."""

DIETS = (
    "vegan|vegetarian|pescatarian|flexitarian|keto|ketogenic|paleo|low[- ]carb|low[- ]fat|low[- ]fodmap|gluten[- ]free"
    "|dairy[- ]free|lactose[- ]free|sugar[- ]free|plant[- ]based|mediterranean|omnivore|carnivore|halal|kosher|raw vegan"
    "|whole30|dash"
)
AILMENTS = {
    "prediabetic": "prediabetes",
    "pre-diabetic": "prediabetes",
    "diabetic": "diabetes",
    "anaemic": "anaemia",
    "anemic": "anemia",
    "asthmatic": "asthma",
    "epileptic": "epilepsy",
    "coeliac": "coeliac disease",
    "celiac": "celiac disease",
    "autistic": "autism",
    "dyslexic": "dyslexia",
    "deaf": "deafness",
    "hard of hearing": "hearing loss",
    "colour blind": "colour blindness",
    "colour-blind": "colour blindness",
    "color blind": "color blindness",
    "color-blind": "color blindness",
    "colorblind": "color blindness",
    "legally blind": "blindness",
    "visually impaired": "visual impairment",
    "partially sighted": "visual impairment",
}
"""What somebody has who is called so."""
LANGUAGES = (
    "Arabic|Bengali|Bulgarian|Cantonese|Catalan|Chinese|Croatian|Czech|Danish|Dutch|English|Estonian|Farsi|Finnish"
    "|French|Galician|German|Greek|Hebrew|Hindi|Hungarian|Icelandic|Indonesian|Irish|Italian|Japanese|Korean|Latvian"
    "|Lithuanian|Malay|Mandarin|Norwegian|Persian|Polish|Portuguese|Punjabi|Romanian|Russian|Serbian|Slovak|Slovene"
    "|Spanish|Swahili|Swedish|Tagalog|Tamil|Thai|Turkish|Ukrainian|Urdu|Vietnamese|Welsh"
)
_OCCUPATION_WORDS = (
    "accountant actor actress analyst animator anesthetist architect artist astronomer baker banker barista bartender"
    " beekeeper biologist bookkeeper botanist bricklayer builder butcher carer carpenter cashier chef chemist coach comedian"
    " composer conductor consultant cook copywriter counsellor counselor courier dancer dentist designer detective"
    " dev developer dietitian diplomat director doctor driver economist editor electrician engineer entrepreneur farmer"
    " firefighter fisherman florist freelancer gardener geologist goldsmith guide hairdresser historian illustrator"
    " interpreter journalist judge lawyer lecturer librarian lifeguard linguist locksmith luthier manager mason"
    " mathematician mechanic meteorologist midwife model musician nanny neurologist notary novelist nurse nutritionist"
    " optician painter paramedic pediatrician pharmacist photographer physician physicist physiotherapist pilot plumber"
    " poet policeman politician postdoc potter producer professor programmer psychiatrist psychologist radiographer realtor"
    " receptionist recruiter referee reporter researcher roofer sailor salesman scientist sculptor secretary singer"
    " soldier solicitor statistician steward surgeon surveyor tailor teacher technician therapist tiler translator"
    " tutor undertaker veterinarian vet waiter waitress web designer welder winemaker writer zoologist"
)
OCCUPATIONS = "|".join(_OCCUPATION_WORDS.split())
# One at a time; the others may be several.
ONE_OF = (
    "wife|husband|missus|other half|fiancee?|girlfriend|boyfriend|partner|boss|(?:line )?manager|team lead(?:er)?|supervisor|landlord|landlady"
    "|solicitor|optician|accountant|tutor|surgeon"
    "|dentist|doctor|gp|therapist|vet|hairdresser|barber|physiotherapist|p(?:a)?ediatrician|dermatologist|midwife|mother-in-law|father-in-law|mother|father|mom|mum|mam|mummy|mommy|momma|mama|dad|daddy|papa|stepmother|stepfather|stepmum|stepmom|stepdad"
)
ROLE_WORDS = "(?:line|ward|store|shop|site|office|area|project|general|department|dissertation|thesis)"
"""What a role may be called after, as a ward manager is."""
SOME_OF = (
    "sister-in-law|brother-in-law|sister|brother|son-in-law|daughter-in-law|son|daughter|cousin|aunt|uncle|niece|nephew"
    "|grandmother|grandfather|grandma|grandpa|granny|gran|nan|nana|grandad|granddad|grandson|granddaughter|friend"
    "|colleague|coworker|neighbour|neighbor|roommate|flatmate|housemate|mate|half-sister|half-brother|stepsister|stepbrother|stepson|stepdaughter"
    "|baby|toddler|child|kid|youngest|eldest|oldest"
)
_AGE_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty"
)
AGES = {word: number for number, word in enumerate(_AGE_WORDS.split(), start=1)}
"""The ages that people write in a word."""
PARENTS = "mum|mom|momma|mam|mummy|mommy|dad|daddy|grandma|grandpa|granny|grandad|granddad|gran|nan|nana"
"""Whom one calls by the word alone: "Mum moved to York"."""
_DOG_WORDS = (
    "spaniel terrier labrador retriever collie whippet greyhound poodle dachshund beagle corgi lurcher husky alsatian"
    " cockapoo labradoodle chihuahua schnauzer rottweiler sheepdog bulldog dalmatian"
    " pitbull staffie staffy frenchie pug pomeranian yorkie westie doberman mastiff malinois akita samoyed vizsla"
    " weimaraner kelpie cavapoo goldendoodle"
)
_CAT_WORDS = "tabby siamese ragdoll tortie moggy tomcat"
BREEDS = {**dict.fromkeys(_DOG_WORDS.split(), "dog"), **dict.fromkeys(_CAT_WORDS.split(), "cat")}
"""What sorts of dogs and cats are called."""
PETS = "|".join(BREEDS) + (
    "|dog|cat|puppy|pup|kitten|parrot|hamster|rabbit|horse|pony|guinea pig|turtle|tortoise|goldfish|ferret|budgie|snake"
)
# Makes of cars; the names of some are words, too.
CARS = (
    "Alfa Romeo|Audi|BMW|BYD|Buick|Cadillac|Chevrolet|Chevy|Chrysler|Citro[eë]n|Cupra|Dacia|Dodge|Fiat|Ford|Honda|Hyundai"
    "|Jaguar|Jeep|Kia|Lada|Land Rover|Lexus|Mazda|Mercedes(?:-Benz)?|Mitsubishi|Nissan|Opel|Peugeot|Polestar|Porsche"
    "|Range Rover|Renault|Rivian|Saab|Skoda|Škoda|Subaru|Suzuki|Tesla|Toyota|Vauxhall|Volkswagen|Volvo|VW"
)
# Models by which a car may be called without its make.
MODELS = (
    "Fiesta|Focus|Mondeo|Ka|Corsa|Astra|Yaris|Corolla|Prius|Aygo|Polo|Golf|Passat|Clio|Megane|Twingo|Kangoo|Zoe|Micra|Juke"
    "|Qashqai|Leaf|Civic|Jazz|Panda|Punto|Berlingo|Partner|Transit|Octavia|Fabia|Superb|Duster|Sandero|Mini|Picanto|Sportage"
    "|Tucson|Kona|Ibiza|Leon|Swift|Forester|Outback|Hilux|Defender|Discovery|Beetle|Camry|Accord"
    "|Vivaro|Vito|Sprinter|Trafic|Caddy|Combo|Crafter|Ducato|Movano|Expert|Dispatch"
)
MODELS_IN_SMALL = (
    "tacoma|tundra|rav4|highlander|4runner|silverado|tahoe|equinox|malibu|camaro|corvette|f-?150|altima|sentra|elantra"
    "|wrangler|cherokee|cr-?v|hr-?v|jetta|tiguan|crosstrek|impreza|corolla|camry|yaris|prius|qashqai|mondeo|corsa|octavia"
    "|fabia|sandero|picanto|sportage|hilux|berlingo|kangoo|miata"
)
"""Models that are no other words, so that they may be written in small letters."""
NOTHING_BUT = r"\bnot allergic to anything(?: else)? (?:but|except(?: for)?|other than|apart from)\b"
"""What says with "not" to what somebody is allergic."""
BANKS = "Nationwide|Monzo|Starling|Revolut|Barclays|HSBC|NatWest|Natwest|Lloyds|TSB|First Direct|Chase|Wells Fargo|Citibank|Capital One|N26"
"""Banks whose names are no places."""
RELATIONS = {
    **BREEDS,
    "wife": "married_to",
    "husband": "married_to",
    "fiance": "engaged_to",
    "fiancee": "engaged_to",
    "girlfriend": "partner_of",
    "boyfriend": "partner_of",
    **dict.fromkeys(("partner", "missus", "other half"), "partner_of"),
    **dict.fromkeys(("baby", "toddler", "child", "kid", "youngest", "eldest", "oldest"), "parent_of"),
    "friend": "friend_of",
    "mate": "friend_of",
    "mum": "mother",
    "mom": "mother",
    "mam": "mother",
    "mummy": "mother",
    "mommy": "mother",
    "mama": "mother",
    "momma": "mother",
    "dad": "father",
    "papa": "father",
    "daddy": "father",
    "neighbor": "neighbour",
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "granny": "grandmother",
    "gran": "grandmother",
    "nan": "grandmother",
    "nana": "grandmother",
    "grandad": "grandfather",
    "granddad": "grandfather",
    "stepmum": "stepmother",
    "stepmom": "stepmother",
    "stepdad": "stepfather",
    "half-sister": "sister",
    "half-brother": "brother",
    "coworker": "colleague",
    "flatmate": "roommate",
    "housemate": "roommate",
    **{f"{one}-in-law": f"{one}_in_law" for one in ("mother", "father", "sister", "brother", "son", "daughter")},
    "gp": "doctor",
    "line manager": "manager",
    "team lead": "manager",
    "team leader": "manager",
    "paediatrician": "pediatrician",
    "puppy": "dog",
    "pup": "dog",
    "kitten": "cat",
    "landlady": "landlord",
}
"""The predicates of relations whose own word is not one."""
_OF_SIBLINGS = {
    "wife": "sister_in_law",
    "husband": "brother_in_law",
    "son": "nephew",
    "daughter": "niece",
}
_OF_CHILDREN = {"wife": "daughter_in_law", "husband": "son_in_law", "son": "grandson", "daughter": "granddaughter"}
_OF_PARENTS = {"mother": "grandmother", "father": "grandfather", "sister": "aunt", "brother": "uncle"}
_OF_SPOUSES = {one: f"{one}_in_law" for one in ("mother", "father", "sister", "brother")}
KIN_OF_KIN = {
    **dict.fromkeys(("brother", "sister"), _OF_SIBLINGS),
    **dict.fromkeys(("son", "daughter"), _OF_CHILDREN),
    **dict.fromkeys(("mother", "father"), _OF_PARENTS),
    "married_to": _OF_SPOUSES,
    "aunt": {"son": "cousin", "daughter": "cousin"},
    "uncle": {"son": "cousin", "daughter": "cousin"},
}
"""What the relative of a relative is to the author, by their predicates: a brother's daughter is a niece."""
MORE_THAN_ITS_PREDICATE = frozenset({"wife", "husband", "girlfriend", "boyfriend", "fiancee", "landlady"})
"""The words for relations that tell more than their predicates: whether somebody is a he or a she."""
KIN_WORDS = (
    "mother father sister brother son daughter cousin aunt uncle niece nephew grandmother grandfather stepsister"
    " stepbrother stepson stepdaughter grandson granddaughter parent_of"
)
ONLY_ONE = ("mother", "father")
"""Relatives of whom anything may be recorded without a name."""
HEALTH = ("allergy", "intolerance", "medication", "condition", "diet_plan")
"""What is recorded of any relative without a name: who cooks for them must know it, whichever sister it is."""
OUTLIVING = frozenset([*KIN_WORDS.split(), "birthday", "born_in", "born_on", "died"])
"""The predicates of facts that do not end with a death: kinship, and what is of no time."""
TIED_TO = {
    "works_at": ("boss", "manager", "supervisor", "colleague", "works_in", "job_title"),
    "lives_in": ("roommate", "neighbour", "landlord", "address", "lives_on", "lives_near", "lives_with"),
    "next_trip": ("trip_date", "holiday_date", "vacation_date"),
    "married_to": ("wedding_date",),
}
"""What does not outlast a job, a home, a plan or a marriage: who leaves a company has no manager there."""
TRIPS = ("trip", "holiday", "vacation")
COUPLE = ("partner_of", "married_to", "engaged_to")
SUCCEEDED = {
    "married_to": {"engaged_to": "{}", "partner_of": "{}"},
    "lives_in": {"plans": "to move to {}"},
    "works_at": {"plans": "to work at {}"},
}
"""What a fact ends about the same object: an engagement ends with the wedding, and a plan when it is done."""
SUPERIORS = ("boss", "manager", "supervisor")
ALSO_CALLED = {one: tuple(other for other in SUPERIORS if other != one) for one in SUPERIORS}
"""Other words for the same role: a new manager takes the place of the boss."""
TURNED = {"lives_with": ("neighbour",)}
"""What a fact ends between the same two, seen from the other: who moves in is no longer a neighbour."""
FOLLOWED_BY_OTHER = {before: later for later, ended in TURNED.items() for before in ended}
FOLLOWED = {"engaged_to": "married_to", "partner_of": "married_to"}
"""What of the same two people may be recorded before it, although it began later."""
RULED_OUT = {
    "meat": ("vegetarian", "vegan", "plant-based", "pescatarian"),
    "fish": ("vegetarian", "vegan", "plant-based"),
}
"""The diets that do not allow a food."""
PLURALS = {
    "kids": "parent_of",
    "children": "parent_of",
    "sons": "son",
    "daughters": "daughter",
    "twins": "parent_of",
    "girls": "parent_of",
    "boys": "parent_of",
    "sisters": "sister",
    "brothers": "brother",
    "cats": "cat",
    "dogs": "dog",
    "puppies": "dog",
    "kittens": "cat",
    **{f"{pet}s": pet for pet in ("rabbit", "hamster", "budgie", "parrot", "horse", "guinea pig")},
    "housemates": "roommate",
    "flatmates": "roommate",
    "roommates": "roommate",
    "neighbours": "neighbour",
    "neighbors": "neighbour",
    "best friends": "friend_of",
    "friends": "friend_of",
    "colleagues": "colleague",
    "coworkers": "colleague",
    **{f"{one}s": one for one in ("cousin", "niece", "nephew", "aunt", "uncle", "grandson", "granddaughter")},
}
"""The predicates of those of whom several are named: "our kids are Mia and Tom"."""
SEVERAL = "|".join(PLURALS)
KIN_TOGETHER = (
    "kids|children|twins|triplets|boys|girls|lads|sons|daughters|parents|grandparents|grandkids|grandchildren|sisters|brothers"
    "|cousins|nieces|nephews"
)
"""Relatives of whom something is said together, without their names: "the twins are allergic to milk"."""
SUBJECTS = (
    "computer science|physics|maths|mathematics|chemistry|biology|biochemistry|medicine|dentistry|nursing|midwifery|pharmacy"
    "|law|economics|accounting|business studies|psychology|sociology|politics|philosophy|history|geography|geology|linguistics"
    "|journalism|architecture|(?:civil |mechanical |electrical |chemical |software )?engineering|art history|fine art|theology"
    "|archaeology|anthropology|social work|statistics|data science|veterinary medicine|environmental science|neuroscience"
)
"""What somebody may study; much else is switched to."""
VERBS = (
    "adores|asked|bakes|became|bought|broke|brought|called|came|cooks|could|couldn't|did|didn't|does|doesn't|drives|drove|fell|found|gave"
    "|gets|goes|got|hates|helps|introduced|invited|joined|keeps|kept|knows|left|likes|lives|looks|lost|loves|made|makes|married|met|put|quit|rang|ran"
    "|moved|needs|plays|plans|prefers|runs|said|sang|saw|says|sends|sent|set|sings|sold|spent|speaks|started|stayed|stays|studies|swears|swims|takes"
    "|taught|teaches|tells|thinks|told|took|travels|turned|turns|visited|visits|wants|went|won|works|writes|wrote"
)
"""What shows that a name stands before it, as in "my friend Ada drives me"."""
_PREDICATE_WORDS = (
    "likes dislikes prefers speaks studies studies_at plans next_trip trip_to engaged_to preferred_name sister brother son"
    " daughter mother father cousin aunt uncle colleague neighbour roommate boss manager doctor dentist therapist"
    " landlord dog cat"
)
PREDICATES = frozenset(_PREDICATE_WORDS.split())
"""Predicates of the rules that no policy has to configure."""
