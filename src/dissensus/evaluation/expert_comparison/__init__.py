"""Models beside the annotators: agreement on the same cases against the same others, and what a model is worth."""
