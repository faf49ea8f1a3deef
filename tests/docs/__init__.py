"""The documents are tested: their programs run, their commands parse, and the reference is up to date."""
