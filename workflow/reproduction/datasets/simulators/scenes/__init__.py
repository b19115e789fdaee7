"""Random scenes that resemble photographs, with boxes of objects of 20 classes, in place of PASCAL VOC.

The model describes how such pictures are formed, not how they are recognized: a place with a horizon, objects
and clutter on the ground in perspective, with occlusions, light from one side, a lens and a sensor.
"""

from reproduction.datasets.simulators.scenes.composition import Scene, draw_scene

__all__ = ["Scene", "draw_scene"]
