--
-- Each scenario differs from the first one (Hadoop's defaults) by the settings that its statements change.
--
CREATE TABLE simulation.scenario (
	position integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE,
	settings text[] NOT NULL
);
COMMENT ON TABLE simulation.scenario IS 'Scenarios to play';
COMMENT ON COLUMN simulation.scenario.settings IS 'statements that are executed before';

INSERT INTO simulation.scenario (name, settings) VALUES
	('as in Hadoop', '{}'),
	('pause, not kill', ARRAY[$$UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true$$]),
	('over-allocation', ARRAY[$$INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold)
			VALUES ('memory-mb', 0.8, 0.9), ('vcores', 0.8, 0.9)$$,
		$$UPDATE simulation.plan SET is_measured = true, cycles_every = '10 min'$$]),
	('start shortest_first', ARRAY[$$UPDATE yquota.scheduler_setting SET node_queue_order = 'shortest_first'$$]),
	('start application_priority', ARRAY[$$UPDATE yquota.scheduler_setting SET node_queue_order = 'application_priority'$$]),
	('start fair_by_user', ARRAY[$$UPDATE yquota.scheduler_setting SET node_queue_order = 'fair_by_user'$$]),
	('kill least_paid', ARRAY[$$UPDATE yquota.scheduler_setting SET opportunistic_kill_order = 'least_paid'$$]),
	('kill lowest_priority', ARRAY[$$UPDATE yquota.scheduler_setting SET opportunistic_kill_order = 'lowest_priority'$$]),
	('kill furthest_from_end', ARRAY[$$UPDATE yquota.scheduler_setting SET opportunistic_kill_order = 'furthest_from_end'$$, $$UPDATE simulation.plan SET tells_progress = true$$]),
	('kill fewest', ARRAY[$$UPDATE yquota.scheduler_setting SET opportunistic_kill_order = 'fewest'$$]),
	('promotion after 10 min', ARRAY[$$UPDATE yquota.queue SET auto_promote_after = '10 min' WHERE path = 'root.batch'$$,
		$$UPDATE simulation.plan SET cycles_every = '1 min'$$]),
	('at most 6 containers of a user', ARRAY[$$UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_containers = 6$$]),
	('price by load, 0.3 to 0.9', ARRAY[$$INSERT INTO yquota.price_factor (dimension, name, effective_at, factor)
			SELECT 'execution_type', 'OPPORTUNISTIC', from_at + interval '1 s', NULL FROM simulation.plan$$,
		$$UPDATE yquota.price_group SET increment_factor = 0$$,
		$$INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.3, 0.9)$$,
		$$UPDATE simulation.plan SET computes_prices = true, cycles_every = '10 min'$$]),
	('all recommended', ARRAY[$$INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold)
			VALUES ('memory-mb', 0.8, 0.9), ('vcores', 0.8, 0.9)$$,
		$$UPDATE yquota.scheduler_setting SET node_queue_order = 'shortest_first', opportunistic_kill_order = 'least_paid'$$,
		$$UPDATE simulation.plan SET is_measured = true, cycles_every = '10 min'$$]);
