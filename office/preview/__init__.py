"""Shows a document's pages as HTML, made from the parts of it that are here."""
