package org.yquota.yarn;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** The program that runs a test in this process: it may do something wherever it is told of a place. */
final class Caller {
	private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

	private Caller() {
	}

	/** Say {@code reached PLACE} on standard output, and go on when a line is read. */
	static void reached(String place) throws IOException {
		System.out.println("reached " + place);
		System.out.flush();
		INPUT.readLine();
	}
}
