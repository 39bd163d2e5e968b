"""
Forget on purpose: composable filters, one selection for preview and delete, undo, and proof.
"""
