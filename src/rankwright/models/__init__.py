"""What a trained ranker is, apart from how it was trained."""
