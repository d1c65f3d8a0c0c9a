"""Work in pieces, wherever it is done: in this process, in executors, or on a cluster."""
