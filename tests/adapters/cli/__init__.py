"""Tests of the command line, run as a person runs it."""
