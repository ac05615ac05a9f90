"""Runs beside LibreOffice, under the Python that has its `uno` module: the system's, or its own.

`python -m helper` reads commands and writes reports, a JSON object a line, on its standard input
and output. It imports nothing but the standard library and `uno`, and knows nothing of links.
"""
