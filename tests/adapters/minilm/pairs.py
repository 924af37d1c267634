"""Pairs of statements as a memory holds them, from the same to unrelated: what calibrations are measured on."""

Pairs = tuple[tuple[str, str], ...]

SAME: Pairs = (
    ("Ana lives in Lisbon", "Ana is living in Lisbon"),
    ("Ana is lactose intolerant", "Ana has lactose intolerance"),
    ("Marko works at Acme", "Marko is employed by Acme"),
    ("Prefers tea over coffee", "Likes tea more than coffee"),
    ("Allergic to peanuts", "Has a peanut allergy"),
    ("Runs five kilometres every morning", "Goes for a 5 km run each morning"),
    ("Her sister is called Jana", "Jana is her sister"),
    ("The project deadline is Friday", "The deadline of the project is on Friday"),
    ("Ana drinks green tea every day", "Ana drinks green tea daily"),
    ("Wants to learn Spanish", "Would like to learn Spanish"),
    ("His dog is named Rex", "He has a dog called Rex"),
    ("Dislikes loud restaurants", "Does not like noisy restaurants"),
)
NEWER: Pairs = (
    ("Ana lives in Lisbon", "Ana lives in Porto"),
    ("Marko works at Acme", "Marko works at Globex"),
    ("Runs 5 km every morning", "Runs 10 km every morning"),
    ("The deadline is Friday", "The deadline is Monday"),
    ("Ana drinks green tea", "Ana drinks black tea"),
    ("Has two children", "Has three children"),
    ("Weighs 80 kg", "Weighs 76 kg"),
    ("Her favourite colour is blue", "Her favourite colour is green"),
    ("Is training for a half marathon", "Is training for a marathon"),
    ("Pays 900 euros rent", "Pays 1100 euros rent"),
    ("Is single", "Is married"),
    ("Works remotely on Fridays", "Works remotely every day"),
)
RELATED: Pairs = (
    ("Ana is lactose intolerant", "Ana avoids milk"),
    ("Marko works at Acme", "Marko's boss at Acme is Ivana"),
    ("Runs five kilometres every morning", "Is training for a half marathon"),
    ("Ana lives in Lisbon", "Ana's flat has a view of the Tagus"),
    ("Prefers tea over coffee", "Buys green tea in a shop near work"),
    ("Wants to learn Spanish", "Booked a trip to Madrid"),
    ("His dog is named Rex", "Walks the dog before work"),
    ("Allergic to peanuts", "Carries an epinephrine pen"),
    ("The project deadline is Friday", "The project is behind schedule"),
    ("Her sister is called Jana", "Jana lives in Zagreb"),
    ("Plays the guitar", "Is in a band that rehearses on Sundays"),
    ("Has two children", "Her daughter started school"),
)
UNRELATED: Pairs = (
    ("Ana lives in Lisbon", "Runs five kilometres every morning"),
    ("Allergic to peanuts", "The project deadline is Friday"),
    ("His dog is named Rex", "Prefers tea over coffee"),
    ("Marko works at Acme", "Her favourite colour is blue"),
    ("Wants to learn Spanish", "Has two children"),
    ("Dislikes loud restaurants", "Plays the guitar"),
    ("Ana is lactose intolerant", "Pays 900 euros rent"),
    ("Is single", "Works remotely on Fridays"),
    ("Weighs 80 kg", "Her sister is called Jana"),
    ("Booked a trip to Madrid", "Carries an epinephrine pen"),
    ("The project is behind schedule", "Ana drinks green tea"),
    ("Ana lives in Lisbon", "Ana drinks green tea"),
)
