-- hadoop_properties.sql
--
-- Print the tables of docs/hadoop-properties.md: the column of each of Hadoop's properties, its
-- notation and its default, according to the extension. Run it with psql -XAtq in a database that
-- has yquota, as a superuser.
--
\set ON_ERROR_STOP on
CREATE TEMPORARY VIEW printed AS
	SELECT f.*, CASE WHEN f.property LIKE '%<queue>%' OR f.property LIKE '%<parent>%' THEN 1 WHEN f.file = 'capacity-scheduler.xml' THEN 2 WHEN f.file = 'yarn-site.xml' THEN 3 ELSE 4 END AS part,
		   CASE WHEN f.column_name IS NULL THEN format('rows of `%s`', f.table_name) ELSE format('`%s.%s`', f.table_name, f.column_name) END AS place,
		   CASE f.notation WHEN 'integer' THEN 'integer' WHEN 'decimal' THEN 'integer, decimal' WHEN 'long' THEN 'long' WHEN 'float' THEN 'float' WHEN 'double' THEN 'double'
			   WHEN 'options' THEN 'text' WHEN 'acl' THEN 'text, blanks count' WHEN 'state' THEN 'RUNNING or STOPPED' WHEN 'format' THEN 'legacy or json'
			   WHEN 'mappings' THEN 'list of u:user:queue, g:group:queue' WHEN 'application mappings' THEN 'list of application:queue'
			   WHEN 'workflows' THEN 'list of workflow:queue:priority' WHEN 'json rules' THEN 'JSON' WHEN 'children' THEN 'list of names'
			   WHEN 'count' THEN 'integer, 0 or more' WHEN 'positive' THEN 'integer, 1 or more' WHEN 'milliseconds' THEN 'integer, milliseconds'
			   WHEN 'period' THEN 'long, milliseconds, 1 or more' WHEN 'factor' THEN 'float, 0 or more' WHEN 'ratio' THEN 'float above 0.99'
			   WHEN 'comparator' THEN 'QUEUE_LENGTH, QUEUE_WAIT_TIME or QUEUE_LENGTH_THEN_RESOURCES' WHEN 'queue policy' THEN 'BY_QUEUE_LEN or BY_RESOURCES'
			   WHEN 'resource' THEN 'resources' WHEN 'labels' THEN 'list or *' ELSE f.notation END AS written,
		   CASE WHEN f.present_name IS NOT NULL THEN format('as `%s` (former default `%s`)', f.present_name, f.default_value) ELSE
		   concat_ws('; ', CASE WHEN f.inherited_from = 'parent' THEN 'the parent''s'
							   WHEN f.inherited_from = 'queue' THEN 'the queue''s without label'
							   WHEN f.inherited_from IS NOT NULL THEN format('`%s.%s`', f.inherited_from, f.inherited_column) END,
					 CASE WHEN f.default_value = ' ' THEN 'one blank (`*` for root)' WHEN f.default_value IS NOT NULL THEN format('`%s`', f.default_value) END) END AS otherwise
	FROM yquota_internal.hadoop_property AS f;

SELECT line FROM (
	SELECT h.part, 0 AS rank, NULL::text AS property, h.line
	FROM (VALUES
		(1, E'## Queues\n\n| property | column | written as | for | when not set |\n|---|---|---|---|---|'),
		(2, E'\n## capacity-scheduler.xml\n\n| property | column | written as | when not set |\n|---|---|---|---|'),
		(3, E'\n## yarn-site.xml\n\n| property | column | written as | when not set |\n|---|---|---|---|'),
		(4, E'\n## mapred-site.xml\n\n| property | column | written as | when not set |\n|---|---|---|---|')) AS h (part, line)
	UNION ALL
	SELECT p.part, 1, p.property,
		   CASE WHEN p.part = 1 THEN format('| `%s` | %s | %s | %s | %s |', p.property, p.place, p.written, replace(coalesce(p.queue_kind, ''), 'both', 'all'), p.otherwise)
				ELSE format('| `%s` | %s | %s | %s |', p.property, p.place, p.written, p.otherwise) END
	FROM printed AS p) AS lines
ORDER BY part, rank, property COLLATE "C";
