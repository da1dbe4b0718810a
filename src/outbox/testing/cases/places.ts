/** So many at a time, all relays together: never more, and none of them is left without for long. */
import assert from 'node:assert/strict'
import type { PermitRequest } from '../../store/rows.ts'
import { type CaseTable, HOUR, MINUTE, type StoreHarness } from '../harness/harness.ts'

const request = (owner: string, wanted: number, total: number, inUse = 0): PermitRequest => ({
	destination: 'a',
	owner,
	wanted,
	inUse,
	total,
	leaseMs: HOUR,
})

const ask = (trial: StoreHarness, owner: string, wanted: number, total: number, inUse = 0): Promise<number> =>
	trial.store.acquirePermits(request(owner, wanted, total, inUse))

/** Every owner asks in turn, some times over. Answers what each has in the end; at no time they have too many. */
const rounds = async (
	trial: StoreHarness,
	owners: readonly string[],
	wanted: number,
	total: number,
): Promise<number[]> => {
	const has = new Map<string, number>()
	for (let round = 0; round < 4; round++)
		for (const owner of owners) {
			has.set(owner, await ask(trial, owner, wanted, total))
			const sum = [...has.values()].reduce((a, b) => a + b, 0)
			assert.ok(sum <= total, `${sum} places of ${total} are taken`)
		}
	return [...has.values()]
}

