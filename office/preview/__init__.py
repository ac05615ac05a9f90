"""What is on the pages of a document, as HTML, from the parts of it that are here."""
