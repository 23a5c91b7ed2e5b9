--
-- Compare the ways to use idle capacity, with a trace of a real cluster.
--
--   createdb simulation
--   psql -d simulation -v trace=DIRECTORY -f docs/examples/opportunistic_simulation/run.sql
--
-- DIRECTORY has openb_pods.csv and openb_nodes.csv. Without a trace, the script uses a generated history. Each scenario
-- of scenarios.sql plays the same window of the history from the same start. The start is a copy of the database,
-- simulation_played, for which the role needs CREATEDB. The variables first_hour, hours and folded_hours choose another
-- window. The variable only='as in Hadoop' chooses one scenario. The result is the same every time.
--
\set ON_ERROR_STOP on
\set QUIET on
\if :{?days}
\elif :{?trace}
	\set days 150
\else
	\set days 30
\endif
\if :{?first_hour}
\elif :{?trace}
	\set first_hour 3360
\else
	\set first_hour 240
\endif
\if :{?hours}
\else
	\set hours 72
\endif
\if :{?folded_hours}
\else
	\set folded_hours 168
\endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\ir ../../demo/stage.sql
\ir workload.sql
\ir play.sql
\ir outcome.sql
\ir scenarios.sql
\if :{?only}
	DELETE FROM simulation.scenario WHERE name <> :'only';
\endif
\set here `pwd`
\if :{?trace}
	\ir ../../demo/trace.sql
	\cd :here
	CREATE TEMPORARY VIEW asked AS
		SELECT substring(name FROM '[0-9]+$')::integer AS number, cpu_milli, memory_mib, qos, creation_time AS second,
			   deletion_time - coalesce(scheduled_time, creation_time) AS seconds
		FROM trace_pod;
\else
	\ir ../../demo/generate.sql
	CREATE TEMPORARY VIEW asked AS
		SELECT number, cpu_milli, memory_mib, qos, started AS second, coalesce(deleted, seconds) - started AS seconds
		FROM demo.pod, demo.history;
\endif
\ir cluster.sql
\ir scenario.sql
SELECT scenario, cores_used AS "cores %", cores_useful AS "useful", memory_used AS "memory %", memory_useful AS "useful", completed,
	   opportunistic_median AS "wait 50 %", opportunistic_mean AS mean, opportunistic_most AS "95 %", kills, lost_core_hours AS "core-hours lost",
	   guaranteed_median AS "GUARANTEED wait 50 %", guaranteed_most AS "99 %",
	   round(guaranteed_credits) AS "GUARANTEED credits", round(opportunistic_credits) AS "OPPORTUNISTIC credits", differences, problems
FROM simulation.outcome JOIN simulation.scenario ON name = scenario ORDER BY position;
