"""Pages for the user of this machine: served on 127.0.0.1 to whoever has the token in their address."""
