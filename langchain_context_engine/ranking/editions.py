"""The edition of the rules that are no weight. A trace keeps its own, so that it replays to the same bytes.

1. As traces were made that name none.
2. What checks a project is told from what documents it, and what people wrote down has an order of time.
3. Of one change told twice the newer telling stays where the newest is asked for.
4. A whole record of its own (a memory, a message) stands beside one that says it and more.
5. How a class is printed or compared, and what robots commit, comes after what is asked for;
   words that only make a question one ("how many") raise no doubt; of the newest so many come as are
   asked for; of what is indexed the first few are read, and a subject alone tells no why.
6. A row of a table is packed by itself, its header with it; badges, logos and lists of links within a page
   have no words; what breaks off within its first sentence is not read; a merge of what is told is told;
   no marker is a footnote of a text; of a class without the bodies of its members little is told of how;
   a longer message of the best commit of all stays whole.
7. A program is cut between its lines; a line that only opens a block is no passage, nor are headings alone;
   what others wrote, in a folder of its own (`vendor/`), comes after the project's; a changelog's
   sections on other releases than the one named come after its own, and after commits where it is asked
   which it was; what is in by pieces becomes whole where that fits as written, though no single piece of
   the rest does; one of the best k of which no piece tells enough is cut in its turn, before the places
   are taken; no marker is within a text's range of brackets (`[1]–[3]`), nor named there by a word (`[doc
   1]`), but may stand in what is not shown.
8. Questions in other languages than English ask for the newest, for a reason, for a place too; of a Japanese
   one what only builds its sentence is not looked for; a long place loses its middle, not its front;
   a symbol that a text names with its path beside it is lent to in full, however often it is spoken of;
   what is written in the end to see whether it fits is what may, by what one piece saves and not all.
"""

from __future__ import annotations

CHECKS, NEWEST_STAYS, OWN_STANDS, ASIDES, ROWS, WHOLE, SPOKEN = 2, 3, 4, 5, 6, 7, 8
"""The edition since which each rule holds."""

EDITION = SPOKEN
"""Today's."""
