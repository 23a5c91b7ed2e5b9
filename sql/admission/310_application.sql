--
-- Applications: submissions, their queues and states (docs/design.md 5).
--
-- The functions of admission/320_submission.sql write the rows.  Each change of a row also
-- updates counters per queue, user and partition, so that a submission need not read other
-- applications.
--

CREATE TYPE yquota.application_state AS ENUM
	('NON_RUNNABLE', 'ACCEPTED', 'ACTIVE', 'FINISHED', 'FAILED', 'KILLED', 'REJECTED');
COMMENT ON TYPE yquota.application_state IS
	'State of an application: NON_RUNNABLE (held by max-parallel-apps), ACCEPTED (waiting for room for its application master), ACTIVE (allowed to start), FINISHED, FAILED or KILLED (over), REJECTED (refused)';

CREATE TABLE yquota.application (
	application_id text COLLATE "C" PRIMARY KEY CHECK (application_id <> '' AND octet_length(application_id) <= 255),
	username text COLLATE "C" NOT NULL CHECK (username <> '' AND octet_length(username) <= 255),
	groups text[] COLLATE "C",
	real_username text COLLATE "C",
	application_name text,
	tags text[],
	submitted_queue text COLLATE "C",
	queue text COLLATE "C",
	label text COLLATE "C" NOT NULL DEFAULT '',
	node_label_expression text COLLATE "C",
	project text COLLATE "C",
	am_resource yquota.resource NOT NULL,
	unmanaged boolean NOT NULL DEFAULT false,
	priority integer NOT NULL,
	lifetime bigint CHECK (lifetime > 0),
	state yquota.application_state NOT NULL,
	has_outstanding_requests boolean NOT NULL DEFAULT true,
	view_acl text,
	modify_acl text,
	submitted_at timestamptz NOT NULL,
	activated_at timestamptz,
	expires_at timestamptz,
	finished_at timestamptz,
	diagnostics text,
	reservation_id text COLLATE "C",
	keeps_containers boolean NOT NULL DEFAULT false,
	hold_id bigint,
	CONSTRAINT application_queue_check CHECK (queue IS NOT NULL OR state = 'REJECTED'),
	CONSTRAINT application_finished_at_check CHECK ((finished_at IS NOT NULL) = (state IN ('FINISHED', 'FAILED', 'KILLED', 'REJECTED')))
);
-- Finds the live applications of a queue in a given state, because limits count these applications.
CREATE INDEX application_live_idx ON yquota.application (queue, state, username)
	WHERE finished_at IS NULL;
CREATE INDEX application_held_username_idx ON yquota.application (username) WHERE state = 'NON_RUNNABLE';
CREATE INDEX application_held_queue_idx ON yquota.application (queue) WHERE state = 'NON_RUNNABLE';
-- Finds the waiting application of a queue and label that has the smallest application master.
CREATE INDEX application_waiting_memory_idx ON yquota.application (queue, label, yquota.amount(am_resource, 'memory-mb'))
	WHERE state = 'ACCEPTED';
CREATE INDEX application_waiting_vcores_idx ON yquota.application (queue, label, yquota.amount(am_resource, 'vcores'))
	WHERE state = 'ACCEPTED';
CREATE INDEX application_expires_at_idx ON yquota.application (expires_at) WHERE finished_at IS NULL;
CREATE INDEX application_finished_at_idx ON yquota.application (finished_at) WHERE finished_at IS NOT NULL;
COMMENT ON TABLE yquota.application IS
	'Submitted applications and their states, written by submit_application() and related functions';
