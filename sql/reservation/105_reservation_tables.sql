--
-- Reservations of capacity (semantics/reservations): their definitions, and the times at which they
-- hold resources. This file comes before the books, which charge for reservations
-- (charging/107_reservation_charge.sql). The functions of reservation/395_reservation.sql write the
-- tables.
--

CREATE TYPE yquota.reservation_interpreter AS ENUM ('ANY', 'ALL', 'ORDER', 'ORDER_NO_GAP');
COMMENT ON TYPE yquota.reservation_interpreter IS
	'Rule for the requests of a reservation.  ANY: the first possible request is satisfied.  ALL: all requests are satisfied, in any order.  ORDER: all, each after the end of the request before.  ORDER_NO_GAP: like ORDER, without gaps between requests';

CREATE TYPE yquota.reservation_request AS (
	capability yquota.resource,
	num_containers integer,
	duration interval,
	concurrency integer
);
COMMENT ON TYPE yquota.reservation_request IS
	'Containers of one size that a reservation asks for';
COMMENT ON COLUMN yquota.reservation_request.capability IS 'size of one container, native units';
COMMENT ON COLUMN yquota.reservation_request.num_containers IS 'containers in all, a multiple of concurrency';
COMMENT ON COLUMN yquota.reservation_request.duration IS 'time for which each container is reserved, in whole milliseconds. A day is 24 hours; months are refused';
COMMENT ON COLUMN yquota.reservation_request.concurrency IS 'containers of a gang, which start and end together. Several gangs may run at the same time';

CREATE TYPE yquota.reservation_contract AS (
	arrival timestamptz,
	deadline timestamptz,
	interpreter yquota.reservation_interpreter,
	requests yquota.reservation_request[],
	recurrence interval,
	priority integer,
	reservation_name text
);
COMMENT ON TYPE yquota.reservation_contract IS
	'Definition of a reservation by a user: Hadoop''s ReservationDefinition, called the contract by Hadoop''s agents';
COMMENT ON COLUMN yquota.reservation_contract.arrival IS 'earliest start, not before 1970, in whole milliseconds. now() is more exact: use date_trunc(''milliseconds'', now())';
COMMENT ON COLUMN yquota.reservation_contract.deadline IS 'latest end, in whole milliseconds';
COMMENT ON COLUMN yquota.reservation_contract.requests IS 'requests, in the order that the interpreters ORDER and ORDER_NO_GAP keep';
COMMENT ON COLUMN yquota.reservation_contract.recurrence IS 'period after which the reservation repeats, in whole milliseconds. scheduler_setting.reservation_system_max_periodicity must be a multiple of it. NULL or 0: the reservation does not repeat';
COMMENT ON COLUMN yquota.reservation_contract.priority IS 'stored without effect, as in Hadoop';

CREATE TABLE yquota.reservation_definition (
	reservation_id text COLLATE "C" NOT NULL CHECK (reservation_id ~ '^reservation_(0|[1-9][0-9]*)_([0-9]{4}|[1-9][0-9]{4,})$'),
	version integer NOT NULL CHECK (version > 0),
	queue text COLLATE "C" NOT NULL,
	username text COLLATE "C" NOT NULL CHECK (username <> '' AND octet_length(username) <= 255),
	project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	arrival timestamptz NOT NULL,
	deadline timestamptz NOT NULL,
	interpreter yquota.reservation_interpreter NOT NULL,
	requests yquota.reservation_request[] NOT NULL,
	recurrence interval CHECK (recurrence > '0'),
	priority integer,
	reservation_name text,
	accepted_at timestamptz NOT NULL,
	ended_at timestamptz,
	ended_by text CHECK (ended_by IN ('updated', 'deleted', 'replanned', 'archived')),
	reserved_factor numeric NOT NULL DEFAULT 0
		CHECK (reserved_factor >= 0 AND reserved_factor <= 1 AND scale(reserved_factor) <= 6),
	repeats_allocation boolean NOT NULL DEFAULT false,
	quoted_cost numeric,
	PRIMARY KEY (reservation_id, version),
	CONSTRAINT reservation_definition_deadline_check CHECK (arrival < deadline),
	CONSTRAINT reservation_definition_ended_at_check CHECK ((ended_at IS NULL) = (ended_by IS NULL))
);
-- Finds the definitions in force at a time. Decisions also read all repeating definitions, early
-- and late ones.
CREATE INDEX reservation_definition_time_idx ON yquota.reservation_definition USING gist (tstzrange(arrival, deadline))
	WHERE ended_at IS NULL AND recurrence IS NULL;
CREATE INDEX reservation_definition_recurrence_idx ON yquota.reservation_definition (queue, deadline)
	WHERE ended_at IS NULL AND recurrence IS NOT NULL;
CREATE INDEX reservation_definition_project_idx ON yquota.reservation_definition (project);
CREATE UNIQUE INDEX reservation_definition_current_idx ON yquota.reservation_definition (reservation_id) WHERE ended_at IS NULL;
COMMENT ON TABLE yquota.reservation_definition IS
	'Reservations that plans have accepted, with their earlier versions; written only by submit_reservation(), update_reservation(), delete_reservation() and follow_plans()';
