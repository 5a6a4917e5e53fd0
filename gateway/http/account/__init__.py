"""The account console: users look at and change their own accounts on pages.

One handler a page; `console.py` is the entry to all of them.
"""
