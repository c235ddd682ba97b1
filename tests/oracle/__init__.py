"""Slow answers that are plainly right, to hold the fast ones against."""
