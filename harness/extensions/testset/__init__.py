"""Questions with answers and evidence: written from documents by a model, checked, looked through by a person."""
