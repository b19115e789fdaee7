"""The book: exhibits, claims, receipts and provenance of one run turned into MyST pages for Sphinx."""
