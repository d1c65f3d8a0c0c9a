"""What the opinions and the predictions amount to: certainty, agreement, evaluation and comparison."""
