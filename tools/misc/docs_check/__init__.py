"""The parts of tools/misc/check_docs.py."""
