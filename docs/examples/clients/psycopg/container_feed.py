#!/usr/bin/env python3
"""Send a file of container events to yquota with psycopg 3, by COPY.

    container_feed.py SOURCE FILE

SOURCE is the name of the feed.  Each line of FILE is one event: the values of COLUMNS, separated by tabs.  An empty
value means unknown.  libpq's variables (PGHOST, PGDATABASE, PGUSER, ...) say where the database is.

If the answer to a batch is lost, the program sends the batch again.  You may also send the whole file again, because
events that yquota already knows change nothing.  The exit status is 0 when all events are sent.  Events that the
server will never accept are printed, and set aside in yquota.feed_reject.
"""

import re
import sys
import time
from datetime import datetime

import psycopg

COLUMNS = ("event", "container_id", "occurred_at", "project", "application_id", "username", "queue", "node",
           "allocation", "execution_type", "exit_status")
COPY = f"COPY yquota.container_event ({', '.join(COLUMNS)}, source) FROM STDIN"
BATCH_EVENTS = 500
CONNECTION = {"autocommit": True, "application_name": "container_feed", "connect_timeout": 10,
              "tcp_user_timeout": 60_000}
LONGEST_PAUSE_S = 10

# Classes and codes of SQLSTATE after which the program retries, and of those that an administrator must repair.  After
# any other error, the program sets the row aside.
MAY_PASS = re.compile("08|40|53(?!400)|57|58|25006|55P03")
TO_BE_MENDED = re.compile("28|3D|3F|XX|42501|42883|42P01")

REJECT = """
    SELECT yquota.reject_call(%s, jsonb_build_object('table', 'yquota.container_event',
        'row', jsonb_strip_nulls(jsonb_object(%s::text[], %s::text[]))), %s, %s, %s)"""


def log(text):
    print(text, file=sys.stderr)


class Feed:
    def __init__(self, source):
        self.source = source
        self.connection = None
        self.may_have_problem = True  # one that was reported before this program began

    def connected(self):
        if self.connection is None:
            self.connection = psycopg.connect(**CONNECTION)
            self.connection.add_notice_handler(lambda notice: log(f"{notice.severity}: {notice.message_primary}"))
        return self.connection

    def disconnect(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def until_done(self, work):
        """Do what the database is asked for, again and again while it fails for a reason that may pass or be mended."""
        pause = 0.1
        while True:
            try:
                result = work(self.connected())
                if self.may_have_problem:
                    self.may_have_problem = False
                    self.report_problem(None, None)
                return result
            except psycopg.Error as error:
                # An error without a code is psycopg's own: there is no connection, or it broke.
                is_lost = error.sqlstate is None and isinstance(error, psycopg.OperationalError)
                is_to_be_mended = TO_BE_MENDED.match(error.sqlstate or "")
                if not (is_lost or is_to_be_mended or MAY_PASS.match(error.sqlstate or "")):
                    raise
                log(f"trying again: SQLSTATE {error.sqlstate}: {error}")
                self.disconnect()
                if is_to_be_mended:
                    self.may_have_problem = True
                    self.report_problem(error.sqlstate, error.diag.message_primary)
            self.disconnect()
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def report_problem(self, sqlstate, message):
        """Tell what the feed waits for; without an SQLSTATE, that it goes on."""
        try:
            self.connected().execute("SELECT yquota.report_feed_problem(%s, %s, %s)", (self.source, sqlstate, message))
        except psycopg.Error as error:
            log(f"the problem cannot be reported: {error}")
            self.disconnect()

    def refuse(self, row, sqlstate, message, detail=None):
        """Set a row aside that the server refuses, or cannot even be sent."""
        log(f"refused: SQLSTATE {sqlstate}: {message}: {row}")
        values = [None if value is None else str(value) for value in row.values()]
        try:
            self.until_done(lambda connection: connection.execute(
                REJECT, (self.source, list(row), values, sqlstate, message, detail)))
        except psycopg.Error as error:
            log(f"it cannot be set aside: {error}")

    def copy(self, connection, events):
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:
            for event in events:
                copy.write_row((*event, self.source))

    def send(self, events):
        """Send events in one statement; where one fails it, halve until that event stands alone."""
        try:
            self.until_done(lambda connection: self.copy(connection, events))
        except psycopg.Error as error:
            if len(events) == 1:
                self.refuse(dict(zip(COLUMNS, events[0])), error.sqlstate or "22000", error.diag.message_primary or str(error),
                            error.diag.message_detail)
                return
            middle = len(events) // 2
            self.send(events[:middle])
            self.send(events[middle:])

    def send_file(self, path):
        began = time.monotonic()
        count = 0
        batch = []
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    batch.append(read_event(line))
                except ValueError as error:
                    self.refuse({"line": line.rstrip("\n")}, "22P02", str(error))
                    continue
                count += 1
                if len(batch) == BATCH_EVENTS:
                    self.send(batch)
                    batch = []
        if batch:
            self.send(batch)
        log(f"sent {count} events in {time.monotonic() - began:.1f} s")

    def report(self, connection):
        """Print how far the feed is, and what the books could not take of what it sent."""
        for events, waiting, rejected, set_aside in connection.execute(
                "SELECT events, waiting, rejected, rejected_calls FROM yquota.feed_status WHERE source = %s", (self.source,)):
            print(f"{events} events received, {waiting} waiting, {rejected} rejected, {set_aside} set aside")
        for row in connection.execute(
                "SELECT coalesce(container_id || ' ' || event, call ->> 'row'), sqlstate, reason FROM yquota.my_rejects"
                " WHERE source = %s AND NOT waiting ORDER BY 1", (self.source,)):
            print("rejected:", *row)


def read_event(line):
    values = [value or None for value in line.rstrip("\n").split("\t")]
    if len(values) != len(COLUMNS):
        raise ValueError(f"{len(values)} values")
    if "\0" in line:
        raise ValueError("PostgreSQL's text has no NUL")  # psycopg would cancel the COPY, as if that might pass
    at = COLUMNS.index("occurred_at")
    values[at] = datetime.fromisoformat(values[at] or "")
    return values


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: container_feed.py SOURCE FILE")
    feed = Feed(sys.argv[1])
    feed.send_file(sys.argv[2])
    feed.until_done(feed.report)
    feed.disconnect()


main()
