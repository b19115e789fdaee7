"""Random scenes like photographs, with the boxes of objects of 20 classes: a stand-in for PASCAL VOC.

A model of how such pictures come about, not of how they are recognised: a place with a horizon, things on
the ground in perspective, some of them objects of a class and some not, hiding one another, lit from one
side, taken with a lens and a sensor.
"""

from reproduction.datasets.simulators.scenes.composition import Scene, draw_scene

__all__ = ["Scene", "draw_scene"]
