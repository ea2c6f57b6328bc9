"""Every model call passes one seam here: journaled, counted, limited, retried, and no key written anywhere."""
