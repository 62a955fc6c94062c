"""What happens to features before a linear ranker sees them: transforms, missing values filled in, scaling."""
