"""Every image that comes from outside enters here."""

from l2d_core.images.opening import ImageProblem, OpenedImage, open_image

__all__ = ["ImageProblem", "OpenedImage", "open_image"]
