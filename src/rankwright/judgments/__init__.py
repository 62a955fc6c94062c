"""What is known of documents apart from their features: which query they answer, and their order as it should be."""
