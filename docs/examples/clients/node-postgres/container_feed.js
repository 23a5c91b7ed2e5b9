#!/usr/bin/env node
/*
 * Sends a file of container events to yquota with node-postgres, a batch as JSON in one INSERT.
 *
 *     container_feed.js SOURCE FILE
 *
 * SOURCE is the name of the feed. A line of FILE is one event: the values of COLUMNS, separated by tabs; an empty
 * value is one that is not known. libpq's variables (PGHOST, PGDATABASE, PGUSER, ...) say where the database is.
 *
 * A batch of which the answer is lost is sent again, and so may be the whole file: what yquota knows already changes
 * nothing. The exit status is 0 when all events are sent; those that the server refuses for good are printed, and set
 * aside in yquota.feed_reject.
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

// Classes and codes of SQLSTATE: what may pass, and what an administrator has to mend. All else is refused for good.
const MAY_PASS = /^(08|40|53(?!400)|57|58|25006|55P03)/;
const TO_BE_MENDED = /^(28|3D|3F|XX|42501|42883|42P01)/;

const REJECT = `SELECT yquota.reject_call($1, jsonb_build_object('table', 'yquota.container_event', 'row', $2::jsonb), $3, $4, $5)`;

class Feed {
	constructor(source) {
		this.source = source;
		this.client = null;
		// one that was reported before this program began
		this.mayHaveProblem = true;
	}

	async connected() {
		if (this.client === null) {
			const client = new Client({
				application_name: 'container_feed', connectionTimeoutMillis: 10000, query_timeout: 60000, keepAlive: true,
			});
			// A connection that breaks between two statements fails the next one.
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

	/** Does work, again and again while that fails for a reason that may pass or be mended. */
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
				// An error that is not the server's is node's own: no connection, or one that broke.
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

	/** Tells what the feed waits for; without a code, that it goes on. */
	async reportProblem(code, message) {
		try {
			await (await this.connected()).query('SELECT yquota.report_feed_problem($1, $2, $3)', [this.source, code, message]);
		} catch (error) {
			console.error(`the problem cannot be reported: ${error.message}`);
			await this.disconnect();
		}
	}

	/** Sets a row aside that the server refuses, or that cannot even be sent. */
	async refuse(row, code, message, detail) {
		const json = JSON.stringify(row, (key, value) => value ?? undefined);
		console.error(`refused: SQLSTATE ${code}: ${message}: ${json}`);
		try {
			await this.untilDone((client) => client.query(REJECT, [this.source, json, code, message, detail]));
		} catch (error) {
			console.error(`it cannot be set aside: ${error.message}`);
		}
	}

	/** Sends events in one statement; where one fails it, halves until that event stands alone. */
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
			// Times stay text: a Date of JavaScript has milliseconds, the events have microseconds.
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

	/** Prints how far the feed is, and what the books could not take of what it sent. */
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
