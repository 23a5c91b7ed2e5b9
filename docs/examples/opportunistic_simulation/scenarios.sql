--
-- Each scenario differs from the first one, Hadoop's, in what its statements set.
--
CREATE TABLE simulation.scenario (
	position integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE,
	settings text[] NOT NULL
);
COMMENT ON TABLE simulation.scenario IS 'What is played';
COMMENT ON COLUMN simulation.scenario.settings IS 'statements that are executed before';

INSERT INTO simulation.scenario (name, settings) VALUES
	('as in Hadoop', '{}'),
	('pause, not kill', ARRAY[$$UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true$$]),
	('over-allocation', ARRAY[$$INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold)
			VALUES ('memory-mb', 0.8, 0.9), ('vcores', 0.8, 0.9)$$,
		$$UPDATE simulation.plan SET is_measured = true, cycles_every = '10 min'$$]),
	('promotion after 10 min', ARRAY[$$UPDATE yquota.queue SET auto_promote_after = '10 min' WHERE path = 'root.batch'$$,
		$$UPDATE simulation.plan SET cycles_every = '1 min'$$]);
