"""Inference: the best outputs of a model, exactly, among very many."""
