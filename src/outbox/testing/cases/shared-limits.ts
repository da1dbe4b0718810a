/**
 * Limits that all relays share: a token bucket, and permits, of which there are never more than the total, in
 * fair shares. There is one token per hour, so that a slow machine makes no difference.
 */
import assert from 'node:assert/strict'
import type { PermitRequest, SharedRate } from '../../store/rows.ts'
import { HOUR, MINUTE, sum } from '../harness/assertions.ts'
import type { CaseTable, StoreHarness } from '../harness/harness.ts'

/** One token per hour, with a burst of ten. */
const RATE: SharedRate = { limit: 5, intervalMs: 5 * HOUR, burst: 10 }

const take = async (t: StoreHarness, count: number, rate = RATE): Promise<number> =>
	(await t.store.acquireTokens('a', count, rate)).granted

/** Asserts how many tokens each request gets. A number is a time that passes before the next request. */
const expectTokens = async (
	t: StoreHarness,
	...steps: readonly (readonly [count: number, granted: number] | number)[]
): Promise<void> => {
	for (const step of steps)
		if (typeof step === 'number') await t.advance(step)
		else assert.equal(await take(t, step[0]), step[1])
}

export const tokens: CaseTable = {
	'grants the burst immediately, and nothing beyond': (t) => expectTokens(t, [4, 4], [4, 4], [4, 2], [4, 0]),

	'never grants more than the burst in one request': (t) => expectTokens(t, [1_000, 10]),

	'refills at the rate': (t) => expectTokens(t, [10, 10], HOUR, [10, 1], 3 * HOUR, [10, 3], [1, 0]),

	'keeps fractions of a token when asked too early': async (t) => {
		await take(t, 10)
		for (let n = 0; n < 3; n++) await expectTokens(t, [1, 0], 20 * MINUTE)
		assert.equal(await take(t, 1), 1)
	},

	'holds no more than the burst after any idle time': (t) =>
		expectTokens(t, [10, 10], 1_000 * HOUR, [1_000, 10]),

	'returns when the next token is available': async (t) => {
		await take(t, 10)
		await t.advance(15 * MINUTE)
		const { granted, inMs } = await t.store.acquireTokens('a', 2, RATE)
		assert.equal(granted, 0)
		assert.ok(inMs > 40 * MINUTE && inMs <= 45 * MINUTE, `in ${inMs} ms`)
		await t.advance(Math.ceil(inMs))
		assert.equal(await take(t, 1), 1)
	},

	'returns the time to the next token after a partial grant': async (t) => {
		const { granted, inMs } = await t.store.acquireTokens('a', 12, RATE)
		assert.equal(granted, 10)
		assert.ok(inMs > 0 && inMs <= HOUR, `in ${inMs} ms`)
	},

	'accepts unused tokens back': async (t) => {
		await take(t, 10)
		await t.store.returnTokens('a', 3, RATE)
		assert.equal(await take(t, 10), 3)
	},

	'holds no more than the burst after tokens were returned': async (t) => {
		await take(t, 2)
		await t.store.returnTokens('a', 50, RATE)
		assert.equal(await take(t, 1_000), 10)
	},

	'holds no more than the burst after a return to an unused bucket': async (t) => {
		await t.store.returnTokens('a', 5, RATE)
		assert.equal(await take(t, 1_000), 10)
	},

	'keeps one bucket per destination': async (t) => {
		await take(t, 10)
		assert.equal((await t.store.acquireTokens('b', 10, RATE)).granted, 10)
	},

	'shares the bucket between stores': async (t) => {
		const other = await t.other()
		assert.equal((await other.acquireTokens('a', 7, RATE)).granted, 7)
		assert.equal(await take(t, 10), 3)
	},

	'concurrent requests get the burst together and no more': async (t) => {
		const grants = await t.concurrently(8, (store) => store.acquireTokens('a', 3, RATE))
		assert.equal(sum(grants.map(({ granted }) => granted)), 10)
	},

	'grants one at a time with a burst of one': async (t) => {
		const single = { limit: 1, intervalMs: HOUR, burst: 1 }
		assert.equal(await take(t, 5, single), 1)
		assert.equal(await take(t, 5, single), 0)
		await t.advance(5 * HOUR)
		assert.equal(await take(t, 5, single), 1)
	},

	'grants exactly the rate over a long time': async (t) => {
		let granted = 0
		for (let n = 0; n < 40; n++) {
			granted += await take(t, 3)
			await t.advance(30 * MINUTE)
		}
		// The burst and one an hour for the 19.5 hours until the last take, and not less either.
		assert.equal(granted, 29)
	},

	'acquiring tokens creates no circuit': async (t) => {
		await take(t, 50)
		assert.deepEqual(await t.store.circuits(['a']), [])
		await t.enqueueOne()
		await t.claimOne()
		const change = { state: 'open', pausedForMs: HOUR, reason: null, failedProbes: 0, delayMs: 0 } as const
		const { isApplied } = await t.store.changeCircuit({ destination: 'a', version: 0, ...change })
		assert.equal(isApplied, true)
	},

	'circuit and bucket of a destination are independent': async (t) => {
		await take(t, 8)
		await t.store.pause('a', HOUR, 'retry-after')
		assert.equal(await take(t, 5), 2)
		assert.equal((await t.store.circuits(['a']))[0]?.reason, 'retry-after')
	},
}

