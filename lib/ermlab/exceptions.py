"""The errors that users see."""


class DataError(ValueError):
    """A file or data set is missing, damaged or not what it should be.

    The message names the file, what is wrong with it and what to do.
    """
