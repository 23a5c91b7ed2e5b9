package org.yquota.yarn;

import java.sql.SQLException;
import java.util.regex.Pattern;

/** What to do when the server refuses something, by its SQLSTATE: the table of docs/clients.md. */
enum Verdict {
	/** It may pass: the same again, before anything that comes after. */
	RETRY,
	/** An administrator has to mend it: the same again, and say so. */
	WAIT,
	/** It never will be accepted: the next. */
	SET_ASIDE;

	private static final Pattern MAY_PASS = Pattern.compile("(08|40|57|58).*|53(?!400).*|55P03|25006");
	private static final Pattern TO_BE_MENDED = Pattern.compile("(28|3D|3F|XX).*|42501|42883|42P01");

	static Verdict of(SQLException e) {
		String state = e.getSQLState();

		// Without a state it is the driver's own: no connection, or one that broke.
		if (state == null || MAY_PASS.matcher(state).matches()) {
			return RETRY;
		}
		return TO_BE_MENDED.matcher(state).matches() ? WAIT : SET_ASIDE;
	}
}
