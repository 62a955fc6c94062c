"""What engines on clusters share: queries whose parts live in the memory of other processes, and how they got there."""
