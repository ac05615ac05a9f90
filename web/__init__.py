"""Rules of the web platform that both proxies keep: what a page may fetch, what is one site."""
