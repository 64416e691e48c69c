"""Word alignment: which source token corresponds to which target token. Independent of models."""
