--
-- Casts in assignments from text.  A driver that declares a parameter as text or varchar can
-- insert it into a column of these types unchanged.
--

CREATE CAST (text AS yquota.container_event_type) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.container_event_type) IS 'event of a container, as a client writes it';
CREATE CAST (varchar AS yquota.container_event_type) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.container_event_type) IS 'event of a container, as a client writes it';
CREATE CAST (text AS yquota.execution_type) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.execution_type) IS 'execution type, as a client writes it';
CREATE CAST (varchar AS yquota.execution_type) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.execution_type) IS 'execution type, as a client writes it';
CREATE CAST (text AS yquota.queue_state) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.queue_state) IS 'state of a queue, as a client writes it';
CREATE CAST (varchar AS yquota.queue_state) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.queue_state) IS 'state of a queue, as a client writes it';
CREATE CAST (text AS yquota.node_state) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.node_state) IS 'state of a node, as a client writes it';
CREATE CAST (varchar AS yquota.node_state) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.node_state) IS 'state of a node, as a client writes it';
CREATE CAST (text AS yquota.quota_mode) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.quota_mode) IS 'mode of a project''s quota, as a client writes it';
CREATE CAST (varchar AS yquota.quota_mode) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.quota_mode) IS 'mode of a project''s quota, as a client writes it';
CREATE CAST (text AS yquota.exhaustion_policy) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.exhaustion_policy) IS 'action for projects without credit, as a client writes it';
CREATE CAST (varchar AS yquota.exhaustion_policy) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.exhaustion_policy) IS 'action for projects without credit, as a client writes it';
CREATE CAST (text AS yquota.factor_dimension) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.factor_dimension) IS 'dimension of a price factor, as a client writes it';
CREATE CAST (varchar AS yquota.factor_dimension) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.factor_dimension) IS 'dimension of a price factor, as a client writes it';
CREATE CAST (text AS yquota.charging_mode) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.charging_mode) IS 'charging mode, as a client writes it';
CREATE CAST (varchar AS yquota.charging_mode) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.charging_mode) IS 'charging mode, as a client writes it';
CREATE CAST (text AS yquota.application_state) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.application_state) IS 'state of an application, as a client writes it';
CREATE CAST (varchar AS yquota.application_state) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.application_state) IS 'state of an application, as a client writes it';
CREATE CAST (text AS yquota.reservation_interpreter) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.reservation_interpreter) IS 'interpreter of a reservation, as a client writes it';
CREATE CAST (varchar AS yquota.reservation_interpreter) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.reservation_interpreter) IS 'interpreter of a reservation, as a client writes it';
CREATE CAST (text AS yquota.resource) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS yquota.resource) IS 'resource vector, as a client writes it';
CREATE CAST (varchar AS yquota.resource) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS yquota.resource) IS 'resource vector, as a client writes it';
