"""Films of cells, shared by the cheap-data chapter."""
