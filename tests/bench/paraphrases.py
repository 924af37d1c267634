"""Other ways to say the changes of `tests.bench.changing`, written before any rule that is to understand them.

No rule may be made from these sentences: they measure how well the rules do on wordings that they were not made for.
"""

from collections.abc import Mapping

HELD_OUT: Mapping[str, tuple[str, ...]] = {
    "home": (
        "I've relocated to {}.",
        "My new place is in {}.",
        "I'm living in {} these days.",
        "We finally settled in {}.",
        "As of this week I'm based in {}.",
        "Packed everything up and moved to {}.",
        "Guess what, I live in {} now!",
        "I'm in {} now, new flat and all.",
        "Home is {} now.",
        "The movers came yesterday, so I'm a {} resident now.",
    ),
    "job": (
        "I joined {} on Monday.",
        "I now work for {}.",
        "I'm working at {} these days.",
        "I got hired by {}.",
        "I'm employed at {} now.",
        "{} hired me.",
        "I've taken a job with {}.",
        "I switched jobs, I'm at {} now.",
        "My new employer is {}.",
        "I got the job at {}!",
    ),
    "diet": (
        "I'm {} now.",
        "I went {} this month.",
        "I've gone {}.",
        "I started eating {}.",
        "I decided to go {}.",
        "I'm following a {} diet these days.",
        "I'm doing {} now.",
        "These days I eat {}.",
        "My diet is {} now.",
        "I turned {}.",
    ),
    "plan": (
        "The next trip is to {} now.",
        "We're going to {} next.",
        "Change of plans, the next trip is {}.",
        "I'm planning a trip to {} next.",
        "Our next trip is going to be {}.",
        "Next trip: {}.",
        "I'm flying to {} for my next trip.",
        "We decided on {} for the next trip.",
        "Instead we're travelling to {} next.",
        "The next holiday will be in {}.",
    ),
}
CORRECTED: Mapping[str, tuple[str, ...]] = {
    "home": ("Actually, I moved to {}.", "Sorry, it is {} that I moved to.", "No, I meant I moved to {}."),
    "job": ("Actually I work at {}.", "Sorry, I meant that I work at {}.", "To be exact, my employer is {}."),
    "diet": ("Actually I'm on a {} diet.", "Sorry, I meant {}, that is my diet.", "To be exact, my diet is {}."),
    "plan": ("Actually the next trip is to {}.", "No, I meant the next trip is to {}.", "Sorry, the trip goes to {}."),
}
