"""Maps: features to more columns than there are features, in front of a linear ranker."""
