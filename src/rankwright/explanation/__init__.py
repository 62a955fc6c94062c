"""Why a ranker puts the documents of a query where it does, and what would have to change."""