export const places: CaseTable = {
	'a relay alone gets what it wants, up to the total': async (trial) => {
		assert.equal(await ask(trial, 'r1', 4, 10), 4)
		assert.equal(await ask(trial, 'r1', 50, 10), 10)
		assert.equal(await ask(trial, 'r1', 3, 10), 3)
	},

	'never more than the others left is given': async (trial) => {
		assert.equal(await ask(trial, 'r1', 8, 10), 8)
		assert.equal(await ask(trial, 'r2', 10, 10), 2)
		assert.equal(await ask(trial, 'r3', 10, 10), 0)
	},

	'shares even out as relays ask again': async (trial) => {
		assert.equal(await ask(trial, 'r1', 10, 10), 10)
		assert.equal(await ask(trial, 'r2', 10, 10), 0)
		assert.equal(await ask(trial, 'r1', 10, 10), 5)
		assert.equal(await ask(trial, 'r2', 10, 10), 5)
	},

	"what a relay still sends is nobody else's, though it was told to come down": async (trial) => {
		assert.equal(await ask(trial, 'r1', 10, 10), 10)
		assert.equal(await ask(trial, 'r2', 10, 10), 0)
		assert.equal(await ask(trial, 'r1', 10, 10, 10), 5)
		assert.equal(await ask(trial, 'r2', 10, 10), 0)
		assert.equal(await ask(trial, 'r1', 10, 10, 7), 5)
		assert.equal(await ask(trial, 'r2', 10, 10), 3)
		assert.equal(await ask(trial, 'r1', 10, 10, 5), 5)
		assert.equal(await ask(trial, 'r2', 10, 10, 3), 5)
	},

	'who wants none any more keeps what it still sends until it is done': async (trial) => {
		await ask(trial, 'r1', 10, 10)
		assert.equal(await ask(trial, 'r1', 0, 10, 4), 0)
		const share = await ask(trial, 'r2', 10, 10)
		assert.ok(share >= 5 && share <= 6, `share ${share}`)
	},

	'three share ten without a rest that nobody uses': async (trial) => {
		const shares = await rounds(trial, ['r1', 'r2', 'r3'], 10, 10)
		assert.ok(Math.min(...shares) >= 3, `shares ${shares}`)
		assert.ok(Math.max(...shares) <= 4, `shares ${shares}`)
	},

	'who wants little leaves the rest to others': async (trial) => {
		await ask(trial, 'r1', 2, 10)
		await ask(trial, 'r2', 10, 10)
		assert.equal(await ask(trial, 'r1', 2, 10), 2)
		const share = await ask(trial, 'r2', 10, 10)
		assert.ok(share >= 5 && share <= 8, `share ${share}`)
	},

	'with more relays than places somebody has them all the same': async (trial) => {
		const shares = await rounds(trial, ['r1', 'r2', 'r3', 'r4', 'r5'], 4, 2)
		const sum = shares.reduce((a, b) => a + b, 0)
		assert.ok(sum >= 1, `shares ${shares}`)
	},

	'places come back when their relay is not heard of any more': async (trial) => {
		await ask(trial, 'r1', 10, 10)
		await trial.advance(HOUR + 1)
		assert.equal(await ask(trial, 'r2', 10, 10), 10)
	},

	'who asks again keeps its places': async (trial) => {
		await ask(trial, 'r1', 6, 10)
		for (let n = 0; n < 4; n++) {
			await trial.advance(40 * MINUTE)
			assert.equal(await ask(trial, 'r1', 6, 10), 6)
		}
		assert.ok((await ask(trial, 'r2', 10, 10)) <= 4)
	},

	'places come back when their relay leaves': async (trial) => {
		await ask(trial, 'r1', 10, 10)
		await trial.store.removeRelay('r1')
		assert.equal(await ask(trial, 'r2', 10, 10), 10)
	},

	'who wants none has none and takes none from others': async (trial) => {
		await ask(trial, 'r1', 10, 10)
		assert.equal(await ask(trial, 'r1', 0, 10), 0)
		assert.ok((await ask(trial, 'r2', 10, 10)) >= 5)
	},

	'a total that was lowered holds from then on': async (trial) => {
		await ask(trial, 'r1', 10, 10)
		assert.equal(await ask(trial, 'r2', 4, 4), 0)
		assert.ok((await ask(trial, 'r1', 10, 4)) <= 4)
	},

	'each destination has places of its own': async (trial) => {
		await ask(trial, 'r1', 10, 10)
		assert.equal(await trial.store.acquirePermits({ ...request('r1', 10, 10), destination: 'b' }), 10)
	},

	'a second store shares the same places': async (trial) => {
		const other = await trial.other()
		await ask(trial, 'r1', 7, 10)
		assert.equal(await other.acquirePermits(request('r2', 10, 10)), 3)
	},

	'those that ask at the same time get no more together': async (trial) => {
		const other = await trial.other()
		for (let round = 0; round < 4; round++) {
			const shares = await Promise.all(
				['r1', 'r2', 'r3', 'r4', 'r5'].map((owner, n) =>
					(n % 2 ? other : trial.store).acquirePermits(request(owner, 8, 10)),
				),
			)
			// Who is answered first may have to come down at the next asking; what counts is each one's latest word.
			const settled: number[] = []
			for (const owner of ['r1', 'r2', 'r3', 'r4', 'r5']) settled.push(await ask(trial, owner, 8, 10))
			assert.ok(shares.reduce((a, b) => a + b, 0) <= 10, `shares ${shares}`)
			assert.ok(settled.reduce((a, b) => a + b, 0) <= 10, `shares ${settled}`)
		}
	},

	'whoever asks, leaves or dies in whatever order: there are never more than the total': async (trial) => {
		const has = new Map<string, number>()
		let chance = 12_345
		const below = (limit: number): number => {
			chance = (chance * 1_103_515_245 + 12_345) % 2_147_483_648
			return Math.floor((chance / 2_147_483_648) * limit)
		}
		for (let step = 0; step < 120; step++) {
			const owner = `r${below(6)}`
			const move = below(10)
			if (move === 0) {
				await trial.store.removeRelay(owner)
				has.delete(owner)
			} else if (move === 1) {
				await trial.advance(HOUR + 1)
				has.clear()
			} else {
				// It goes on with some of what it has, and may fill what it is told.
				const inUse = below((has.get(owner) ?? 0) + 1)
				has.set(owner, Math.max(inUse, await ask(trial, owner, below(12), 9, inUse)))
			}
			const sum = [...has.values()].reduce((a, b) => a + b, 0)
			assert.ok(sum <= 9, `${sum} places of 9 are taken at step ${step}`)
		}
	},
}
