"""Reading tables: files, frames, and the one gate that checks them."""
