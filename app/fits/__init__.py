"""Running the live lab's experiments outside the page."""
