"""Tracking of cells by assignment with learned scores (cheap-data chapter).

Detect cells (`detect`, `film_of_images`), train a `CellTracker` on fully or partially annotated films, choose
what to annotate with an `ActiveLearner`, and read and write files of the Cell Tracking Challenge.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "active_learning": ["MEASURES", "ActiveHistory", "ActiveLearner"],
        "annotations": ["Annotation", "annotate"],
        "assignment": [
            "EVENTS",
            "Assigner",
            "Candidates",
            "Hypotheses",
            "NoAssignmentError",
            "UnprovedError",
        ],
        "cell_detection": [
            "DetectionSettings",
            "detect",
            "detect_frames",
            "film_of_images",
            "typical_diameter",
        ],
        "cell_tracker": ["CellTracker"],
        "cells": ["film_of_masks", "join_frames", "match_tracks", "measure", "settle_tracks"],
        "ctc": ["Lineage", "TrackedCells", "read_lineage", "read_tracked_cells"],
        "ctc_films": ["read_annotation", "read_frames"],
        "ctc_results": ["check_result_folder", "read_tracking", "write_tracking"],
        "events": ["FEATURES", "Cells", "Gates", "guessed_weights", "hypotheses_between", "typical_size"],
        "films": ["CellFilm", "FramePair", "frame_pairs", "halves"],
        "integer_program": ["assignment_program", "solve_assignment"],
        "lineage": ["relabel", "track_film"],
        "patches": ["Patch", "film_patches", "pair_patches"],
        "perceptron": ["PerceptronResult", "train_perceptron"],
        "plotting": ["show_tracked_frame"],
        "selection": ["AlphaChoice", "choose_alpha"],
        "small_assignment": ["SmallAssigner", "SmallHypotheses", "SmallProblems"],
        "task": ["PartialTrackingRisk", "TrackingTask"],
        "tracks": ["CellTracks", "events_of", "join_links", "links_of", "read_tracks", "write_tracks"],
        "training": ["average_loss", "initial_weights", "train_tracker"],
    },
)
