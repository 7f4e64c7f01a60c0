"""What every package uses; nothing in it is specific to learning to defer."""
