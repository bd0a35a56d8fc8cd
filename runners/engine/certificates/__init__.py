"""Evidence about the conversion of single nodes, searched once for all models."""
