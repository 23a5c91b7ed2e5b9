--
-- From 0.2.0 to 0.3.0: what goes when nothing uses it any more.
--

DROP FUNCTION yquota_internal.check_may_hold(text, text);
