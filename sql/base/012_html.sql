--
-- Texts, numbers and tables of HTML pages.  Every text from users is escaped where it
-- enters a page: html() is the only way for text.
--

CREATE FUNCTION yquota_internal.html(content text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(replace(replace(replace(replace(replace(content,
		'&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), '&ndash;');
COMMENT ON FUNCTION yquota_internal.html(text) IS 'Text that stands for itself in HTML, a dash for none';

-- Two decimals, and two digits of what is less than a hundredth.
CREATE FUNCTION yquota_internal.number_text(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN number IS NULL THEN '&ndash;'
				WHEN abs(number) >= 1e15 THEN round(number)::text
				WHEN abs(number) >= 1000 OR number = round(number) THEN to_char(number, 'FM999,999,999,999,990')
				WHEN abs(number) >= 0.01 THEN to_char(number, 'FM990.00')
				ELSE trim_scale(round(number, 1 - floor(log(abs(number)))::integer))::text END;
COMMENT ON FUNCTION yquota_internal.number_text(numeric) IS 'A number as people read it, in HTML: a dash for none';

CREATE FUNCTION yquota_internal.html_number(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN number < 0 THEN '<span class="negative">' || yquota_internal.number_text(number) || '</span>'
				ELSE yquota_internal.number_text(number) END;
COMMENT ON FUNCTION yquota_internal.html_number(numeric) IS 'A number as people read it, marked when it is negative';

CREATE FUNCTION yquota_internal.html_time(at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN isfinite(at) THEN to_char(at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI') ELSE '&ndash;' END;
COMMENT ON FUNCTION yquota_internal.html_time(timestamptz, text) IS 'An instant to the minute, a dash for none';

CREATE FUNCTION yquota_internal.html_row(VARIADIC cells text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN concat('<tr><td>', array_to_string(cells, '</td><td>', ''), '</td></tr>');
COMMENT ON FUNCTION yquota_internal.html_row(text[]) IS 'A row of a table, of cells that are HTML already';

CREATE FUNCTION yquota_internal.html_table(heads text[], body text, figures integer DEFAULT 0) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN body IS NULL THEN '<p>None.</p>'
				ELSE concat('<div class="wide" tabindex="0"><table', CASE WHEN figures > 0 THEN concat(' class="f', figures, '"') END,
					'><thead><tr><th>', array_to_string(heads, '</th><th>'), '</th></tr></thead><tbody>', body, '</tbody></table></div>') END;
COMMENT ON FUNCTION yquota_internal.html_table(text[], text, integer) IS
	'A table of rows that are HTML already, of which the last columns, at most twelve, are figures; NULL for no rows';
