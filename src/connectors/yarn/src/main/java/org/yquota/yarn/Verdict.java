package org.yquota.yarn;

import java.sql.SQLException;
import java.util.regex.Pattern;

/** The feed's reaction to an error, by its SQLSTATE, according to the table in docs/clients.md. */
enum Verdict {
	/** The fault may pass: send the same again, before any later record. */
	RETRY,
	/** An administrator has to repair the fault: report it, and send the same again. */
	WAIT,
	/** The server will never accept the record: set it aside, and send the next record. */
	SET_ASIDE;

	private static final Pattern MAY_PASS = Pattern.compile("(08|40|57|58).*|53(?!400).*|55P03|25006");
	private static final Pattern TO_BE_MENDED = Pattern.compile("(28|3D|3F|XX).*|42501|42883|42P01");

	static Verdict of(SQLException e) {
		String state = e.getSQLState();

		// An error without a state comes from the driver: there is no connection, or it broke.
		if (state == null || MAY_PASS.matcher(state).matches()) {
			return RETRY;
		}
		return TO_BE_MENDED.matcher(state).matches() ? WAIT : SET_ASIDE;
	}
}
