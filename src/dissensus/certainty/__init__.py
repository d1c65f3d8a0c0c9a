"""How certain opinions are: about the first conditions of each case, their categories, and regions around models."""
