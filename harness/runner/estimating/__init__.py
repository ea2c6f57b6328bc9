"""What cells will take, before anything is paid."""
