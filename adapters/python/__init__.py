"""Mnemolog: event-sourced memory for AI agents."""

__version__ = "0.1.0"