COMMENT ON COLUMN yquota.reservation_definition.reservation_id IS 'reservation_, a time in milliseconds and a number of at least four digits';
COMMENT ON COLUMN yquota.reservation_definition.version IS 'number of the version: 1, and one more with each update; the last version counts';
COMMENT ON COLUMN yquota.reservation_definition.queue IS 'full path of the plan';
COMMENT ON COLUMN yquota.reservation_definition.username IS 'owner: the user that submitted the reservation, or updated it last';
COMMENT ON COLUMN yquota.reservation_definition.project IS 'project that pays; it keeps its name, and cannot be deleted, while it has rows here';
COMMENT ON COLUMN yquota.reservation_definition.arrival IS 'earliest start';
COMMENT ON COLUMN yquota.reservation_definition.deadline IS 'latest end';
COMMENT ON COLUMN yquota.reservation_definition.interpreter IS 'as in reservation_contract';
COMMENT ON COLUMN yquota.reservation_definition.requests IS 'as in reservation_contract';
COMMENT ON COLUMN yquota.reservation_definition.recurrence IS 'period after which the reservation repeats; NULL: it does not repeat';
COMMENT ON COLUMN yquota.reservation_definition.priority IS 'stored without effect, as in Hadoop';
COMMENT ON COLUMN yquota.reservation_definition.reservation_name IS 'as in reservation_contract';
COMMENT ON COLUMN yquota.reservation_definition.accepted_at IS 'by the clock';
COMMENT ON COLUMN yquota.reservation_definition.ended_at IS 'time from which this version no longer counts. NULL: it counts until queue.reservation_window after its deadline, or until its deadline under NoOverCommitPolicy. A repeating reservation counts longer, until it is deleted, if scheduler_setting.reservation_repeats_allocation is true';
COMMENT ON COLUMN yquota.reservation_definition.ended_by IS 'updated: a later version has replaced it. deleted: by delete_reservation(). replanned: the plan has become too small for the reservation. archived: by follow_plans(), queue.reservation_window after the deadline';
COMMENT ON COLUMN yquota.reservation_definition.reserved_factor IS 'part of the price that the reservation pays, by the rule in force when its first version was accepted; 0: free';
COMMENT ON COLUMN yquota.reservation_definition.quoted_cost IS 'expected cost in credits, at the prices known when this version was accepted, calendars included; for a repeating reservation, the cost of its first period. This amount is held while the reservation exists';
COMMENT ON COLUMN yquota.reservation_definition.repeats_allocation IS 'true if the reservation pays for its allocation in each period: the value of scheduler_setting.reservation_repeats_allocation when this version was accepted. False if the reservation does not repeat';

CREATE TABLE yquota.reservation_allocation (
	reservation_id text COLLATE "C" NOT NULL,
	version integer NOT NULL,
	queue text COLLATE "C" NOT NULL,
	username text COLLATE "C" NOT NULL,
	deadline timestamptz NOT NULL,
	recurrence interval,
	"from" timestamptz NOT NULL,
	"to" timestamptz NOT NULL,
	allocation yquota.resource NOT NULL,
	ended_at timestamptz,
	PRIMARY KEY (reservation_id, version, "from"),
	FOREIGN KEY (reservation_id, version) REFERENCES yquota.reservation_definition ON DELETE CASCADE,
	CHECK ("from" < "to")
);
-- Finds the allocations in force at a time without reading their reservations. Decisions also read
-- all repeating allocations.
CREATE INDEX reservation_allocation_time_idx ON yquota.reservation_allocation USING gist (tstzrange("from", "to", '[]'))
	WHERE ended_at IS NULL AND recurrence IS NULL;
CREATE INDEX reservation_allocation_recurrence_idx ON yquota.reservation_allocation (queue, deadline)
	WHERE ended_at IS NULL AND recurrence IS NOT NULL;
COMMENT ON TABLE yquota.reservation_allocation IS
	'Resources that a plan promises to a reservation over time, as intervals that do not overlap.  A repeating reservation has only the intervals of its first period.  Each row repeats columns of its reservation; of these columns only ended_at ever changes';
COMMENT ON COLUMN yquota.reservation_allocation.queue IS 'plan of the reservation: full path';
COMMENT ON COLUMN yquota.reservation_allocation.username IS 'owner of the reservation';
COMMENT ON COLUMN yquota.reservation_allocation.deadline IS 'deadline of the reservation';
COMMENT ON COLUMN yquota.reservation_allocation.recurrence IS 'recurrence of the reservation: period after which the interval is repeated; NULL: never';
COMMENT ON COLUMN yquota.reservation_allocation.ended_at IS 'time from which the reservation no longer counts';
COMMENT ON COLUMN yquota.reservation_allocation."from" IS 'start of the interval';
COMMENT ON COLUMN yquota.reservation_allocation."to" IS 'end of the interval; this instant is not part of the interval';
COMMENT ON COLUMN yquota.reservation_allocation.allocation IS 'native units, all containers together';
