"""The live lab's engine."""
