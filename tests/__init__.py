"""Tests of the course: of the package, of the notebooks, and of the built site in a real browser."""
