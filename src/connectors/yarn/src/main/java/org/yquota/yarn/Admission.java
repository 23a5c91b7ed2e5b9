package org.yquota.yarn;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks yquota whether an application is accepted, over a separate connection. Callers wait for the
 * answer, and one caller waits for another.
 */
final class Admission {
	private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
	private static final String SUBMIT = "SELECT s.state, s.reason FROM " + Records.SUBMISSION_VALUES + ", " + Records.SUBMISSION + " AS s";
	/** SQLSTATE of a submission that yquota has accepted before */
	private static final String DUPLICATE = "42710";

	private final FeedConfiguration conf;
	private Connection connection;

	Admission(FeedConfiguration conf) {
		this.conf = conf;
	}

	/** yquota's answer about an application. */
	static final class Answer {
		/** null if the application is accepted, otherwise the reason for the refusal */
		final String refusal;
		/** whether yquota has recorded the application */
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
					// An earlier call was accepted, but its answer was lost, or the ResourceManager that made the call.
					return new Answer(null, true);
				}
				close();
				// The old connection may have broken long ago, so try a new connection.
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
