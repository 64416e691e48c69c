"""The words of the generated pair.

The source words are English, the target words invented. English past tenses and auxiliaries do not agree with their
subject. Every finite target verb does, in number and in the class ("sun" or "moon") of the subject's noun. A few source
words share a translation (boy and lad, big and large, ...).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A word and its translation. Nouns carry the ending of their verb; finite verbs are stems without it."""

    source: str
    target: str | None
    ending: str = ""


# The ending of a finite verb marks class and number of its subject.
ENDINGS = {"sun": ("as", "an"), "moon": ("is", "in")}

SUBJECT = "ka"
OBJECT = "vo"
TO = Entry("to", "ri")
THAT = Entry("that", "hen")

# Singular, plural, target stem, class.
_NOUNS = """
dog dogs nur sun          cat cats nut moon         bird birds ges sun        horse horses nug moon
fox foxes dol sun         bear bears vat moon       wolf wolves mov sun       mouse mice tuv moon
lamb lambs fud sun        goat goats zuf moon       king kings bak sun        queen queens gud moon
boy boys vom sun          lad lads vom sun          girl girls nuk moon       judge judges pev moon
teacher teachers kod sun  doctor doctors sar moon   baker bakers sin sun      farmer farmers paz moon
sailor sailors kik sun    soldier soldiers pid moon painter painters duf sun  singer singers mal moon
dancer dancers mad sun    thief thieves zak moon    monk monks gar sun        nun nuns mon moon
poet poets duv sun        lawyer lawyers gim moon   miner miners dim sun      tailor tailors bof moon
hunter hunters fez sun    pilot pilots dad moon     clown clowns nog sun      child children suk moon
man men ten sun           woman women sof moon      guest guests mok sun      witch witches bit moon
"""

# Infinitive, past, target stem.
_INTRANSITIVE = """
sleep slept gos  laugh laughed sut  fall fell gaf  wait waited kor  dance danced gad  sing sang fim  swim swam pug
"""
_TRANSITIVE = """
see saw fot           chase chased suf    find found bek      follow followed nid  hear heard vum
help helped zin       know knew daf       love loved guv      hate hated gat       call called lit
push pushed net       catch caught zog    visit visited sel   praise praised guk   fear feared teg
forget forgot tuk     greet greeted sor   bite bit ran
"""
_DITRANSITIVE = """
show showed baf  sell sold bul  send sent gol  lend lent kug  bring brought tag
"""

# Words that never change: source, target.
_ADJECTIVES = """
big diga    large diga   small niva    little niva   old tuta     young boma   happy tida   sad buva   clever dofa
lazy tima   brave fafa   rich numa     poor taza     proud tema   quiet lava   hungry nana  tall vara  kind rata
"""
_TIMES = """
yesterday sone  today sare  often mive  never ture  once noze  always duse  soon dode  again vuve
"""
_MANNERS = """
slowly lige  quickly peme  swiftly peme  gladly gine  secretly sike  loudly soke  badly goke
"""


def _rows(table: str, columns: int) -> list[list[str]]:
    words = table.split()
    return [words[start : start + columns] for start in range(0, len(words), columns)]


def _plain(table: str) -> list[Entry]:
    return [Entry(source, target) for source, target in _rows(table, 2)]


def _nouns() -> list[Entry]:
    entries = []
    for singular, plural, stem, gender in _rows(_NOUNS, 4):
        one, many = ENDINGS[gender]
        entries += [Entry(singular, stem + "o", one), Entry(plural, stem + "oi", many)]
    return entries


def _verbs(table: str, name: str) -> dict[str, list[Entry]]:
    rows = _rows(table, 3)
    return {
        name: [Entry(past, stem) for _, past, stem in rows],
        f"{name} infinitive": [Entry(infinitive, stem + "u") for infinitive, _, stem in rows],
    }


# Words of one category are interchangeable, which makes a bag of words ambiguous.
LEXICON: dict[str, list[Entry]] = {
    "determiner": [Entry("the", None), *_plain("my lo  your ze  some ni  no bu")],
    "adjective": _plain(_ADJECTIVES),
    "noun": _nouns(),
    "noun preposition": _plain("of mu  with pe  from tal"),
    "place preposition": _plain("near kib  behind rop  beside fip  under dob"),
    "time": _plain(_TIMES),
    "manner": _plain(_MANNERS),
    "auxiliary": _plain("will fer  must zur  could ken"),
    **_verbs(_INTRANSITIVE, "intransitive"),
    **_verbs(_TRANSITIVE, "transitive"),
    **_verbs(_DITRANSITIVE, "ditransitive"),
}
