"""What was said: annotations, how they are built, checked, read and written."""
