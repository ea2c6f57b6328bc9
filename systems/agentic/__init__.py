"""An agent with search as a tool: see README.md in this folder."""
