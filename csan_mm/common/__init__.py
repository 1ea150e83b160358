"""What every part of csan_mm may use and what uses none of them: errors, checks of arguments, findings, reading a config.

Nothing is imported here: doctor reads ``common.findings`` where torch and mmengine cannot be imported.
"""
