#!/usr/bin/env node
/*
 * Sends a file of container events to yquota with node-postgres. Each batch is one INSERT with a JSON parameter.
 *
 *     container_feed.js SOURCE FILE
 *
 * SOURCE is the name of the feed. Each line of FILE is one event: the values of COLUMNS, separated by tabs. An empty
 * value means unknown. libpq's variables (PGHOST, PGDATABASE, PGUSER, ...) say where the database is.
 *
 * If the answer to a batch is lost, the program sends the batch again. You may also send the whole file again, because
 * events that yquota already knows change nothing. The exit status is 0 when all events are sent. Events that the
 * server will never accept are printed, and set aside in yquota.feed_reject.
 */
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client, DatabaseError } = require('pg');

const COLUMNS = ['event', 'container_id', 'occurred_at', 'project', 'application_id', 'username', 'queue', 'node',
	'allocation', 'execution_type', 'exit_status'];
const INSERT = `INSERT INTO yquota.container_event (${COLUMNS}, source)
	SELECT ${COLUMNS}, $1 FROM json_populate_recordset(NULL::yquota.container_event, $2)`;
const BATCH_EVENTS = 500;
const LONGEST_PAUSE_MS = 10000;

// Classes and codes of SQLSTATE after which the program retries, and of those that an administrator must repair. After
// any other error, the program sets the row aside.
const MAY_PASS = /^(08|40|53(?!400)|57|58|25006|55P03)/;
const TO_BE_MENDED = /^(28|3D|3F|XX|42501|42883|42P01)/;

const REJECT = `SELECT yquota.reject_call($1, jsonb_build_object('table', 'yquota.container_event', 'row', $2::jsonb), $3, $4, $5)`;

class Feed {
	constructor(source) {
		this.source = source;
		this.client = null;
		// an earlier run of the program may have reported a problem
		this.mayHaveProblem = true;
	}

	async connected() {
		if (this.client === null) {
			const client = new Client({
				application_name: 'container_feed', connectionTimeoutMillis: 10000, query_timeout: 60000, keepAlive: true,
			});
			// If a connection breaks between two statements, the next statement fails.
			client.on('error', (error) => console.error(`connection: ${error.message}`));
			client.on('notice', (notice) => console.error(`${notice.severity}: ${notice.message}`));
			await client.connect();
			this.client = client;
		}
		return this.client;
	}

	async disconnect() {
		const client = this.client;
		this.client = null;
		await client?.end().catch((error) => console.error(`closing the connection: ${error.message}`));
	}

	/** Does the work, and repeats it after errors that a retry or an administrator may solve. */
	async untilDone(work) {
		for (let pause = 100; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
			try {
				const result = await work(await this.connected());
				if (this.mayHaveProblem) {
					this.mayHaveProblem = false;
					await this.reportProblem(null, null);
				}
				return result;
			} catch (error) {
				// An error without a code of the server is node's own: there is no connection, or it broke.
				const isToBeMended = error instanceof DatabaseError && TO_BE_MENDED.test(error.code);
				if (error instanceof DatabaseError && !isToBeMended && !MAY_PASS.test(error.code)) {
					throw error;
				}
				console.error(`trying again: ${error.code}: ${error.message}`);
				await this.disconnect();
				if (isToBeMended) {
					this.mayHaveProblem = true;
					await this.reportProblem(error.code, error.message);
				}
			}
			await this.disconnect();
			await sleep(pause);
		}
	}

	/** Reports the problem for which the feed waits; without a code, that the feed continues. */
	async reportProblem(code, message) {
		try {
			await (await this.connected()).query('SELECT yquota.report_feed_problem($1, $2, $3)', [this.source, code, message]);
		} catch (error) {
			console.error(`the problem cannot be reported: ${error.message}`);
			await this.disconnect();
		}
	}

	/** Sets aside a row that the server refuses, or that cannot even be sent. */
	async refuse(row, code, message, detail) {
		const json = JSON.stringify(row, (key, value) => value ?? undefined);
		console.error(`refused: SQLSTATE ${code}: ${message}: ${json}`);
		try {
			await this.untilDone((client) => client.query(REJECT, [this.source, json, code, message, detail]));
		} catch (error) {
			console.error(`it cannot be set aside: ${error.message}`);
		}
	}

	/** Sends events in one statement. If it fails, halves the batch until the bad event is alone. */
	async send(events) {
		try {
			await this.untilDone((client) => client.query(INSERT, [this.source, JSON.stringify(events)]));
		} catch (error) {
			if (events.length === 1) {
				await this.refuse(events[0], error.code, error.message, error.detail);
				return;
			}
			const middle = events.length >> 1;
			await this.send(events.slice(0, middle));
			await this.send(events.slice(middle));
		}
	}

	async sendFile(path) {
		const began = performance.now();
		let count = 0;
		let batch = [];

		for await (const line of readline.createInterface({ input: fs.createReadStream(path) })) {
			const values = line.split('\t');
			if (values.length !== COLUMNS.length) {
				await this.refuse({ line }, '22P02', `${values.length} values`);
				continue;
			}
			// Times stay text, because a Date of JavaScript has only milliseconds, and events have microseconds.
			batch.push(Object.fromEntries(COLUMNS.map((column, i) => [column, values[i] || null])));
			count++;
			if (batch.length === BATCH_EVENTS) {
				await this.send(batch);
				batch = [];
			}
		}
		if (batch.length > 0) {
			await this.send(batch);
		}
		console.error(`sent ${count} events in ${((performance.now() - began) / 1000).toFixed(1)} s`);
	}

	/** Prints the progress of the feed, and the rows that were set aside. */
	async report(client) {
		const status = await client.query(
			'SELECT events, waiting, rejected, rejected_calls FROM yquota.feed_status WHERE source = $1', [this.source]);
		for (const { events, waiting, rejected, rejected_calls } of status.rows) {
			console.log(`${events} events received, ${waiting} waiting, ${rejected} rejected, ${rejected_calls} set aside`);
		}
		const rejects = await client.query(`SELECT coalesce(container_id || ' ' || event, call ->> 'row') AS what, sqlstate, reason
			FROM yquota.my_rejects WHERE source = $1 AND NOT waiting ORDER BY 1`, [this.source]);
		for (const { what, sqlstate, reason } of rejects.rows) {
			console.log(`rejected: ${what} ${sqlstate} ${reason}`);
		}
	}
}

async function main() {
	if (process.argv.length !== 4) {
		throw new Error('usage: container_feed.js SOURCE FILE');
	}
	const feed = new Feed(process.argv[2]);
	await feed.sendFile(process.argv[3]);
	await feed.untilDone((client) => feed.report(client));
	await feed.disconnect();
}

main().catch((error) => {
	console.error(error.message);
	process.exit(1);
});
