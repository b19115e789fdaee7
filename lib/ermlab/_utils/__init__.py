"""What all packages share: checks of numbers that users give."""
