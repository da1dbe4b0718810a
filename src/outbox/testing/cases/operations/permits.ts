/** Permits that all relays share: never more than the total, in fair shares. */
import assert from 'node:assert/strict'
import type { PermitRequest } from '../../../store/rows.ts'
import { HOUR, MINUTE, sum } from '../../harness/assertions.ts'
import type { CaseTable, StoreHarness } from '../../harness/harness.ts'

const request = (owner: string, wanted: number, total: number, inUse = 0): PermitRequest => ({
	...{ destination: 'a', owner, wanted, inUse, total, leaseMs: HOUR },
})

const OWNERS = ['r1', 'r2', 'r3', 'r4', 'r5']

const ask = (t: StoreHarness, owner: string, wanted: number, total: number, inUse = 0): Promise<number> =>
	t.store.acquirePermits(request(owner, wanted, total, inUse))

/** A relay asks for permits of ten, of which it uses some, and is granted a number. */
type Step = readonly [owner: string, wanted: number, granted: number, inUse?: number]

const expectGrants = async (t: StoreHarness, ...steps: readonly Step[]): Promise<void> => {
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
		expectGrants(t, ['r1', 4, 4], ['r1', 50, 10], ['r1', 3, 3]),

	'grants no more than the other relays leave': (t) =>
		expectGrants(t, ['r1', 8, 8], ['r2', 10, 2], ['r3', 10, 0]),

	'balances shares as relays ask again': (t) =>
		expectGrants(t, ['r1', 10, 10], ['r2', 10, 0], ['r1', 10, 5], ['r2', 10, 5]),

	'does not grant permits that another relay still uses': async (t) => {
		await expectGrants(t, ['r1', 10, 10], ['r2', 10, 0], ['r1', 10, 5, 10], ['r2', 10, 0])
		await expectGrants(t, ['r1', 10, 5, 7], ['r2', 10, 3], ['r1', 10, 5, 5], ['r2', 10, 5, 3])
	},

	'keeps permits in use recorded for a relay that wants none': (t) =>
		expectGrants(t, ['r1', 10, 10], ['r1', 0, 0, 4], ['r2', 10, 6]),

	'divides ten among three relays as 4, 3, 3': async (t) =>
		assert.deepEqual(await rounds(t, ['r1', 'r2', 'r3'], 10, 10), [4, 3, 3]),

	'leaves the rest to others if a relay wants less than its share': (t) =>
		expectGrants(t, ['r1', 2, 2], ['r2', 10, 8], ['r1', 2, 2], ['r2', 10, 8]),

	'grants two permits to two of five relays': async (t) =>
		assert.deepEqual(await rounds(t, OWNERS, 4, 2), [1, 1, 0, 0, 0]),

	'returns permits when the lease of their relay expires': async (t) => {
		await expectGrants(t, ['r1', 10, 10])
		await t.advance(HOUR + 1)
		await expectGrants(t, ['r2', 10, 10])
	},

	'keeps the permits of a relay that asks again': async (t) => {
		await expectGrants(t, ['r1', 6, 6])
		for (let n = 0; n < 4; n++) {
			await t.advance(40 * MINUTE)
			await expectGrants(t, ['r1', 6, 6])
		}
		await expectGrants(t, ['r2', 10, 4])
	},

	'returns permits when their relay is removed': async (t) => {
		await expectGrants(t, ['r1', 10, 10])
		await t.store.removeRelay('r1')
		await expectGrants(t, ['r2', 10, 10])
	},

	'grants nothing to a relay that wants none, and takes nothing from others': (t) =>
		expectGrants(t, ['r1', 10, 10], ['r1', 0, 0], ['r2', 10, 10]),

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
