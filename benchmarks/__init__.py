"""Measurements of the app and the library; tests share how a browser and a server are started."""
