"""What something costs, and the numbers under which somebody is reached."""

import pytest

from tests.domain.extraction.test_extraction import found

pytestmark = pytest.mark.spec_part("B13")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What something costs.
        ("rent is 480 a month which is a joke tbh", ["rent 480 a month"]),
        ("rent's 550 now but it's worth it", ["rent 550"]),
        ("Our mortgage went up to 1,450 a month in March.", ["mortgage 1,450 a month 2026-03-01.."]),
        ("They put our rent up to 1,150 from 1 June.", ["rent 1,150 2026-06-01.."]),
        (
            "Mr Cole has finally put the rent up, it's £725 from June, and I can hardly complain.",
            ["rent £725 2026-06-01.."],
        ),
        ("landlord is putting the rent up to 560 in september", ["rent 560 2026-09-01.."]),
        ("our mortgage is 1180 a month, fixed for five years", ["mortgage 1180 a month"]),
        ("my salary is 2900 a month before tax", ["salary 2900 a month"]),
        ("I charge £220 a day", ["day_rate £220 a day"]),
        ("put my day rate up to £250", ["day_rate £250"]),
        ("heating bill is £140 now with the new tariff", ["heating_bill £140"]),
        ("I pay 900 in rent", ["rent 900"]),
        # Numbers under which somebody is reached.
        ("my phone number is 01632 960 142 if you need it", ["phone_number 01632 960 142"]),
        ("new phone number, its 07700 900 318", ["phone_number 07700 900 318"]),
        ("My number has changed, it's +1 (415) 555-0134.", ["phone_number +1 (415) 555-0134"]),
        ("My email is ana@mail.org.", ["email ana@mail.org"]),
    ],
)
def test_a_cost_or_a_number_becomes_a_fact(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I saw a flat in Graz. Rent is 900.",
        "The rent is 900 for a studio.",
        "My rent is 3 days late.",
        "My rent was 500 in 2019",
        "My phone is 3 years old",
        "new number for mum is 0664 1234567",
        "If my rent is 900 I'm out",
        "My rent is 30% of my income",
        "My insurance is 2 years old",
    ],
)
def test_other_figures_become_nothing(text: str) -> None:
    assert found(text) == []
