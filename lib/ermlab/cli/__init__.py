"""Commands for data of your own."""
