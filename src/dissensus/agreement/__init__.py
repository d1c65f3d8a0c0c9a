"""How far annotators agree with each other, and how good each of them is."""
