"""What every room uses, with no idea of learning to defer in it."""
