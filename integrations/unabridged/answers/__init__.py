"""Answers: claims against the evidence, and the caveats an answer must carry."""
