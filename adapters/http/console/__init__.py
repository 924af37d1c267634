"""The console: pages for a person who looks after a user's memory, at /console.

Decided in docs/decisions/0081-a-console-of-plain-pages.md.
"""
