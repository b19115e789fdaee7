"""The book: exhibits, claims, receipts and provenance of one run as MyST pages for Sphinx."""
