--
-- Closes every function that the list of privileges does not open to every role.  This part
-- comes last, because it is about all functions.
--
DO $$
BEGIN
	EXECUTE (
		SELECT format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', string_agg(function.oid::regprocedure::text, ', '))
		FROM pg_proc AS function
		WHERE function.pronamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
		  AND function.oid NOT IN (
			  SELECT privilege.objid FROM yquota_internal.privilege AS privilege WHERE privilege.kinds = '{public}'));
END
$$;
