"""
How SQL says it: the only rooms that know sqlglot.
"""
