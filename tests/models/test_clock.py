"""Rules of reading instants: every way in which stores write a date."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from langchain_context_engine.models.clock import read_instant

DAY = datetime(2024, 5, 1, tzinfo=UTC)
MORNING = datetime(2024, 5, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("20240501", DAY),
        (20240501, DAY),
        (20240501.0, DAY),
        ("2024-05-01", DAY),
        ("2024W183", DAY),
        ("20240501T080000Z", MORNING),
        ("20240501T0800", MORNING),
        ("20240501T100000+0200", MORNING),
        ("20240501080000", MORNING),
        (20240501080000, MORNING),
        ("19991231", datetime(1999, 12, 31, tzinfo=UTC)),
        ("2024-W18-3", DAY),
        ("2024-122", DAY),
        ("2024-05", DAY),
        ("202405", DAY),
        (202405, DAY),
        ("2024122", DAY),
        (2024122, DAY),
        ("202405010800", MORNING),
        (202405010800, MORNING),
        ("2024-366", datetime(2024, 12, 31, tzinfo=UTC)),
        ("1850-122", datetime(1850, 5, 2, tzinfo=UTC)),
        ("2150-01", datetime(2150, 1, 1, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        (2024, datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_basic_forms_of_iso_8601_are_dates(value, instant):
    """F9."""
    assert read_instant(value) == instant


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-01 10:00:00 +0200", "2024-05-01 08:00:00 UTC", "2024-05-01 10:00:00.0 +0200 CEST",
        "Wed, 01 May 2024 08:00:00 GMT", "1 May 2024 10:00:00 +0200", 1714550400000000,
        "1714550400000000000", "20240501_080000", "Wed May  1 10:00:00 2024 +0200",
        "Wed May 01 08:00:00 UTC 2024", "2024-05-01T10:00:00+02:00[Europe/Berlin]", "2024/05/01 8:00",
        "2024-5-1 08:00 AM", "May 1, 2024 at 8:00 am",
        "Wednesday, 1st May 2024 08:00", "01-May-2024 08:00:00", "01.05.2024, 10:00 +0200",
    ],
)  # fmt: skip
def test_dates_are_read_as_git_databases_and_mail_print_them(value):
    """F9."""
    assert read_instant(value) == MORNING


@pytest.mark.parametrize(
    "value",
    [
        "2024-13", "2024-400", "2023-366", "2024-000", "1850-366", "12 Foo 2024 10:00", "Mon, 99 May 2024 12:00:00", "2024-05-01 12:00 CEST",
        "01/05/2024", "30 Feb 2024", "Mayday 1, 2024", "1 Mays 2024", "1_000", "2024-05-01 13:00 PM",
        "00:00", "24-05-01", "13/05/24",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_date_is_none(value):
    assert read_instant(value) is None


@pytest.mark.parametrize("value", [1714550400, "1714550400", 1714550400000, "1714550400000", 1714550400.0])
def test_epoch_seconds_and_milliseconds_stay_what_they_are(value):
    """F9."""
    assert read_instant(value) == MORNING


@pytest.mark.parametrize(
    "value", [20241301, 20240230, 18991231, 21000101, 2024400, 2023366, 202413, -20240501, 1899, 2100]
)
def test_digits_that_are_no_day_of_these_centuries_are_seconds(value):
    """F9."""
    assert read_instant(value) == datetime.fromtimestamp(value, tz=UTC)


@pytest.mark.parametrize(
    "value", ["31/12/2023", "12/31/2023", "31.12.2023", "December 31st, 2023", "31-12-2023"]
)
def test_of_two_numbers_the_one_above_twelve_is_the_day(value):
    """F9."""
    assert read_instant(value) == datetime(2023, 12, 31, tzinfo=UTC)