const request = (owner: string, wanted: number, total: number, inUse = 0): PermitRequest => ({
	destination: 'a',
	owner,
	wanted,
	inUse,
	total,
	leaseMs: HOUR,
})

const OWNERS = ['r1', 'r2', 'r3', 'r4', 'r5']

const ask = (t: StoreHarness, owner: string, wanted: number, total: number, inUse = 0): Promise<number> =>
	t.store.acquirePermits(request(owner, wanted, total, inUse))

/** A relay asks for permits of ten, of which it uses some, and is granted a number. */
type Step = readonly [owner: string, wanted: number, granted: number, inUse?: number]

const expectPermits = async (t: StoreHarness, ...steps: readonly Step[]): Promise<void> => {
	for (const [owner, wanted, granted, inUse] of steps)
		assert.equal(await ask(t, owner, wanted, 10, inUse), granted, `${owner} wants ${wanted}`)
}

/** Every owner asks in turn, four times. Returns the final grants; together they never exceed the total. */
const rounds = async (
	t: StoreHarness,
	owners: readonly string[],
	wanted: number,
	total: number,
): Promise<number[]> => {
	const has = new Map<string, number>()
	for (let round = 0; round < 4; round++)
		for (const owner of owners) {
			has.set(owner, await ask(t, owner, wanted, total))
			assert.ok(sum(has.values()) <= total, `${sum(has.values())} of ${total} permits granted`)
		}
	return [...has.values()]
}

