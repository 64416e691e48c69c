"""The grammar of the generated language pair: lexicon, rules, and derivation of sentence pairs."""
