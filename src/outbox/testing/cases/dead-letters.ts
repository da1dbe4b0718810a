/** What has died, counted and grouped by why. */
import assert from 'node:assert/strict'
import type { StoredError } from '../../message/message.ts'
import { type CaseTable, HOUR, MANY, near, the } from '../harness/harness.ts'

const note = (fingerprint: string, message = `failed as ${fingerprint}`): StoredError => ({
	type: 'Error',
	message,
	fingerprint,
})

export const deadLetters: CaseTable = {
	'without dead letters there is no group and no count': async (trial) => {
		await trial.enqueueOne()
		assert.deepEqual(await trial.store.deadGroups({}, MANY), [])
		assert.deepEqual(await trial.store.countDead({}, MANY), { count: 0, isCapped: false })
	},

	'what died of the same is one group, with the oldest as its example': async (trial) => {
		const started = await trial.now()
		const first = await trial.bury({}, { error: note('x', 'order 1 failed') })
		await trial.advance(HOUR)
		await trial.bury({}, { error: note('x', 'order 2 failed') })
		await trial.advance(HOUR)
		await trial.bury({}, { error: note('x', 'order 3 failed') })
		const groups = await trial.store.deadGroups({}, MANY)
		assert.equal(groups.length, 1)
		const { firstAt, lastAt, errorMessage, ...group } = the(groups[0], 'the group')
		assert.deepEqual(group, {
			fingerprint: 'x',
			cause: 'permanent',
			destination: 'a',
			errorType: 'Error',
			count: 3,
			exampleId: first,
		})
		near(firstAt, started, 'firstAt')
		near(lastAt, started + 2 * HOUR, 'lastAt')
		assert.match(errorMessage ?? '', /^order [123] failed$/)
	},

	'another fingerprint, cause or destination is another group, the greatest first': async (trial) => {
		for (let n = 0; n < 4; n++) await trial.bury({}, { error: note('x') })
		for (let n = 0; n < 3; n++) await trial.bury({}, { error: note('y') })
		for (let n = 0; n < 2; n++) await trial.bury({}, { error: note('x'), cause: 'retries-exhausted' })
		await trial.bury({ destination: 'b' }, { error: note('x') })
		const groups = await trial.store.deadGroups({}, MANY)
		assert.deepEqual(
			groups.map((group) => [group.count, group.fingerprint, group.cause, group.destination]),
			[
				[4, 'x', 'permanent', 'a'],
				[3, 'y', 'permanent', 'a'],
				[2, 'x', 'retries-exhausted', 'a'],
				[1, 'x', 'permanent', 'b'],
			],
		)
		assert.equal((await trial.store.deadGroups({}, 2)).length, 2)
		assert.deepEqual(
			(await trial.store.deadGroups({}, 2)).map((group) => group.count),
			[4, 3],
		)
	},

	'what died without an error is a group too': async (trial) => {
		await trial.bury({}, { cause: 'expired', error: null })
		await trial.bury({}, { cause: 'expired', error: null })
		const groups = await trial.store.deadGroups({}, MANY)
		assert.deepEqual(
			groups.map((group) => [group.count, group.cause, group.errorType, group.errorMessage]),
			[[2, 'expired', null, null]],
		)
		assert.equal(typeof groups[0]?.fingerprint, 'string')
	},

	'what a group says of itself finds its letters, with an error or without': async (trial) => {
		await trial.bury({}, { error: note('x') })
		await trial.bury({}, { error: note('x') })
		await trial.bury({}, { cause: 'expired', error: null })
		await trial.bury({ destination: 'b' }, { error: note('x') })
		const groups = await trial.store.deadGroups({}, MANY)
		assert.equal(groups.length, 3)
		for (const { fingerprint, cause, destination, count } of groups)
			assert.equal((await trial.store.countDead({ fingerprint, cause, destination }, MANY)).count, count)
	},

	'groups may be filtered': async (trial) => {
		await trial.bury({ topic: 't' }, { error: note('x') })
		await trial.bury({ topic: 'u' }, { error: note('x') })
		await trial.bury({ topic: 'u' }, { error: note('y') })
		const groups = await trial.store.deadGroups({ topic: 'u', fingerprint: 'x' }, MANY)
		assert.deepEqual(
			groups.map((group) => [group.fingerprint, group.count]),
			[['x', 1]],
		)
	},

	'counting ends at the limit and says so': async (trial) => {
		for (let n = 0; n < 5; n++) await trial.bury()
		assert.deepEqual(await trial.store.countDead({}, 3), { count: 3, isCapped: true })
		assert.deepEqual(await trial.store.countDead({}, 6), { count: 5, isCapped: false })
	},

	'only the dead that match are counted': async (trial) => {
		await trial.bury({ topic: 't' })
		await trial.bury({ topic: 'u' })
		await trial.enqueueOne({ topic: 't' })
		assert.equal((await trial.store.countDead({ topic: 't' }, MANY)).count, 1)
		assert.equal((await trial.store.countDead({ topic: 'x' }, MANY)).count, 0)
	},

	'what was replayed or discarded is not counted any more': async (trial) => {
		const [one, two] = [await trial.bury(), await trial.bury()]
		await trial.bury()
		await trial.store.replay({ ids: [one] }, MANY)
		await trial.store.discard({ ids: [two] }, MANY, true)
		assert.equal((await trial.store.countDead({}, MANY)).count, 1)
		assert.equal((await trial.store.deadGroups({}, MANY))[0]?.count, 1)
	},
}
