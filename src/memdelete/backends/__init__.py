"""
Who answers questions: one file per driver, each of which alone imports it.
"""
