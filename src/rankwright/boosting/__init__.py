"""Losses and measures as gradient boosting asks for them, and rounds of boosting by whichever library."""
