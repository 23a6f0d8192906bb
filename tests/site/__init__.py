"""The built site: its files, and its pages in a real browser with the network cut."""
