"""Figures: a frame becomes a chart of plain marks, and a chart is drawn for a page or for print."""
