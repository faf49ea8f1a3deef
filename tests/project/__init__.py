"""Rules about the source itself, written as tests whose exception lists are empty."""
