"""The reproduction: data sets, experiments, claims and book; it imports `ermlab`, never the reverse."""
