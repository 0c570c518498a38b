"""The placement worker: warm snapshots of clusters, and answers from them."""