COMMENT ON COLUMN yquota.application.application_id IS 'at most 255 bytes';
COMMENT ON COLUMN yquota.application.username IS 'at most 255 bytes';
COMMENT ON COLUMN yquota.application.groups IS 'groups of the user, the primary one first; NULL when they are not known';
COMMENT ON COLUMN yquota.application.real_username IS 'real user that acts for the user; NULL: none';
COMMENT ON COLUMN yquota.application.tags IS 'tags in the form of the submission; application_tags has the tags for reports';
COMMENT ON COLUMN yquota.application.submitted_queue IS 'queue named in the submission';
COMMENT ON COLUMN yquota.application.queue IS 'full path of the leaf; NULL when none was found';
COMMENT ON COLUMN yquota.application.label IS 'partition of the nodes that the application master asks for; empty for the default partition';
COMMENT ON COLUMN yquota.application.node_label_expression IS 'label named in the submission. It holds for requests that name no label, and for the application in the ordering policy fifo-with-partitions; NULL: none';
COMMENT ON COLUMN yquota.application.project IS 'project that pays; NULL: none was named';
COMMENT ON COLUMN yquota.application.reservation_id IS 'reservation named in the submission; NULL: none. It has an effect only if the queue is a plan';
COMMENT ON COLUMN yquota.application.keeps_containers IS 'true if the containers of the application outlive the loss of its application master';
COMMENT ON COLUMN yquota.application.hold_id IS 'hold of the submission; NULL: none';
COMMENT ON COLUMN yquota.application.am_resource IS 'size of the application master, native units, rounded up to a multiple of the minimum allocation; the requested size if the application was refused';
COMMENT ON COLUMN yquota.application.unmanaged IS 'true if the application master runs outside of the cluster';
COMMENT ON COLUMN yquota.application.priority IS 'larger comes first';
COMMENT ON COLUMN yquota.application.lifetime IS 'seconds from the submission; NULL: no limit';
COMMENT ON COLUMN yquota.application.has_outstanding_requests IS 'true if the application waits for containers. Its user is then an active user of the queue. A user without an active application at the submission becomes active at the next request';
COMMENT ON COLUMN yquota.application.view_acl IS 'users and groups, besides the owner, that may see the application: users, a blank, groups';
COMMENT ON COLUMN yquota.application.modify_acl IS 'users and groups that may change or end the application, in the form of view_acl';
COMMENT ON COLUMN yquota.application.activated_at IS 'time at which the application was allowed to start; NULL: not yet';
COMMENT ON COLUMN yquota.application.expires_at IS 'submitted_at plus its lifetime; NULL: never';
COMMENT ON COLUMN yquota.application.finished_at IS 'time at which the application ended or was refused; NULL while it is live';
COMMENT ON COLUMN yquota.application.diagnostics IS 'reason why the application waits, was refused or ended, in words';

CREATE TABLE yquota_internal.application_counter (
	queue text COLLATE "C" NOT NULL,
	username text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	non_runnable integer NOT NULL CHECK (non_runnable >= 0),
	accepted integer NOT NULL CHECK (accepted >= 0),
	active integer NOT NULL CHECK (active >= 0),
	demanding integer NOT NULL CHECK (demanding >= 0),
	am_used yquota.resource NOT NULL,
	PRIMARY KEY (queue, username, label)
) WITH (fillfactor = 50);
CREATE INDEX application_counter_username_idx ON yquota_internal.application_counter (username);
COMMENT ON TABLE yquota_internal.application_counter IS
	'Number of applications of each user in a leaf queue, per partition of their application masters.  Computed from the table application';
COMMENT ON COLUMN yquota_internal.application_counter.label IS 'partition of the application masters';
COMMENT ON COLUMN yquota_internal.application_counter.demanding IS 'applications in one of the three live states that have outstanding requests';
COMMENT ON COLUMN yquota_internal.application_counter.am_used IS 'resources of the application masters of active applications, native units';

CREATE TABLE yquota_internal.live_application_count (
	part integer PRIMARY KEY,
	live bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.live_application_count IS
	'Number of live applications: the sum over all rows.  Each row is a segment, so that concurrent transactions change different rows.  Computed from the table application';
COMMENT ON COLUMN yquota_internal.live_application_count.live IS
	'applications that started to live minus applications that ended, counted by transactions that used this segment; may be negative';

CREATE TABLE yquota_internal.submission_refusal (
	decided_by text COLLATE "C" NOT NULL,
	part integer NOT NULL,
	refused bigint NOT NULL CHECK (refused > 0),
	PRIMARY KEY (decided_by, part)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.submission_refusal IS
	'Numbers of submissions that were refused, by the rule that refused them.  Each number is the sum over all rows of a rule, so that concurrent transactions can change different rows.  Dry runs do not count';
COMMENT ON COLUMN yquota_internal.submission_refusal.decided_by IS 'as in submit_application()';
COMMENT ON COLUMN yquota_internal.submission_refusal.part IS 'segment of live_application_count that the transaction used';

CREATE FUNCTION yquota_internal.count_applications() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_count_applications';
COMMENT ON FUNCTION yquota_internal.count_applications() IS
	'Keep application_counter and live_application_count up to date';

CREATE FUNCTION yquota_internal.unwritten_applications() RETURNS bigint
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_unwritten_applications';
COMMENT ON FUNCTION yquota_internal.unwritten_applications() IS
	'Return the number that this transaction will add to live_application_count when it commits';

CREATE TRIGGER count_applications AFTER INSERT OR UPDATE OR DELETE ON yquota.application
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.count_applications();
CREATE TRIGGER count_no_applications AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.count_applications();

SELECT pg_extension_config_dump('yquota.application', '');
SELECT pg_extension_config_dump('yquota_internal.application_counter', '');
SELECT pg_extension_config_dump('yquota_internal.live_application_count', '');
SELECT pg_extension_config_dump('yquota_internal.submission_refusal', '');
