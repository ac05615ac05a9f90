"""A low-fidelity version of an OpenDocument's text: all that is read, little of how it looks.

vocabulary.py says what is kept, styles.py and view_writer.py keep it, view_records.py cuts it into
records in the order of reading, records.py puts them together again on the device.
"""
