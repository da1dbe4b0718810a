/** Claims by key of several messages each: a relay sends them one by one. */
import assert from 'node:assert/strict'
import { HOUR, idsOf, required } from '../../harness/assertions.ts'
import type { CaseTable } from '../../harness/harness.ts'
import { dead, release, retry, sent } from '../../harness/settlements.ts'

const ORDERED = { isOrdered: true }
const R2 = { owner: 'r2' }

const k = { key: 'k' }
const l = { key: 'l' }

const runOf = (perKey: number, ...keys: string[]) => ({ isOrdered: true, keys, perKey })

export const claimRuns: CaseTable = {
	'perKey returns the first messages of each key in enqueue order': async (t) => {
		const [k1, l1, k2, , l2] = await t.enqueue(k, l, k, k, l, {})
		const claimed = await t.claim(runOf(2, 'k', 'l'))
		const ofKey = (key: string) => idsOf(claimed.filter((row) => row.key === key))
		assert.deepEqual(
			[ofKey('k'), ofKey('l')],
			[
				[k1, k2],
				[l1, l2],
			],
		)
	},

	'a run is in enqueue order although its first message was retried and is due after the others': async (
		t,
	) => {
		const ids = await t.enqueue(k, k, k)
		await t.fail(0, ORDERED)
		await t.advance(1)
		assert.deepEqual(await t.claimIds(runOf(3, 'k')), ids)
	},

	'a run ends before a message that is not due': async (t) => {
		const [first, second] = await t.enqueue(k, k, { ...k, notBefore: (await t.now()) + HOUR }, k)
		assert.deepEqual(await t.claimIds(runOf(9, 'k')), [first, second])
	},

	'a run ends before a message in flight': async (t) => {
		const [, , third, fourth] = await t.enqueue(k, k, k, k)
		const [one, two, , four] = await t.claimMany(4)
		await t.settle([release(one), release(two), release(four)])
		const ids = await t.claimIds(runOf(9, 'k'))
		assert.ok(!ids.includes(third) && !ids.includes(fourth))
	},

	'a run ends before a message that a dead letter blocks': async (t) => {
		const [first, second] = await t.enqueue(k, k, k)
		const [one, two, three] = await t.claimMany(3)
		await t.settle([release(one), dead(two, { afterDeadLetter: 'block' }), release(three)])
		await t.expectMessage(second, { status: 'dead', blocks: true })
		assert.deepEqual(await t.claimIds(runOf(9, 'k')), [first])
	},

	'runs do not exceed the limit, and the first message of each key comes before followers': async (t) => {
		const [k1, , , l1] = await t.enqueue(k, k, k, l, l)
		const ids = await t.claimIds({ ...runOf(3, 'k', 'l'), limit: 3 })
		assert.equal(ids.length, 3)
		assert.ok(ids.includes(k1) && ids.includes(l1))
	},

	'another relay claims nothing of a key while a run of it is held, before and after its first message was sent':
		async (t) => {
			await t.enqueue(k, k, k, k)
			const run = await t.claim(runOf(3, 'k'))
			for (const row of run) {
				await t.expectClaim([], { ...ORDERED, ...R2 })
				await t.expectClaim([], { ...runOf(1, 'k'), ...R2 })
				await t.expectClaim([], { ...runOf(3, 'k'), ...R2 })
				await t.settle([sent(row)])
			}
			await t.claimMany(1, { ...ORDERED, ...R2 })
		},

	'a released run is claimed again from its first message, with refunded attempts': async (t) => {
		const ids = await t.enqueue(k, k, k)
		const [first, ...rest] = await t.claim(runOf(3, 'k'))
		await t.settle([...rest.map((row) => release(row)), retry(required(first, 'the first message'), HOUR)])
		await t.expectClaim([], { ...runOf(3, 'k'), ...R2 })
		await t.advance(HOUR)
		const again = await t.claim(runOf(3, 'k'))
		assert.deepEqual(
			again.map(({ id, attempt }) => [id, attempt]),
			ids.map((id, at) => [id, at === 0 ? 2 : 1]),
		)
	},

	'the rest of a released run becomes dead letters with its first message if so configured': async (t) => {
		const [, second, third] = await t.enqueue(k, k, k)
		const [first, ...rest] = await t.claim(runOf(3, 'k'))
		const died = dead(required(first, 'the first message'), { afterDeadLetter: 'dead-letter-rest' })
		await t.settle([...rest.map((row) => release(row)), died])
		for (const id of [second, third])
			await t.expectMessage(id, { status: 'dead', cause: 'predecessor-dead', attempts: 0 })
	},
}
