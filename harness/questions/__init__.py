"""Questions with answers and evidence, written from documents by a model, checked, and looked through by a person."""
