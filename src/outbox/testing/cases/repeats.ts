/**
 * An outcome that is written down twice: the first was committed, its answer was lost with the connection, and the relay says it again. Meanwhile the same
 * relay may have the same message in the same attempt again, for giving back refunds the attempt and a replay starts anew.
 */
import assert from 'node:assert/strict'
import type { ClaimedRow, Settlement } from '../../store/rows.ts'
import { type CaseTable, HOUR, MANY, MINUTE, type StoreHarness } from '../harness/harness.ts'
import { claimRef, dead, release, retry, sent } from '../harness/settlements.ts'

/** Says it twice, with a claim by the same owner between. Answers that claim. */
const twice = async (
	trial: StoreHarness,
	outcome: Settlement,
	between: () => Promise<unknown>,
): Promise<ClaimedRow> => {
	await trial.settle([outcome])
	await trial.advance(MINUTE)
	await between()
	const again = await trial.claimOne()
	assert.deepEqual(await trial.store.settle('r1', [outcome], false), [again.id])
	return again
}

const nothing = async (): Promise<void> => {}

export const repeats: CaseTable = {
	'a release that is said again does not free the later claim of the same relay': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		const again = await twice(trial, release(row), nothing)
		assert.equal(again.attempt, row.attempt)
		const found = await trial.find(id)
		assert.deepEqual([found.status, found.lockedBy, found.attempts], ['processing', 'r1', 1])
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), [])
		await trial.settle([sent(again)])
	},

	'nor does one for later': async (trial) => {
		const id = await trial.enqueueOne()
		const outcome = release(await trial.claimOne(), 0)
		const before = await twice(trial, outcome, nothing)
		const found = await trial.find(id)
		assert.deepEqual([found.status, found.dueAt], ['processing', before.dueAt])
	},

	'a death that is said again does not bury what was replayed': async (trial) => {
		const id = await trial.enqueueOne({ key: 'k' })
		const outcome = dead(await trial.claimOne(), { afterDeadLetter: 'dead-letter-rest' })
		const again = await twice(trial, outcome, () => trial.store.replay({ ids: [id] }, 1))
		assert.equal((await trial.find(id)).status, 'processing')
		await trial.settle([sent(again)])
	},

	'a failure that is said again does not end the attempt of what was replayed': async (trial) => {
		const id = await trial.enqueueOne()
		const first = await trial.claimOne()
		await trial.settle([retry(first, 0)])
		await trial.settle([dead(await trial.claimOne())])
		await trial.advance(MINUTE)
		await trial.store.replay({ ids: [id] }, MANY)
		await trial.claimOne()
		assert.deepEqual(await trial.store.settle('r1', [retry(first, HOUR)], false), [id])
		assert.equal((await trial.find(id)).status, 'processing')
	},

	'a renewed lease is the same claim': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		await trial.advance(MINUTE)
		assert.deepEqual(await trial.store.renew('r1', HOUR, [claimRef(row)]), [])
		await trial.settle([release(row)])
		assert.equal((await trial.find(id)).attempts, 0)
	},

	'an outcome that does not say when its message was claimed counts by owner and attempt': async (trial) => {
		const id = await trial.enqueueOne()
		const { attempt } = await trial.claimOne()
		await trial.settle([{ type: 'release', id, attempt }])
		assert.equal((await trial.find(id)).status, 'pending')
	},
}
