"""Variants of a name: spellings that differ only by a possible typo, such as Makesh and Mukesh (D13)."""

from mnemolog.domain.text import name_key

# Minimum length, and the number of typos allowed: letters changed, omitted, inserted or transposed.
SLIPS = ((8, 2), (4, 1))


def alike(one: str, other: str) -> bool:
    """Whether two different names may be variants of each other."""
    first, second = name_key(one), name_key(other)
    allowed = next((slips for letters, slips in SLIPS if min(len(first), len(second)) >= letters), 0)
    if first == second or abs(len(first) - len(second)) > allowed:
        return False
    return distance(first, second) <= allowed


def distance(one: str, other: str) -> int:
    """Damerau and Levenshtein's distance, in which no letter is touched twice."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        previous, row, earlier = row, [i], before
        for j, letter_there in enumerate(other, 1):
            change = previous[j - 1] + (letter != letter_there)
            row.append(min(change, previous[j] + 1, row[j - 1] + 1))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == letter_there:
                row[j] = min(row[j], earlier[j - 2] + 1)
        before = previous
    return row[-1]
