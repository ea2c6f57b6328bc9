"""Pages for a person at this machine: served on 127.0.0.1 to whoever has the token of their address."""
