#!/usr/bin/env python3
"""Send notifications of yquota's alerts to a webhook: see README.md.

    webhook_relay.py URL POSITION_FILE

libpq's variables (PGHOST, PGDATABASE, PGUSER, ...) say where the database is, and WEBHOOK_SECRET is the key of the
signature.  The program runs until it is ended.
"""

import hashlib
import hmac
import http.client
import os
import random
import select
import sys
import time
import urllib.request

import psycopg

TIMEOUT_S = float(os.environ.get("WEBHOOK_TIMEOUT", 10))
LONGEST_PAUSE_S = float(os.environ.get("WEBHOOK_LONGEST_PAUSE", 60))
POLL_S = float(os.environ.get("WEBHOOK_POLL", 10))
READ = "SELECT position, to_jsonb(n)::text FROM yquota.read_notifications(%s) AS n"


class RefuseRedirect(urllib.request.HTTPRedirectHandler):
    """Leave a redirect as the error that it is here: urllib would follow it with a GET that has no body."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(RefuseRedirect)


def log(text):
    print(text, file=sys.stderr, flush=True)


def load_position(file):
    try:
        with open(file, encoding="ascii") as f:
            return f.read().strip() or None
    except FileNotFoundError:
        return None


def store_position(file, position):
    """Replace the file in one step, so that a crash leaves the old position or the new one."""
    with open(file + ".new", "w", encoding="ascii") as f:
        f.write(position + "\n")
        f.flush()
        os.fsync(f.fileno())
    os.replace(file + ".new", file)


def post(url, secret, key, body):
    now = str(int(time.time()))
    signature = hmac.new(secret, now.encode() + b"." + body, hashlib.sha256).hexdigest()
    request = urllib.request.Request(url, body, {
        "Content-Type": "application/json", "Idempotency-Key": key, "X-Yquota-Signature": f"t={now},v1={signature}"})
    with OPENER.open(request, timeout=TIMEOUT_S) as response:
        response.read()


def post_until_taken(url, secret, key, body):
    pause = 0.2
    while True:
        try:
            return post(url, secret, key, body)
        except (OSError, http.client.HTTPException) as error:
            log(f"{key}: {error}; trying again")
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(2 * pause, LONGEST_PAUSE_S)


def relay(connection, url, secret, file):
    connection.execute("LISTEN yquota")
    position = load_position(file)
    while True:
        rows = connection.execute(READ, (position,)).fetchall()
        for position, body in rows:
            post_until_taken(url, secret, position, body.encode())
            store_position(file, position)
        if not rows:
            # The next statement takes the notification from the connection, and tells when the connection is lost.
            select.select([connection.fileno()], [], [], POLL_S)


def main(url, file):
    secret = os.environ["WEBHOOK_SECRET"].encode()
    pause = 0.2
    while True:
        began = time.monotonic()
        try:
            with psycopg.connect(autocommit=True, application_name="webhook_relay", connect_timeout=10) as connection:
                relay(connection, url, secret, file)
        except psycopg.OperationalError as error:
            log(f"{error}; connecting again")
        pause = 0.2 if time.monotonic() - began > LONGEST_PAUSE_S else min(2 * pause, LONGEST_PAUSE_S)
        time.sleep(pause)


if __name__ == "__main__":
    main(*sys.argv[1:])
