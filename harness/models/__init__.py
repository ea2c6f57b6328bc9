"""All model calls go through one transport here: journaled, counted, limited and retried, with no key stored."""