export const permits: CaseTable = {
	'grants a single relay what it wants, up to the total': (t) =>
		expectPermits(t, ['r1', 4, 4], ['r1', 50, 10], ['r1', 3, 3]),

	'grants no more than the other relays leave': (t) =>
		expectPermits(t, ['r1', 8, 8], ['r2', 10, 2], ['r3', 10, 0]),

	'balances shares as relays ask again': (t) =>
		expectPermits(t, ['r1', 10, 10], ['r2', 10, 0], ['r1', 10, 5], ['r2', 10, 5]),

	'does not grant permits that another relay still uses': async (t) => {
		await expectPermits(t, ['r1', 10, 10], ['r2', 10, 0], ['r1', 10, 5, 10], ['r2', 10, 0])
		await expectPermits(t, ['r1', 10, 5, 7], ['r2', 10, 3], ['r1', 10, 5, 5], ['r2', 10, 5, 3])
	},

	'keeps permits in use recorded for a relay that wants none': (t) =>
		expectPermits(t, ['r1', 10, 10], ['r1', 0, 0, 4], ['r2', 10, 6]),

	'divides ten among three relays as 4, 3, 3': async (t) =>
		assert.deepEqual(await rounds(t, ['r1', 'r2', 'r3'], 10, 10), [4, 3, 3]),

	'leaves the rest to others if a relay wants less than its share': (t) =>
		expectPermits(t, ['r1', 2, 2], ['r2', 10, 8], ['r1', 2, 2], ['r2', 10, 8]),

	'grants two permits to two of five relays': async (t) =>
		assert.deepEqual(await rounds(t, OWNERS, 4, 2), [1, 1, 0, 0, 0]),

	'returns permits when the lease of their relay expires': async (t) => {
		await expectPermits(t, ['r1', 10, 10])
		await t.advance(HOUR + 1)
		await expectPermits(t, ['r2', 10, 10])
	},

	'keeps the permits of a relay that asks again': async (t) => {
		await expectPermits(t, ['r1', 6, 6])
		for (let n = 0; n < 4; n++) {
			await t.advance(40 * MINUTE)
			await expectPermits(t, ['r1', 6, 6])
		}
		await expectPermits(t, ['r2', 10, 4])
	},

	'returns permits when their relay is removed': async (t) => {
		await expectPermits(t, ['r1', 10, 10])
		await t.store.removeRelay('r1')
		await expectPermits(t, ['r2', 10, 10])
	},

	'grants nothing to a relay that wants none, and takes nothing from others': (t) =>
		expectPermits(t, ['r1', 10, 10], ['r1', 0, 0], ['r2', 10, 10]),

	'applies a lowered total from then on': async (t) => {
		await ask(t, 'r1', 10, 10)
		assert.equal(await ask(t, 'r2', 4, 4), 0)
		assert.equal(await ask(t, 'r1', 10, 4), 2)
	},

	'counts permits per destination': async (t) => {
		await ask(t, 'r1', 10, 10)
		assert.equal(await t.store.acquirePermits({ ...request('r1', 10, 10), destination: 'b' }), 10)
	},

	'shares permits between stores': async (t) => {
		const other = await t.other()
		await ask(t, 'r1', 7, 10)
		assert.equal(await other.acquirePermits(request('r2', 10, 10)), 3)
	},

	'concurrent requests get no more than the total': async (t) => {
		for (let round = 0; round < 4; round++) {
			const shares = await t.concurrently(5, (store, n) => store.acquirePermits(request(`r${n + 1}`, 8, 10)))
			// An early answer may shrink at the next request; only the latest grant of each relay counts.
			const settled: number[] = []
			for (const owner of OWNERS) settled.push(await ask(t, owner, 8, 10))
			assert.ok(sum(shares) <= 10, `shares ${shares}`)
			assert.ok(sum(settled) <= 10, `shares ${settled}`)
		}
	},

	'never grants more than the total in any order of requests, removals and crashes': async (t) => {
		const has = new Map<string, number>()
		let state = 12_345
		const below = (limit: number): number => {
			state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
			return Math.floor((state / 2_147_483_648) * limit)
		}
		for (let step = 0; step < 120; step++) {
			const owner = `r${below(6)}`
			const move = below(10)
			if (move === 0) {
				await t.store.removeRelay(owner)
				has.delete(owner)
			} else if (move === 1) {
				await t.advance(HOUR + 1)
				has.clear()
			} else {
				// The relay keeps using some of its permits and may use all that it is granted.
				const inUse = below((has.get(owner) ?? 0) + 1)
				has.set(owner, Math.max(inUse, await ask(t, owner, below(12), 9, inUse)))
			}
			assert.ok(sum(has.values()) <= 9, `${sum(has.values())} of 9 permits granted at step ${step}`)
		}
	},
}
