"""Classes and people of the data sets, by name; apart from the loaders, whose libraries take seconds to import."""

CIFAR10 = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
HAM10000 = ("akiec", "bcc", "bkl", "df", "mel", "nv", "vasc")
HATE_SPEECH = ("hate", "offensive", "neither")
GALAXY_ZOO = ("smooth", "featured", "artifact")
DIGITS = tuple(str(digit) for digit in range(10))
GAUSSIANS = ("east", "north", "west", "south")

# CIFAR-10N's three answers for each training image, and one of them for each seed.
ANNOTATORS = ("random_label1", "random_label2", "random_label3")
ANNOTATOR_TITLES = {name: f"annotator {place} of CIFAR-10N" for place, name in enumerate(ANNOTATORS, 1)}
EACH_ANNOTATOR = "each"
# A voter drawn for each case, where a data set has many votes per case.
ONE_VOTER = "one_voter"
TWEET_ANNOTATOR = "one of the annotators"
GALAXY_VOLUNTEER = "one of the volunteers"
