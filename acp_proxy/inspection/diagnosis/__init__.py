"""From a recording to what went on in it and what is wrong: one pass, then one sentence each."""
