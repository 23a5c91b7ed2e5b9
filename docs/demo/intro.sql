--
-- Print a description of the replay.
--

\pset format unaligned
\pset tuples_only on

SELECT format(E'\n=== Replaying %s\n', title) FROM demo.history;
SELECT format('%s pods in %s days from 2024-01-01 on; what outlives the end stays running.',
	trim(to_char(count(*), '999,990')), trim_scale(round(max(seconds) / 86400.0, 1)))
FROM demo.pod, demo.history;
SELECT format('%s nodes (%s): %s cores, %s GiB, %s GPUs.', count(*), min(history.nodes), div(sum(cpu_milli), 1000),
	trim(to_char(sum(memory_mib) / 1024, '999,990')), sum(gpu))
FROM demo.node, demo.history;
\echo
\echo 'Eight pods in a row are an application, applications go round 24 projects of three users; the queue'
\echo 'is root. and the pod''s qos.  Best-effort pods are OPPORTUNISTIC, at half price.  Per second, a core'
\echo 'is 1 credit, a GiB 0.25, a GPU 20, times the multiplier, which is computed every hour.  Projects are'
\echo 'granted an allowance at the start, and again on days when less than a quarter of one is left.'
\echo

\pset format aligned
\pset tuples_only off
