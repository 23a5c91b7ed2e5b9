# Facts of the catalog about the extension, for a comparison of two databases. The text does not depend on OIDs or on
# the order of creation.
#
# The query catalog_query() is one statement with the columns object and facts. It has a row for each member of the
# extension and for each part of one (column, constraint, index, trigger, policy, ...), with all its facts. The
# function differences() compares two such results.

package Catalog;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(catalog_query differences);

# Rights, without the initial ones, which pg_dump also leaves out. The name of the owner, who ran CREATE EXTENSION,
# is left out, too.
sub rights
{
	my ($acl, $default) = @_;

	return <<~SQL;
		(SELECT array_agg(format('%s=%s%s', CASE a.grantee WHEN 0 THEN 'PUBLIC' WHEN e.extowner THEN 'owner' ELSE a.grantee::regrole::text END,
								 a.privilege_type, CASE WHEN a.is_grantable THEN '*' END) ORDER BY a.grantee <> 0, a.grantee::regrole::text, a.privilege_type)
		 FROM aclexplode(coalesce($acl, $default)) AS a)
		SQL
}

sub init_rights
{
	my ($class, $oid, $sub) = @_;

	return rights("(SELECT p.initprivs FROM pg_init_privs AS p WHERE p.classoid = '$class'::regclass AND p.objoid = $oid AND p.objsubid = $sub)", 'NULL');
}

sub comment
{
	my ($class, $oid) = @_;

	return "obj_description($oid, '$class')";
}

# facts(NAME => EXPRESSION, ...): return one text with all facts that are not NULL.
sub facts
{
	my @texts;

	while (my ($name, $expression) = splice @_, 0, 2)
	{
		push @texts, "'$name: ' || ($expression)::text";
	}
	return 'concat_ws(E\'\n\', ' . join(', ', @texts) . ')';
}

sub part
{
	my ($object, $facts, $from) = @_;

	return "SELECT $object AS object, $facts AS facts FROM own AS e, $from";
}

