--
-- From 0.1.0 to 0.2.0: what goes when nothing uses it any more.
--

-- One function keeps all tables that are only added to.
DROP FUNCTION yquota_internal.refuse_change_of_balance();
