"""The one setting of Home in the session: how accurate the expert is."""

ACCURACY = "home_accuracy"
