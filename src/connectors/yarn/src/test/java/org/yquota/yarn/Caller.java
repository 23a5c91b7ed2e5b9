package org.yquota.yarn;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** The program that started this process, which may act whenever the test reaches a place. */
final class Caller {
	private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

	private Caller() {
	}

	/** Prints {@code reached PLACE}, and returns when the caller has sent a line. */
	static void reached(String place) throws IOException {
		System.out.println("reached " + place);
		System.out.flush();
		INPUT.readLine();
	}
}
