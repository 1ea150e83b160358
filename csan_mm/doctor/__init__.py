"""``python -m csan_mm doctor``: what is wrong with the installation, and one command that mends it.

Standard library only, and every import it tries happens in a process of its own: a broken torch must not break the doctor.
"""
