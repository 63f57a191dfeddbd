"""Code that replay and verify share: bindings, comparison, divergences, masks and options."""
