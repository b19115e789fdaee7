"""One folder for each experiment: prepare, train, evaluate, figures."""
