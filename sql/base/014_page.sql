--
-- HTML pages that need nothing from elsewhere, neither script nor font nor image:
-- they are mailed, printed and kept.
--

-- Where a table is wider than the screen, a shadow at its edge shows that it scrolls.
CREATE FUNCTION yquota_internal.page_style() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ':root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--rule:#d5dae0;--shade:#0004;--bad:#b3261e}'
		'@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--rule:#3a4048;--shade:#fff5;--bad:#ff8a80}}'
		'*{box-sizing:border-box}body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:0 auto;padding:1rem}'
		'h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .25rem}'
		'.sums{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:.5rem 0}.sums div{min-width:8rem}.sums dt{font-size:.85rem}.sums dd{margin:0;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums}'
		'.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr));gap:0 2rem}'
		'.wide{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 1rem,transparent 2rem) 0 0/100% 100% no-repeat local,'
		'linear-gradient(270deg,var(--paper) 1rem,transparent 2rem) 0 0/100% 100% no-repeat local,'
		'linear-gradient(90deg,var(--shade),transparent .75rem) 0 0/100% 100% no-repeat scroll,linear-gradient(270deg,var(--shade),transparent .75rem) 0 0/100% 100% no-repeat scroll}'
		'table{border-collapse:collapse;width:100%;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rule);vertical-align:top;max-width:24rem;overflow-wrap:break-word}'
		'td:first-child{min-width:6rem;overflow-wrap:anywhere}.sum td{font-weight:600;border-bottom:0}'
		|| (SELECT string_agg(format('.f%1$s :is(th,td):nth-last-child(-n+%1$s)', number), ',' ORDER BY number) || '{text-align:right;padding:.25rem 0 .25rem .6rem}'
			|| string_agg(format('.f%1$s td:nth-last-child(-n+%1$s)', number), ',' ORDER BY number) || ',.t{white-space:nowrap}'
			FROM generate_series(1, 12) AS number)
		|| '.negative{color:var(--bad);white-space:nowrap}'
		'@page{size:A4;margin:12mm}@media print{html{font-size:11px}body{max-width:none;padding:0;font-size:11px}table{font-size:9px}th,td{padding-left:.3rem;padding-right:.3rem}td{overflow-wrap:anywhere}'
		'.wide{overflow:visible;background:none}figure,tr,.sums{break-inside:avoid}h2,h3,figcaption{break-after:avoid}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}';
COMMENT ON FUNCTION yquota_internal.page_style() IS 'Style of texts and tables, for light and dark screens, narrow ones and paper';

CREATE FUNCTION yquota_internal.html_page(title text, explanation text, body text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>'
		|| yquota_internal.html(title) || '</title><style>' || yquota_internal.page_style() || yquota_internal.chart_style()
		|| '</style></head><body><h1>' || yquota_internal.html(title) || '</h1><p>' || yquota_internal.html(explanation) || '</p>' || body || '</body></html>';
COMMENT ON FUNCTION yquota_internal.html_page(text, text, text) IS
	'A page around a body that is HTML already';
