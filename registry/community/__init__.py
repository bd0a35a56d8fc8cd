"""What people make of models: discussions, collections, likes and watches."""
