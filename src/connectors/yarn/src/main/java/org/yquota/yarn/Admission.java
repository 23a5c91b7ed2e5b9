package org.yquota.yarn;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks yquota whether an application may come in, over a connection of its own.  Callers wait
 * for the answer, and for each other.
 */
final class Admission {
	private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
	private static final String SUBMIT = "SELECT s.state, s.reason FROM " + Records.SUBMISSION_VALUES + ", " + Records.SUBMISSION + " AS s";
	/** SQLSTATE of a submission that yquota has let in before */
	private static final String DUPLICATE = "42710";

	private final FeedConfiguration conf;
	private Connection connection;

	Admission(FeedConfiguration conf) {
		this.conf = conf;
	}

	/** What became of an application. */
	static final class Answer {
		/** null when it may come in, else the reason why not */
		final String refusal;
		/** whether yquota knows of it */
		final boolean isKnown;

		private Answer(String refusal, boolean isKnown) {
			this.refusal = refusal;
			this.isKnown = isKnown;
		}
	}

	synchronized Answer answer(String[] application) {
		for (int tries = 0;; tries++) {
			boolean isNew = connection == null;
			try {
				return new Answer(ask(application), true);
			} catch (SQLException e) {
				if (DUPLICATE.equals(e.getSQLState())) {
					// The answer was lost, or the ResourceManager that asked.
					return new Answer(null, true);
				}
				close();
				// A connection may have been lost long ago; a new one tells more.
				if (!isNew && tries == 0) {
					continue;
				}
				LOG.warn("yquota did not say whether {} may come in: {}", application[0], e.getMessage());
				return new Answer(conf.askAcceptsWhenAway ? null : "yquota does not answer: " + e.getMessage(), false);
			}
		}
	}

	private String ask(String[] application) throws SQLException {
		if (connection == null) {
			connection = DriverManager.getConnection(conf.url, conf.connectionProperties(conf.askTimeout));
		}
		try (PreparedStatement statement = connection.prepareStatement(SUBMIT)) {
			for (int i = 0; i < application.length; i++) {
				statement.setString(i + 1, application[i]);
			}
			try (ResultSet answer = statement.executeQuery()) {
				answer.next();
				return "REJECTED".equals(answer.getString(1)) ? answer.getString(2) : null;
			}
		}
	}

	synchronized void close() {
		if (connection != null) {
			try {
				connection.close();
			} catch (SQLException e) {
				LOG.debug("Cannot close the connection", e);
			}
			connection = null;
		}
	}
}
