"""LibreOffice shows a document that is still on its way."""
