"""The rules of the generated pair.

The source is head-initial (subject verb object, prepositions, modifiers after their noun) with freely placed adjuncts.
The target is head-final (subject object verb auxiliary, postpositions, modifiers before their noun) with adjuncts in a
fixed order. No sentence is ambiguous: modifiers belong to the noun directly before them, only main clauses have
adjuncts, and the prepositions of nouns and of clauses are different words.
"""

from __future__ import annotations

from collections.abc import Callable

from wordorder.config.datasets import Generator
from wordorder.data.grammar.lexicon import OBJECT, SUBJECT, THAT, TO, Entry
from wordorder.data.grammar.transduction import Derivation, Marked, Word, inverted, straight


class Grammar:
    """Derives sentences at random.

    Args:
        settings: The probabilities of the optional parts, and the depth of nested modifiers.
        random: Returns numbers in [0, 1), which decide on the structure.
        choose: Returns an entry of a category of the lexicon, which decides on the words.
    """

    def __init__(self, settings: Generator, *, random: Callable[[], float], choose: Callable[[str], Entry]) -> None:
        self._settings = settings
        self._random = random
        self._choose = choose

    def sentence(self) -> Derivation:
        """Derive a sentence.

        Target: time, place, subject, manner, objects, verb. Source: adjuncts before or after what they modify.
        """
        subject, ending = self._noun_phrase(self._settings.max_depth)
        predicate = self._predicate(ending)
        if self._chance(self._settings.adjuncts):
            predicate = self._free(self._word("manner"), predicate)
        parts: list[Derivation] = [straight(Marked(subject, SUBJECT), predicate)]
        if self._chance(self._settings.adjuncts):
            place, _ = self._noun_phrase(depth=0)
            parts.insert(0, inverted(self._word("place preposition"), place))
        if self._chance(self._settings.adjuncts):
            parts.insert(0, self._word("time"))
        while len(parts) > 1:
            first = int(self._random() * (len(parts) - 1))
            parts[first : first + 2] = [self._free(*parts[first : first + 2])]
        return parts[0]

    def _predicate(self, ending: str) -> Derivation:
        depth = self._settings.max_depth
        draw = self._random()
        if draw < 0.1:
            return self._verb("intransitive", ending)
        if draw < 0.75:
            return self._transitive(ending, depth)
        # "sold the dog to the king": the objects have opposite orders, both before the target verb.
        verb = self._verb("ditransitive", ending)
        given, _ = self._noun_phrase(depth)
        receiver, _ = self._noun_phrase(depth)
        return inverted(verb, inverted(Marked(given, OBJECT), inverted(Word(TO.source, TO.target), receiver)))

    def _transitive(self, ending: str, depth: int) -> Derivation:
        verb = self._verb("transitive", ending)
        thing, _ = self._noun_phrase(depth)
        return inverted(verb, Marked(thing, OBJECT))

    def _verb(self, valency: str, ending: str) -> Derivation:
        """Derive the finite word, verb or auxiliary, which agrees with the subject."""
        if self._chance(0.3):
            auxiliary = self._choose("auxiliary")
            return inverted(Word(auxiliary.source, f"{auxiliary.target}{ending}"), self._word(f"{valency} infinitive"))
        verb = self._choose(valency)
        return Word(verb.source, f"{verb.target}{ending}")

    def _noun_phrase(self, depth: int) -> tuple[Derivation, str]:
        """Derive a noun phrase with at most ``depth`` levels of modifiers, and the ending of its verb as a subject."""
        noun = self._choose("noun")
        phrase: Derivation = Word(noun.source, noun.target)
        if self._chance(self._settings.adjectives):
            phrase = straight(self._word("adjective"), phrase)
        phrase = straight(self._word("determiner"), phrase)
        if depth and self._chance(self._settings.modifiers):
            phrase = inverted(phrase, self._modifier(noun.ending, depth - 1))
        return phrase, noun.ending

    def _modifier(self, ending: str, depth: int) -> Derivation:
        """Derive a prepositional phrase, or a relative clause whose subject or object is the noun with this ending."""
        draw = self._random()
        if draw < 0.4:
            phrase, _ = self._noun_phrase(depth)
            return inverted(self._word("noun preposition"), phrase)
        if draw < 0.7:
            clause = self._transitive(ending, depth)
        else:
            subject, own_ending = self._noun_phrase(depth)
            clause = straight(Marked(subject, SUBJECT), self._verb("transitive", own_ending))
        return inverted(Word(THAT.source, THAT.target), clause)

    def _free(self, first: Derivation, second: Derivation) -> Derivation:
        """Join two constituents in this order on the target side, in either order on the source side."""
        return straight(first, second) if self._chance(0.5) else inverted(second, first)

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _word(self, category: str) -> Derivation:
        entry = self._choose(category)
        return Word(entry.source, entry.target)
