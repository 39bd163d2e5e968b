"""
What is done, told once, without I/O.
"""
