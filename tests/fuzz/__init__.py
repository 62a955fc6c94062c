"""Broken files and awkward arrays, made at random: `make fuzz`. What was found stays in corpus/, and is tried again."""
