"""
For whoever writes a store or an engine, and for us: strategies, decoding, scripted backends.

Import what you need from the modules within; nothing here is imported by the library itself.
"""
