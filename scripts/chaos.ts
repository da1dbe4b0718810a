/**
 * `npm run chaos -- --rounds 5000 --seed night`: relays in processes of their own, killed with SIGKILL at random moments, on PostgreSQL (which is
 * crashed and started again in the middle) and on SQLite. Ends with a ledger, and with 1 if anything was lost, repeated without a reason, out of order or
 * stuck. The same seed makes the same decisions; what the processes make of them is up to the machine.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Pool } from 'pg'
import { postgresStore, sqliteStore } from 'yaoki/outbox'
import { type Ground, makeRounds, type Totals } from '../test/outbox/chaos/rounds.ts'
import { startPostgres } from '../test/real-postgres.ts'

const { values } = parseArgs({
	options: { rounds: { type: 'string', default: '5000' }, seed: { type: 'string', default: 'yaoki' } },
})
const rounds = Number(values.rounds)
const { seed } = values
if (!Number.isSafeInteger(rounds) || rounds < 4)
	throw new Error(`--rounds: got '${values.rounds}'; takes a whole number, 4 or more`)

const totals: Totals = {
	rounds: 0,
	messages: 0,
	kills: 0,
	restarts: 0,
	repeats: 0,
	leasesLost: 0,
	faults: [],
}
const folder = await mkdtemp(join(tmpdir(), 'yaoki-chaos-'))
await using postgres = await startPostgres({ fsync: 'on' })
const pool = new Pool({ ...postgres.connection, max: 8 })
pool.on('error', () => {
	// The server is crashed on purpose.
})
try {
	// The restart hits whoever is on that server, so only one of the grounds on it asks for it, and they run one after the other.
	const half = Math.floor(rounds / 2)
	await Promise.all([
		run(await postgresGround('postgres'), 1, half),
		run(sqliteGround('sqlite'), 1, rounds - half),
	])
} finally {
	await pool.end()
	await rm(folder, { recursive: true, force: true })
}

console.log(
	[
		`seed ${seed}: ${totals.messages} messages in ${totals.rounds} rounds, ${totals.kills} relays killed, ${totals.restarts} crash of PostgreSQL`,
		`${totals.repeats} sent once more after a kill, ${totals.leasesLost} leases that a living relay could not keep`,
		...totals.faults,
	].join('\n'),
)
console.log(`${totals.rounds - totals.faults.length} passed, ${totals.faults.length} failed`)
process.exitCode = totals.faults.length > 0 ? 1 : 0

function run(ground: Ground, first: number, last: number): Promise<void> {
	return makeRounds(ground, first, last, seed, totals, () => {
		if (totals.rounds % 50 === 0) console.log(`${totals.rounds} rounds, ${totals.faults.length} faults`)
	})
}

async function postgresGround(name: string): Promise<Ground> {
	const schema = `chaos_${name}`
	return {
		...{ name, store: postgresStore({ client: pool, schema }) },
		order: { connection: postgres.connection, schema },
		async transaction(work) {
			const client = await pool.connect()
			let isBroken = false
			const onError = () => {
				isBroken = true
			}
			client.on('error', onError)
			try {
				await client.query('BEGIN')
				const answer = await work(client)
				await client.query('COMMIT')
				return answer
			} catch (error) {
				isBroken = true
				throw error
			} finally {
				client.release(isBroken)
				client.removeListener('error', onError)
			}
		},
		restart: () => postgres.restart(),
	}
}

function sqliteGround(name: string): Ground {
	const file = join(folder, `${name}.db`)
	const store = sqliteStore(file)
	// The application's own connection, beside the store's.
	const database = new DatabaseSync(file, { timeout: 10_000 })
	return {
		...{ name, store, order: { file } },
		async transaction(work) {
			database.exec('BEGIN IMMEDIATE')
			try {
				const answer = await work(database)
				database.exec('COMMIT')
				return answer
			} catch (error) {
				database.exec('ROLLBACK')
				throw error
			}
		},
	}
}
