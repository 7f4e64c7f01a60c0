"""Every image that comes from outside enters here."""
