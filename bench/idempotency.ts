/**
 * What idempotency keys cost: replays from memory, replays from PostgreSQL beside a bare SELECT of the same row on the same pool, and the round trips of a
 * first request.
 */
import pg from 'pg'
import {
	type IdempotencyStore,
	idempotency,
	memoryIdempotencyStore,
	postgresIdempotencyStore,
	type StoredResponse,
} from 'yaoki/idempotency'
import { column, type Report, times } from './figure.ts'
import { median } from './harness.ts'
import { openServer } from './outbox/postgres.ts'

const RESPONSE: StoredResponse = {
	status: 201,
	headers: [['content-type', 'application/json']],
	body: new TextEncoder().encode(JSON.stringify({ id: 'ch_1', amount: 1_200, note: 'x'.repeat(400) })),
}
const IDENTITY = { principal: 'user-7', method: 'POST', route: '/charges', key: 'k-1' }
const FINGERPRINT = 'the hash of a request'

/** An engine whose store has the response of one key. */
async function completedEngine(store: IdempotencyStore) {
	const engine = idempotency({ name: 'bench', store, principal: () => IDENTITY.principal })
	const begun = await engine.begin(IDENTITY, FINGERPRINT)
	if (begun.kind !== 'run') throw new Error(`expected a first run, got ${begun.kind}`)
	await engine.complete(begun.claim, RESPONSE)
	return engine
}

const ROUNDS = 15
const REPLAYS = 100_000

export async function idempotencyMemory(): Promise<Report> {
	const engine = await completedEngine(memoryIdempotencyStore())
	const rates: number[] = []
	for (let round = 0; round < ROUNDS; round++) {
		const startedAt = performance.now()
		for (let left = REPLAYS; left > 0; left--) await engine.begin(IDENTITY, FINGERPRINT)
		rates.push((REPLAYS / (performance.now() - startedAt)) * 1_000)
	}
	const rate = median(rates)
	const shown = `${Math.round(rate).toLocaleString('en-US')}/s`
	return {
		title: 'Idempotency: replays from memory, one after the other',
		lines: [column('engine.begin', shown)],
		figures: [
			{
				figure: 'idempotency, replays from memory',
				asked: 'at least 200,000 a second',
				measured: shown,
				reached: rate >= 200_000,
			},
		],
		data: rates,
	}
}

const LATENCIES = 20_000

export async function idempotencyPostgres(): Promise<Report> {
	await using server = await openServer()
	const pool = new pg.Pool({ connectionString: await server.database('idempotency'), max: 4 })
	try {
		const store = postgresIdempotencyStore({ client: pool })
		await store.migrate()
		const engine = await completedEngine(store)
		const { rows } = await pool.query('select id from yaoki.idempotency_keys')
		const select = {
			name: 'bench_bare_select',
			text: 'select state, status, headers, body from yaoki.idempotency_keys where id = $1',
			values: [rows[0].id],
		}
		const contenders = {
			'bare SELECT': () => pool.query(select),
			replay: () => engine.begin(IDENTITY, FINGERPRINT),
		}
		const latencies = await inTurns(contenders, LATENCIES)
		const [bare = Number.NaN, replay = Number.NaN] = latencies.map(({ p50 }) => p50)
		const trips = await countTrips(pool)
		return {
			title: `Idempotency on PostgreSQL: latency of a replay beside a bare SELECT of its row (${server.about})`,
			lines: latencies.map(({ name, p50, p99 }) =>
				column(name, `p50 ${p50.toFixed(3)} ms`, `p99 ${p99.toFixed(3)} ms`),
			),
			figures: [
				{
					figure: 'idempotency, replay from PostgreSQL to a bare SELECT, p50',
					asked: 'at most 1.5 x',
					measured: times(replay / bare),
					reached: replay / bare <= 1.5,
				},
				{
					figure: 'idempotency, round trips of a first request before and after the handler',
					asked: '1 and 1',
					measured: `${trips.before} and ${trips.after}`,
					reached: trips.before === 1 && trips.after === 1,
				},
			],
			data: { latencies, trips },
		}
	} finally {
		await pool.end()
	}
}

/** Runs the contenders in turns, one call each, so that all see the same machine. */
async function inTurns(contenders: Readonly<Record<string, () => Promise<unknown>>>, count: number) {
	const measured = Object.entries(contenders).map(([name, run]) => ({ name, run, ms: [] as number[] }))
	for (let turn = 0; turn < count * 1.1; turn++)
		for (const { run, ms } of measured) {
			const startedAt = performance.now()
			await run()
			// The first tenth is warm-up.
			if (turn >= count * 0.1) ms.push(performance.now() - startedAt)
		}
	return measured.map(({ name, ms }) => {
		ms.sort((a, b) => a - b)
		const at = (share: number) => ms[Math.floor(ms.length * share)] ?? Number.NaN
		return { name, p50: at(0.5), p99: at(0.99) }
	})
}

/** Counts the statements that a first request sends. */
async function countTrips(pool: pg.Pool): Promise<{ before: number; after: number }> {
	let sent = 0
	const counting = new Proxy(pool, {
		get(target, name) {
			const member = Reflect.get(target, name, target)
			if (typeof member !== 'function') return member
			return (...args: unknown[]) => {
				if (name === 'query' || name === 'connect') sent++
				return member.apply(target, args)
			}
		},
	})
	const engine = idempotency({
		name: 'bench',
		store: postgresIdempotencyStore({ client: counting }),
		principal: () => 'user-8',
	})
	// The first statement of a store may check the database.
	await engine.begin({ ...IDENTITY, key: 'k-2' }, FINGERPRINT)
	sent = 0
	const begun = await engine.begin({ ...IDENTITY, key: 'k-3' }, FINGERPRINT)
	const before = sent
	if (begun.kind === 'run') await engine.complete(begun.claim, RESPONSE)
	return { before, after: sent - before }
}
