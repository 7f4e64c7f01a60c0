"""How well a system of machine and expert does, from its `Scores`."""
