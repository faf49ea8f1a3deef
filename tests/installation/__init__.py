"""The package as users get it: built, and installed into an environment of its own."""
