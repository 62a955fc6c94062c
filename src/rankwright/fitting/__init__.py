"""One command from judgments to a ranker: every linear ranker tried, judged on held-out queries, one chosen."""
