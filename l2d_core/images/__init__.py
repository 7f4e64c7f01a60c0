"""Reading images from outside: every uploaded or listed file passes through here."""

from l2d_core.images.opening import ImageProblem, OpenedImage, open_image

__all__ = ["ImageProblem", "OpenedImage", "open_image"]
