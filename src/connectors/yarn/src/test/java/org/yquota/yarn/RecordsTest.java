package org.yquota.yarn;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.sql.SQLException;

import org.junit.Test;

/** Tests of records, and of the feed's reaction to errors. */
public class RecordsTest {
	@Test
	public void anEventHasItsTime() {
		assertEquals(Long.valueOf(1234L), Records.eventTime(Records.compute("s", 1234L).trim()));
		assertNull(Records.eventTime(Records.alive("s", 1234L).trim()));
		assertNull(Records.eventTime("event\tCONTAINER_START"));
		assertNull(Records.eventTime("event\tCONTAINER_START\tc\tsoon"));
	}

	@Test
	public void aRecordKeepsItsValuesButNoNul() {
		String record = Records.record(Records.APPLICATION_END, "a\tb\\t\r\n", null, "broken\0");

		assertArrayEquals(new String[] {"a\tb\\t\r\n", null, "broken"}, Records.values(record.substring(0, record.length() - 1)));
	}

	@Test
	public void aCallIsToldWithItsFunction() {
		String record = Records.record(Records.NODE_LOST, "n\t1", null).trim();

		assertEquals("{\"function\":\"yquota.node_lost\",\"arguments\":[\"n\\t1\",null]}",
			Records.call(record, "SELECT * FROM yquota.node_lost(?, ?::timestamptz)"));
		assertEquals("{\"table\":\"yquota.container_event\",\"row\":{\"event\":\"QUOTA_COMPUTE\",\"occurred_at\":\"1970-01-01T00:00:00Z\",\"source\":\"s\"}}",
			Records.call(Records.compute("s", 0).trim(), null));
	}

	@Test
	public void theStateDecides() {
		for (String state : new String[] {null, "08006", "57P01", "57014", "58030", "40001", "40P01", "53200", "53300", "55P03", "25006"}) {
			assertEquals(state, Verdict.RETRY, Verdict.of(new SQLException("", state)));
		}
		for (String state : new String[] {"28P01", "3D000", "3F000", "42501", "42883", "42P01", "XX000", "XX001"}) {
			assertEquals(state, Verdict.WAIT, Verdict.of(new SQLException("", state)));
		}
		for (String state : new String[] {"42704", "42809", "53400", "YQ001", "22007", "23503", "55000", "54000", "0A000", "25P02", "42703"}) {
			assertEquals(state, Verdict.SET_ASIDE, Verdict.of(new SQLException("", state)));
		}
	}
}
