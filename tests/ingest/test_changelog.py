"""Rules of changelogs: a release and an entry are of their own version and date."""

from __future__ import annotations

import pytest

from tests.document_builders import read, records


def test_sections_of_a_changelog_have_version_and_date_of_their_own_heading():
    text = (
        "# Changelog\n\nAll changes.\n\n## Unreleased\n\n- soon\n\n## 0.13.0 (2026-08-04)\n\n"
        "### Removed\n\n- old\n\n## v1.2 - 4 August 2026\n\n- x\n\n## 1.1.0\n\n- y\n"
    )
    found = [
        (r.metadata["place"], r.metadata.get("version"), r.metadata["created_at"])
        for r in read("CHANGELOG.md", text).records
    ]
    assert found == [
        ("CHANGELOG.md:1-3", None, 7),
        ("CHANGELOG.md › Unreleased", None, 7),
        ("CHANGELOG.md › 0.13.0 (2026-08-04) › Removed", "0.13.0", 1785801600),
        ("CHANGELOG.md › v1.2 - 4 August 2026", "1.2", 1785801600),
        ("CHANGELOG.md › 1.1.0", "1.1.0", 1785801600),
    ]
    assert "version" not in read("guide.md", "## 1.2 Install\n\nx\n").records[0].metadata


def test_a_release_without_a_date_is_no_newer_than_the_one_above_it_and_one_to_come_is_told():
    """Seen 2: an old release without a readable date took that of the file, and was the latest of all."""
    text = (
        "# Changes\n\n## Version 8.5.0\n\nUnreleased\n\n- soon\n\n## Version 8.4.0\n\nReleased 2026-06-24\n\n- now\n\n"
        '## Version 6.0\n\nReleased 2015-11-24, codename "pow pow"\n\n- then\n\n## Version 5.1\n\n- undated\n\n'
        "## Version 5.0\n\nReleased on August 16th 2015\n\n- x\n"
    )
    found = [
        (r.metadata.get("version"), r.metadata["created_at"], r.metadata.get("unreleased"))
        for r in read("CHANGES.md", text.encode(), metadata={"created_at": 1_790_000_000}).records
        if r.metadata.get("version")
    ]
    assert found == [
        ("8.5.0", 1_790_000_000, True),
        ("8.4.0", 1_782_259_200, None),
        ("6.0", 1_448_323_200, None),
        ("5.1", 1_448_323_200, None),
        ("5.0", 1_439_683_200, None),
    ]


def test_a_release_takes_its_date_from_the_line_below_its_heading_for_all_its_sections():
    text = (
        "# Change Log\n\n## Version 0.8.0\n\n_2014-04-24_\n\n * Of 2013-01-01.\n\n### Fixes\n\n * One.\n\n"
        "## Version 0.7.0\n\n * Without a date, as 2012-01-01 is none of it.\n"
    )
    found = read("CHANGELOG.md", text.encode()).records
    assert [(r.metadata["version"], r.metadata["created_at"]) for r in found] == [
        ("0.8.0", 1398297600),
        ("0.8.0", 1398297600),
        ("0.7.0", 1398297600),
    ]


def test_a_smaller_release_is_no_part_of_the_larger_one_above_it():
    """Tools write `##` for a feature release and `###` for a fix: its fixes bore the other one's version."""
    text = (
        "# Changelog\n\n## [3.15.0](https://x.example) (2022-09-25)\n\n### Features\n\n* Add berths.\n\n"
        "### [3.14.2](https://x.example) (2022-06-20)\n\n### Bug Fixes\n\n* Mend the crane.\n"
    )
    (fix,) = (record for record in records("CHANGELOG.md", text) if "crane" in record.text)
    assert fix.metadata["version"] == "3.14.2"
    assert fix.metadata["place"] == "CHANGELOG.md › 3.14.2 (2022-06-20) › Bug Fixes"
    assert "3.14.2" not in "".join(r.text for r in records("CHANGELOG.md", text) if "berths" in r.text)


@pytest.mark.parametrize("path", ["Changes", "CHANGES.txt", "History.txt"])
def test_a_changelog_of_lines_has_a_record_for_each_release(path):
    """As CPAN specifies them: several releases were one record without a version."""
    text = (
        "Revision history of Harbour\n\n9.49  UNRELEASED\n  - Paint it.\n\n9.48  2026-07-14\n  - Mend the crane.\n\n"
        "v9.47 - July 5, 2026\n  - Add berths.\n"
    )
    told = {r.metadata.get("version"): r for r in records(path, text)}
    assert list(told) == [None, "9.49", "9.48", "9.47"]
    assert told["9.48"].text == "9.48  2026-07-14\n  - Mend the crane."
    assert told["9.47"].metadata["created_at"] < told["9.48"].metadata["created_at"]
    assert told["9.49"].metadata.get("unreleased") is True


GNU = (
    "2024-01-02  Ana Ruiz  <ana@x.example>\n\n\t* src/tide.c (tide_at): Take the moon into account.\n\n"
    "2023-12-30  Bo Berg  <bo@x.example>\n\n\t* NEWS: Mention it.\n"
)


@pytest.mark.parametrize("path", ["ChangeLog", "lib/ChangeLog-2023", "ChangeLog.1", "changelog.txt"])
def test_each_entry_of_a_gnu_changelog_is_a_record_with_its_author_and_date(path):
    found = read(path, GNU).records
    assert [(r.metadata["place"], r.metadata["author"], r.metadata["created_at"]) for r in found] == [
        (f"{path} › 2024-01-02, Ana Ruiz", "Ana Ruiz", 1704153600),
        (f"{path} › 2023-12-30, Bo Berg", "Bo Berg", 1703894400),
    ]
    assert found[1].text.endswith("* NEWS: Mention it.")


def test_the_older_form_and_debians_are_read_too():
    old = read("ChangeLog", "Tue Jan  2 10:11:12 1996  Ana Ruiz  (ana@x.example)\n\n\t* a.c: New.\n").records
    assert (old[0].metadata["place"], old[0].metadata["created_at"]) == (
        "ChangeLog › Jan 2 1996, Ana Ruiz",
        820540800,
    )
    debian = (
        "tides (1.2-1) unstable; urgency=medium\n\n  * New release of tides.\n\n"
        " -- Ana Ruiz <ana@x.example>  Tue, 02 Jan 2024 10:00:00 +0100\n"
    )
    (found,) = read("debian/changelog", debian).records
    assert (found.metadata["place"], found.metadata["version"], found.metadata["created_at"]) == (
        "debian/changelog › tides (1.2-1) unstable",
        "1.2",
        1704153600,
    )
