"""Rules of the web platform that both proxies keep, and the templates of our own pages."""
