/**
 * `npm run chaos -- --rounds 5000 --seed night`: kills relay processes with SIGKILL at random moments, on PostgreSQL (whose server crashes and
 * restarts in the middle) and on SQLite. Exits with 1 if a message is lost, stuck, out of order, or sent again although its claim kept its lease.
 * The same seed makes the same decisions; their timing depends on the machine.
 *
 * `npm run chaos -- --kills 100 --lease-ms 1000`: kills relays without a pause, and exits with 1 if an innocent message became a dead letter.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Pool } from 'pg'
import { postgresOutboxStore, sqliteOutboxStore } from 'yaoki/outbox'
import { guardedFolder } from '../test/guard/guard.ts'
import { runKills } from '../test/outbox/chaos/kills.ts'
import { type ChaosDatabase, runRounds, type Totals } from '../test/outbox/chaos/rounds.ts'
import {
	RECORD_TAKEOVERS_IN_SQLITE,
	recordTakeoversInPostgres,
	TAKEOVER_COLUMNS,
	toTakeover,
} from '../test/outbox/chaos/takeovers.ts'
import { startPostgres } from '../test/support/real-postgres.ts'

const { values } = parseArgs({
	options: {
		rounds: { type: 'string', default: '5000' },
		seed: { type: 'string', default: 'yaoki' },
		kills: { type: 'string' },
		'lease-ms': { type: 'string', default: '1000' },
		'max-crashes': { type: 'string', default: '5' },
	},
})
const rounds = Number(values.rounds)
const { seed } = values
if (!Number.isSafeInteger(rounds) || rounds < 4)
	throw new Error(`Invalid --rounds: expected an integer of at least 4, got '${values.rounds}'`)

const totals: Totals = {
	rounds: 0,
	messages: 0,
	kills: 0,
	restarts: 0,
	duplicatesAfterKill: 0,
	duplicatesAfterLostLease: 0,
	deadLetters: 0,
	faults: [],
}
await using folder = await guardedFolder('yaoki-chaos-')
await using postgres = await startPostgres({ fsync: 'on' })
const pool = new Pool({ ...postgres.connection, max: 8 })
pool.on('error', () => {
	// The server crashes on purpose.
})
try {
	const databases = [postgresDatabase('postgres'), sqliteDatabase('sqlite')] as const
	if (values.kills === undefined) {
		const half = Math.floor(rounds / 2)
		await Promise.all([run(databases[0], half), run(databases[1], rounds - half)])
	} else for (const database of databases) await kill(database, Number(values.kills))
} finally {
	await pool.end()
}

if (values.kills === undefined) report()

function report(): void {
	console.log(
		[
			`Seed ${seed}: ${totals.messages} messages in ${totals.rounds} rounds, ${totals.kills} relays killed, PostgreSQL crashes: ${totals.restarts}`,
			`Duplicates after a kill: ${totals.duplicatesAfterKill}. Duplicates after a running relay lost its lease: ${totals.duplicatesAfterLostLease}.`,
			`Dead letters whose lease expired too often: ${totals.deadLetters}. Faults: ${totals.faults.length}.`,
			...totals.faults,
		].join('\n'),
	)
	console.log(`${totals.rounds - totals.faults.length} passed, ${totals.faults.length} failed`)
	process.exitCode = totals.faults.length > 0 ? 1 : 0
}

async function kill(database: ChaosDatabase, kills: number): Promise<void> {
	const [leaseMs, maxCrashes] = [Number(values['lease-ms']), Number(values['max-crashes'])]
	const { messages, crashed, left, lost } = await runKills(database, { kills, leaseMs, maxCrashes, seed })
	console.log(
		`${database.name}: ${kills} relays killed, lease ${leaseMs} ms, ${messages} messages. Innocent dead letters: ${crashed}. Left: ${left}. Lost: ${lost}.`,
	)
	if (crashed > 0 || left > 0 || lost > 0) process.exitCode = 1
}

function run(database: ChaosDatabase, count: number): Promise<void> {
	return runRounds(database, 1, count, seed, totals, () => {
		if (totals.rounds % 50 === 0) console.log(`${totals.rounds} rounds, ${totals.faults.length} faults`)
	})
}

function postgresDatabase(name: string): ChaosDatabase {
	const schema = `chaos_${name}`
	return {
		name,
		store: postgresOutboxStore({ client: pool, schema }),
		relayStore: { connection: postgres.connection, schema },
		async transaction(work) {
			const client = await pool.connect()
			let isBroken = false
			const onError = () => {
				isBroken = true
			}
			client.on('error', onError)
			try {
				await client.query('BEGIN')
				const result = await work(client)
				await client.query('COMMIT')
				return result
			} catch (error) {
				isBroken = true
				throw error
			} finally {
				client.release(isBroken)
				client.removeListener('error', onError)
			}
		},
		async recordTakeovers() {
			await pool.query(recordTakeoversInPostgres(schema))
		},
		async takeovers(ids) {
			const sql = `select ${TAKEOVER_COLUMNS} from ${schema}.takeovers where id = any($1)`
			return (await pool.query(sql, [ids])).rows.map(toTakeover)
		},
		restart: () => postgres.restart(),
	}
}

function sqliteDatabase(name: string): ChaosDatabase {
	const file = join(folder.path, `${name}.db`)
	// The application's own connection, separate from the store's.
	const database = new DatabaseSync(file, { timeout: 10_000 })
	return {
		name,
		store: sqliteOutboxStore(file),
		relayStore: { file },
		async transaction(work) {
			database.exec('BEGIN IMMEDIATE')
			try {
				const result = await work(database)
				database.exec('COMMIT')
				return result
			} catch (error) {
				database.exec('ROLLBACK')
				throw error
			}
		},
		async recordTakeovers() {
			database.exec(RECORD_TAKEOVERS_IN_SQLITE)
		},
		async takeovers(ids) {
			const sql = `select ${TAKEOVER_COLUMNS} from takeovers where id in (select value from json_each(?))`
			return database.prepare(sql).all(JSON.stringify(ids)).map(toTakeover)
		},
	}
}
