"""What evaluating and tuning are made of: questions, scores, reports, judged traces, the search."""
