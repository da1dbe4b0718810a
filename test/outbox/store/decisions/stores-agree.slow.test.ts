/**
 * Decisions that all relays share. Both stores must reach the results of the pure functions: SQLite calls them, PostgreSQL evaluates tokens,
 * circuit changes and pauses in SQL. The same random sequence runs on the store and on the functions.
 */
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
	applyChange,
	applyOperatorChange,
	applyPause,
	type CircuitRecord,
	NO_CIRCUIT,
	toCircuit,
} from '../../../../src/outbox/store/decisions/circuit.ts'
import {
	filledParts,
	returnTokens,
	type TokenBucket,
	takeTokens,
} from '../../../../src/outbox/store/decisions/tokens.ts'
import type { SharedRate } from '../../../../src/outbox/store/rows.ts'
import type { OutboxStoreUnderTest } from '../../../../src/outbox/testing/index.ts'
import { openSqliteMemory } from '../open-sqlite.ts'
import { openOnPGlite } from '../postgres/opened.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Deterministic random integers below `limit`. */
const seeded = (seed: number): ((limit: number) => number) => {
	let state = seed
	return (limit) => {
		state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
		return Math.floor((state / 2_147_483_648) * limit)
	}
}

const RATES: readonly SharedRate[] = [
	{ limit: 1, intervalMs: HOUR, burst: 5 },
	{ limit: 3, intervalMs: 2 * HOUR, burst: 4 },
]

/** `toleranceMs` is 0 where only the test moves the clock. */
async function compareTokens({ store, advance }: OutboxStoreUnderTest, seed: number, toleranceMs: number) {
	const below = seeded(seed)
	let bucket: TokenBucket | undefined
	for (let step = 0; step < 60; step++) {
		const rate = RATES[below(RATES.length)] as SharedRate
		await advance(below(4) * 17 * MINUTE)
		// Keeps away from the moment at which the next token appears: a real clock runs on.
		const left = filledParts(bucket, rate, await store.now()) % rate.intervalMs
		if ((rate.intervalMs - left) / rate.limit < 2 * MINUTE) await advance(4 * MINUTE)
		const now = await store.now()
		const count = below(5)
		if (below(4) === 0) {
			await store.returnTokens('a', count, rate)
			bucket = returnTokens(bucket, count, rate, now)
			continue
		}
		const expected = takeTokens(bucket, count, rate, now)
		const grant = await store.acquireTokens('a', count, rate)
		expect(grant.granted, `step ${step}`).toBe(expected.granted)
		expect(Math.abs(grant.inMs - expected.inMs), `step ${step}`).toBeLessThanOrEqual(toleranceMs)
		bucket = expected.bucket
	}
}

async function compareCircuits({ store, advance }: OutboxStoreUnderTest, seed: number, toleranceMs: number) {
	const below = seeded(seed)
	const near = (actual: number | null, expected: number | null, what: string) => {
		expect(actual === null, what).toBe(expected === null)
		if (actual !== expected)
			expect(Math.abs((actual ?? 0) - (expected ?? 0)), what).toBeLessThanOrEqual(toleranceMs)
	}
	let record: CircuitRecord = NO_CIRCUIT
	for (let step = 0; step < 120; step++) {
		await advance(below(4) * HOUR)
		const now = await store.now()
		// Half hours, so that no pause ends while the clock of a real database runs on.
		const forMs = below(5) === 0 ? 0 : (below(6) + 0.5) * HOUR
		if (below(4) === 0) {
			const action = (['pause', 'resume', 'close-circuit'] as const)[below(3)] ?? 'pause'
			const change = { destination: 'a', by: 'ada', reason: null, action, forMs: forMs || Infinity }
			const after = applyOperatorChange(record, change, now)
			const { isChanged } = await store.changeByOperator(change)
			expect(isChanged, `step ${step}`).toBe(after !== undefined)
			record = after ?? record
		} else if (below(3) === 0) {
			await store.pause('a', forMs, 'retry-after')
			record = applyPause(record, forMs, 'retry-after', now) ?? record
		} else {
			const change = {
				destination: 'a',
				version: record.version - (below(5) === 0 ? 1 : 0),
				state: (['closed', 'open', 'half-open'] as const)[below(3)] ?? 'closed',
				pausedForMs: forMs,
				reason: 'circuit-open' as const,
				failedProbes: below(3),
				delayMs: below(1_000),
			}
			const after = applyChange(record, change, now)
			const { isApplied } = await store.changeCircuit(change)
			expect(isApplied, `step ${step}`).toBe(after !== undefined)
			record = after ?? record
		}
		const [circuit] = await store.circuits(['a'])
		if (record.version === 0) {
			expect(circuit).toBeUndefined()
			continue
		}
		const expected = toCircuit('a', record, await store.now())
		expect(circuit).toMatchObject({
			state: expected.state,
			reason: expected.reason,
			failedProbes: expected.failedProbes,
			delayMs: expected.delayMs,
			version: expected.version,
		})
		expect(circuit?.operatorPause?.by, `step ${step}`).toBe(expected.operatorPause?.by)
		near(circuit?.pausedForMs ?? null, expected.pausedForMs, `pausedForMs at step ${step}`)
		near(circuit?.closedAgoMs ?? null, expected.closedAgoMs, `closedAgoMs at step ${step}`)
	}
}

describe('a store agrees with the decisions', () => {
	let db: PGlite
	beforeAll(async () => {
		db = await PGlite.create()
	})
	afterAll(() => db?.close())

	const stores: readonly [string, () => Promise<OutboxStoreUnderTest>, number][] = [
		['SQLite', openSqliteMemory, 0],
		['PGlite', () => openOnPGlite(db), MINUTE],
	]

	describe.each(stores)('%s', (_, open, toleranceMs) => {
		test.each([1, 2, 3])(
			'grants and returns the tokens that the functions compute, seed %i',
			async (seed) => {
				const opened = await open()
				await opened.store.migrate()
				await compareTokens(opened, seed, toleranceMs)
				await opened.close()
			},
		)

		test.each([1, 2, 3])('changes circuits and pauses as the functions do, seed %i', async (seed) => {
			const opened = await open()
			await opened.store.migrate()
			await compareCircuits(opened, seed, toleranceMs)
			await opened.close()
		})
	})
})
