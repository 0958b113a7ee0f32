"""What turns messages into tokens: one provider, one file."""
