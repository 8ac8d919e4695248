"""Labels of sequences: kernel conditional random fields."""
