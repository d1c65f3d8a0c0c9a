"""The report: one page that opens offline, with the numbers, the pictures and every case."""
