"""Tests of the browser, its fetcher and its cache, over real servers on this machine."""
