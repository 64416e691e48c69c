"""The grammar of the generated language pair: lexicon, rules, and from a derivation to two sentences."""
