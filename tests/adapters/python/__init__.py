"""Tests of the Python face."""
