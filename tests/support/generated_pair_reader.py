"""A reader of the generated pair's source language, written without its generator.

It goes through the sentence once, from left to right, with one word of look-ahead, and never guesses. That it finds
the translation of every sentence shows that word order leaves nothing ambiguous.
"""

from __future__ import annotations

from wordorder.data.grammar.lexicon import LEXICON, Entry

CATEGORY: dict[str, tuple[str, Entry]] = {
    entry.source: (category, entry) for category, entries in LEXICON.items() for entry in entries
}


def translate(source: list[str]) -> list[str]:
    return _Reader(source).sentence()


class _Reader:
    def __init__(self, words: list[str]) -> None:
        self.words = [*words, ""]
        self.at = 0

    def category(self) -> str:
        return CATEGORY.get(self.words[self.at], (self.words[self.at],))[0]

    def take(self) -> Entry:
        self.at += 1
        return CATEGORY[self.words[self.at - 1]][1]

    def skip(self, word: str) -> None:
        assert self.words[self.at] == word, f"'{word}' expected at {self.at} of {self.words}"
        self.at += 1

    def sentence(self) -> list[str]:
        adjuncts: dict[str, list[str]] = {}
        self.adjuncts(adjuncts)
        subject, ending = self.noun_phrase()
        self.adjuncts(adjuncts)
        valency, verb = self.verb(ending)
        objects: list[str] = []
        if valency != "intransitive":
            thing, _ = self.noun_phrase()
            objects = [*thing, "vo"]
        if valency == "ditransitive":
            self.skip("to")
            receiver, _ = self.noun_phrase()
            objects = [*receiver, "ri", *objects]
        self.adjuncts(adjuncts)
        self.skip("")
        time, place, manner = (adjuncts.get(kind, []) for kind in ("time", "place preposition", "manner"))
        return [*time, *place, *subject, "ka", *manner, *objects, *verb]

    def adjuncts(self, found: dict[str, list[str]]) -> None:
        while (kind := self.category()) in ("time", "manner", "place preposition"):
            assert kind not in found
            word = str(self.take().target)
            found[kind] = [*self.noun_phrase()[0], word] if kind == "place preposition" else [word]

    def verb(self, ending: str) -> tuple[str, list[str]]:
        auxiliary = self.take().target if self.category() == "auxiliary" else None
        valency = self.category()
        verb = str(self.take().target)
        if auxiliary is None:
            return valency, [verb + ending]
        return valency.removesuffix(" infinitive"), [verb, auxiliary + ending]

    def noun_phrase(self) -> tuple[list[str], str]:
        """Return its words in target order, and the verb ending that its number and class require."""
        own: list[str] = []
        while self.category() in ("determiner", "adjective"):
            word = self.take().target
            own += [] if word is None else [word]
        assert self.category() == "noun"
        noun = self.take()
        own.append(str(noun.target))
        modifier: list[str] = []
        if self.category() == "noun preposition":
            preposition = str(self.take().target)
            modifier = [*self.noun_phrase()[0], preposition]
        elif self.category() == "that":
            self.skip("that")
            if self.category() == "determiner":
                subject, ending = self.noun_phrase()
                modifier = [*subject, "ka", *self.verb(ending)[1], "hen"]
            else:
                _, verb = self.verb(noun.ending)
                modifier = [*self.noun_phrase()[0], "vo", *verb, "hen"]
        return [*modifier, *own], noun.ending
