"""The sections of the report, one file each: a new one is a new file here."""