sub catalog_query
{
	my $member = "JOIN member AS m ON m.classid = '%s'::regclass AND m.objid = x.oid";
	my $relation = "pg_class AS x JOIN relation AS r ON r.oid = x.oid";
	my @parts = (
		part(q('extension'), facts(schema => 'e.extnamespace::regnamespace', version => 'e.extversion', relocatable => 'e.extrelocatable',
				comment => comment('pg_extension', 'e.oid')), '(VALUES (1)) AS one (row)'),
		part(q('member ' || i.type || ' ' || i.identity), q(''),
			'member AS m CROSS JOIN LATERAL pg_identify_object(m.classid, m.objid, 0) AS i'),
		part(q('dump mark ' || c.relation::regclass), facts(rows => q(quote_literal(c.condition))),
			'LATERAL unnest(e.extconfig, e.extcondition) AS c (relation, condition)'),
		part(q('schema ' || x.nspname), facts(owner => 'x.nspowner = e.extowner', rights => rights('x.nspacl', q(acldefault('n', x.nspowner))),
				initially => init_rights('pg_namespace', 'x.oid', 0), comment => comment('pg_namespace', 'x.oid')),
			'pg_namespace AS x ' . sprintf($member, 'pg_namespace')),
		part(q('relation ' || x.oid::regclass),
			facts(kind => 'x.relkind', persistence => 'x.relpersistence', method => 'x.relam', options => 'x.reloptions', tablespace => 'x.reltablespace',
				owner => 'x.relowner = e.extowner', security => 'ARRAY[x.relrowsecurity, x.relforcerowsecurity]', identity => 'x.relreplident',
				rights => rights('x.relacl', q(acldefault(CASE x.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, x.relowner))),
				initially => init_rights('pg_class', 'x.oid', 0), comment => comment('pg_class', 'x.oid'),
				toast => '(SELECT t.reloptions FROM pg_class AS t WHERE t.oid = x.reltoastrelid)',
				inherits => '(SELECT array_agg(i.inhparent::regclass) FROM pg_inherits AS i WHERE i.inhrelid = x.oid)',
				view => q(CASE x.relkind WHEN 'v' THEN pg_get_viewdef(x.oid) END)), $relation),
		part(q('sequence ' || x.seqrelid::regclass),
			facts(is => '(x.seqtypid::regtype, x.seqstart, x.seqincrement, x.seqmax, x.seqmin, x.seqcache, x.seqcycle)',
				column => q((SELECT d.refobjid::regclass || '.' || d.refobjsubid FROM pg_depend AS d WHERE d.objid = x.seqrelid AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')))),
			'pg_sequence AS x JOIN relation AS r ON r.oid = x.seqrelid'),
		part(q('column ' || x.attrelid::regclass || '.' || x.attname),
			facts(number => 'x.attnum', type => 'format_type(x.atttypid, x.atttypmod)', 'not null' => 'x.attnotnull', collation => 'x.attcollation::regcollation',
				default => '(SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d WHERE (d.adrelid, d.adnum) = (x.attrelid, x.attnum))',
				identity => 'x.attidentity', generated => 'x.attgenerated', storage => 'x.attstorage', compression => 'x.attcompression',
				options => q((SELECT array_agg(o ORDER BY o) FROM unnest(x.attoptions) AS o WHERE o !~ '^pg_attver=')), rights => rights('x.attacl', 'NULL'), initially => init_rights('pg_class', 'x.attrelid', 'x.attnum'),
				comment => 'col_description(x.attrelid, x.attnum)'),
			'pg_attribute AS x JOIN relation AS r ON r.oid = x.attrelid WHERE x.attnum > 0 AND NOT x.attisdropped'),
		part(q('constraint ' || x.conname || ' of ' || coalesce(x.conrelid::regclass::text, x.contypid::regtype::text)),
			facts(definition => 'pg_get_constraintdef(x.oid)', valid => 'x.convalidated', comment => comment('pg_constraint', 'x.oid')),
			q(pg_constraint AS x LEFT JOIN relation AS r ON r.oid = x.conrelid LEFT JOIN member AS m ON m.classid = 'pg_type'::regclass AND m.objid = x.contypid WHERE coalesce(r.oid, m.objid) IS NOT NULL)),
		part(q('index ' || x.indexrelid::regclass),
			facts(definition => 'pg_get_indexdef(x.indexrelid)', flags => 'ARRAY[x.indisprimary, x.indisvalid, x.indisclustered, x.indisreplident, x.indimmediate]',
				owner => '(SELECT c.relowner = e.extowner FROM pg_class AS c WHERE c.oid = x.indexrelid)', comment => comment('pg_class', 'x.indexrelid')),
			'pg_index AS x JOIN relation AS r ON r.oid = x.indrelid'),
		part(q('trigger ' || x.tgname || ' on ' || x.tgrelid::regclass),
			facts(definition => 'pg_get_triggerdef(x.oid)', enabled => 'x.tgenabled', comment => comment('pg_trigger', 'x.oid')),
			'pg_trigger AS x JOIN relation AS r ON r.oid = x.tgrelid WHERE NOT x.tgisinternal'),
		part(q('rule ' || x.rulename || ' on ' || x.ev_class::regclass), facts(definition => 'pg_get_ruledef(x.oid)', enabled => 'x.ev_enabled'),
			'pg_rewrite AS x JOIN relation AS r ON r.oid = x.ev_class'),
		part(q('policy ' || x.polname || ' on ' || x.polrelid::regclass),
			facts(for => 'x.polcmd', permissive => 'x.polpermissive', roles => 'x.polroles::regrole[]', using => 'pg_get_expr(x.polqual, x.polrelid)',
				check => 'pg_get_expr(x.polwithcheck, x.polrelid)', comment => comment('pg_policy', 'x.oid')),
			'pg_policy AS x JOIN relation AS r ON r.oid = x.polrelid'),
		part(q('statistics ' || x.stxname), facts(definition => 'pg_get_statisticsobjdef(x.oid)', comment => comment('pg_statistic_ext', 'x.oid')),
			'pg_statistic_ext AS x JOIN relation AS r ON r.oid = x.stxrelid'),
		part(q('function ' || x.oid::regprocedure),
			facts(definition => q(CASE x.prokind WHEN 'a' THEN (SELECT (g.aggkind, g.aggtransfn, g.aggfinalfn, g.aggcombinefn, g.aggserialfn, g.aggdeserialfn, g.aggmtransfn, g.aggminvtransfn, g.aggmfinalfn, g.aggfinalextra, g.aggmfinalextra, g.aggfinalmodify, g.aggmfinalmodify, g.aggsortop::regoperator, g.aggtranstype::regtype, g.agginitval)::text FROM pg_aggregate AS g WHERE g.aggfnoid = x.oid) ELSE pg_get_functiondef(x.oid) END),
				arguments => 'pg_get_function_arguments(x.oid)', result => 'pg_get_function_result(x.oid)',
				labels => 'ARRAY[x.provolatile, x.proparallel]', flags => 'ARRAY[x.prosecdef, x.proisstrict, x.proleakproof, x.proretset]', cost => 'ARRAY[x.procost, x.prorows]',
				owner => 'x.proowner = e.extowner', rights => rights('x.proacl', q(acldefault('f', x.proowner))), initially => init_rights('pg_proc', 'x.oid', 0), comment => comment('pg_proc', 'x.oid')),
			'pg_proc AS x ' . sprintf($member, 'pg_proc')),
		part(q('type ' || x.oid::regtype),
			facts(is => '(x.typtype, x.typcategory, x.typispreferred, x.typlen, x.typbyval, x.typalign, x.typstorage, x.typdelim, x.typnotnull, x.typbasetype::regtype, x.typtypmod, x.typcollation::regcollation, x.typdefault)',
				functions => '(x.typinput, x.typoutput, x.typreceive, x.typsend, x.typmodin, x.typmodout, x.typanalyze, x.typsubscript)',
				labels => '(SELECT array_agg(n.enumlabel ORDER BY n.enumsortorder) FROM pg_enum AS n WHERE n.enumtypid = x.oid)',
				owner => 'x.typowner = e.extowner', rights => rights('x.typacl', q(acldefault('T', x.typowner))), initially => init_rights('pg_type', 'x.oid', 0), comment => comment('pg_type', 'x.oid')),
			'pg_type AS x ' . sprintf($member, 'pg_type')),
		part(q('operator ' || x.oid::regoperator),
			facts(is => '(x.oprcanmerge, x.oprcanhash, x.oprresult::regtype, x.oprcom::regoperator, x.oprnegate::regoperator, x.oprcode, x.oprrest, x.oprjoin)',
				comment => comment('pg_operator', 'x.oid')), 'pg_operator AS x ' . sprintf($member, 'pg_operator')),
		part(q('operator class ' || x.opcname || ' for ' || x.opcmethod),
			facts(is => '((SELECT f.opfname FROM pg_opfamily AS f WHERE f.oid = x.opcfamily), x.opcintype::regtype, x.opcdefault, x.opckeytype::regtype)', comment => comment('pg_opclass', 'x.oid')),
			'pg_opclass AS x ' . sprintf($member, 'pg_opclass')),
		part(q('operator family ' || x.opfname || ' for ' || x.opfmethod),
			facts(operators => q((SELECT array_agg((o.amopstrategy, o.amoppurpose, o.amopopr::regoperator)::text ORDER BY o.amopstrategy, o.amopopr::regoperator::text) FROM pg_amop AS o WHERE o.amopfamily = x.oid)),
				functions => q((SELECT array_agg((p.amprocnum, p.amproc::regprocedure)::text ORDER BY p.amprocnum, p.amproc::regprocedure::text) FROM pg_amproc AS p WHERE p.amprocfamily = x.oid)), comment => comment('pg_opfamily', 'x.oid')),
			'pg_opfamily AS x ' . sprintf($member, 'pg_opfamily')),
		part(q('cast ' || x.castsource::regtype || ' to ' || x.casttarget::regtype), facts(is => '(x.castfunc::regprocedure, x.castcontext, x.castmethod)', comment => comment('pg_cast', 'x.oid')),
			'pg_cast AS x ' . sprintf($member, 'pg_cast')),
		part(q('event trigger ' || x.evtname), facts(is => '(x.evtevent, x.evtfoid::regprocedure, x.evtenabled, x.evttags)', owner => 'x.evtowner = e.extowner', comment => comment('pg_event_trigger', 'x.oid')),
			'pg_event_trigger AS x ' . sprintf($member, 'pg_event_trigger')),
	);

	return <<~SQL . join("\nUNION ALL\n", @parts) . "\nORDER BY 1";
		WITH own AS (SELECT * FROM pg_extension WHERE extname = 'yquota'),
		member AS (SELECT d.classid, d.objid FROM pg_depend AS d, own AS e
				   WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'),
		relation AS (SELECT c.oid FROM pg_class AS c JOIN member AS m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid)
		SQL
}

# differences(WANTED, FOUND): return a line for each entry that only one side has, or that differs,
# and nothing if both sides are equal.
sub differences
{
	my ($wanted, $found) = @_;
	my @lines;

	foreach my $object (sort keys %{ { %$wanted, %$found } })
	{
		if (!exists $found->{$object})
		{
			push @lines, "missing: $object";
		}
		elsif (!exists $wanted->{$object})
		{
			push @lines, "not in a new installation: $object";
		}
		elsif ($wanted->{$object} ne $found->{$object})
		{
			push @lines, "not alike: $object", map { "  $_" } line_differences($wanted->{$object}, $found->{$object});
		}
	}
	return @lines;
}

sub line_differences
{
	my ($wanted, $found) = @_;
	my %in_wanted = map { $_ => 1 } split /\n/, $wanted;
	my %in_found = map { $_ => 1 } split /\n/, $found;

	return ((map { "- $_" } grep { !$in_found{$_} } split /\n/, $wanted),
		(map { "+ $_" } grep { !$in_wanted{$_} } split /\n/, $found));
}

1;
