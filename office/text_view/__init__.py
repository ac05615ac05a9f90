"""A low-fidelity version of an OpenDocument's text: all that is read, little of how it looks.

vocabulary.py says what is kept, styles.py and writing.py keep it, making.py cuts it into records in
the order of reading, records.py puts them together again on the device.
"""
