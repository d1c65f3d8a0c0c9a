"""Small studies of which more is known than they say, to see whether the numbers computed from them hold."""
