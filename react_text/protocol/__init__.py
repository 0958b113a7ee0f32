"""What the model is told: dialects, rendering, grammars. Pure."""
