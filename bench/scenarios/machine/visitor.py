"""Visits a local proxy from inside a machine that has nothing but Python: `python3 - PROXY ...`.

    fetch URL               status, length and SHA-256 of what comes, as JSON
    switch PATTERN MODE     a site's switch, as the status page sets it
    sites, savings          what the status page knows of them

Is read from standard input there, so it knows nothing of this project.
"""

import hashlib
import json
import sys
import urllib.error
import urllib.request

PATIENCE = 60.0
PAGE = "http://sluice.local"


def main(words: list[str]) -> int:
    """Do it once, and print what came."""
    proxy, action, *rest = words
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))

    def ask(url: str, data: bytes | None = None, token: str = "") -> tuple[int, bytes]:
        fields = {"X-Sluice-Token": token} if token else {}
        request = urllib.request.Request(url, data, fields)
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    if action == "fetch":
        status, body = ask(rest[0])
        digest = hashlib.sha256(body).hexdigest()
        print(json.dumps({"status": status, "length": len(body), "sha256": digest}))
    elif action == "switch":
        known = json.loads(ask(f"{PAGE}/sites.json")[1])
        choice = json.dumps({"pattern": rest[0], "mode": rest[1]}).encode()
        status, body = ask(f"{PAGE}/sites", choice, known["token"])
        print(json.dumps({"status": status, "said": body.decode(errors="replace")}))
    else:
        print(ask(f"{PAGE}/{action}.json")[1].decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
