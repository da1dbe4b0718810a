/** Which messages are meant. */
import assert from 'node:assert/strict'
import type { StoreFilter } from '../../store/store.ts'
import { type CaseTable, HOUR, idsOf, MANY, type StoreHarness, sorted } from '../harness/harness.ts'
import { sent } from '../harness/settlements.ts'

const listed = async (trial: StoreHarness, filter: StoreFilter): Promise<string[]> =>
	sorted(idsOf(await trial.store.list(filter, MANY)))

export const filters: CaseTable = {
	'ids mean these, dead or alive, and an empty list means none': async (trial) => {
		const [one, two] = await trial.enqueue({ destination: 'b' }, { destination: 'b' })
		const dead = await trial.bury()
		assert.deepEqual(await listed(trial, { ids: [two ?? '', dead, trial.id()] }), sorted([two ?? '', dead]))
		assert.deepEqual(await listed(trial, { ids: [one ?? ''], status: 'dead' }), [])
		assert.deepEqual(await listed(trial, { ids: [] }), [])
		assert.equal((await trial.store.countDead({ ids: [] }, MANY)).count, 0)
	},

	'what is left out or undefined does not matter': async (trial) => {
		const id = await trial.enqueueOne()
		const nothing = { ids: undefined, status: undefined, topic: undefined, key: undefined, since: undefined }
		assert.deepEqual(await listed(trial, nothing), [id])
	},

	'a topic, a destination and a key mean exactly that': async (trial) => {
		const [x, y, z] = await trial.enqueue(
			{ topic: 't', destination: 'a', key: 'k' },
			{ topic: 'T', destination: 'A', key: 'K' },
			{ topic: 't', destination: 'b' },
		)
		assert.deepEqual(await listed(trial, { topic: 't' }), sorted([x ?? '', z ?? '']))
		assert.deepEqual(await listed(trial, { destination: 'A' }), [y])
		assert.deepEqual(await listed(trial, { key: 'k' }), [x])
		assert.deepEqual(await listed(trial, { topic: 't', destination: 'b' }), [z])
		assert.deepEqual(await listed(trial, { topic: 't', key: 'K' }), [])
	},

	'they hold for dead letters and for the history too': async (trial) => {
		const dead = await trial.bury({ topic: 't', key: 'k' })
		await trial.bury({ topic: 'u', key: 'l' })
		const gone = await trial.enqueueOne({ topic: 't', key: 'k' })
		await trial.enqueueOne({ topic: 'u', key: 'l' })
		await trial.settle((await trial.claim()).map(sent), true)
		assert.deepEqual(await listed(trial, { status: 'dead', topic: 't', key: 'k' }), [dead])
		assert.deepEqual(await listed(trial, { status: 'sent', topic: 't', key: 'k', destination: 'a' }), [gone])
		assert.deepEqual(await listed(trial, { status: 'sent', topic: 't', key: 'l' }), [])
	},

	'a cause means dead letters that died of it': async (trial) => {
		const expired = await trial.bury({}, { cause: 'expired' })
		await trial.bury({}, { cause: 'permanent' })
		await trial.enqueueOne()
		assert.deepEqual(await listed(trial, { cause: 'expired' }), [expired])
		assert.deepEqual(await listed(trial, { cause: 'crashed' }), [])
		assert.equal((await trial.store.countDead({ cause: 'expired' }, MANY)).count, 1)
	},

	'a fingerprint means what failed like that': async (trial) => {
		const note = { type: 'Error', message: 'm', fingerprint: 'f-1' }
		const dead = await trial.bury({}, { error: note })
		await trial.bury({}, { error: { ...note, fingerprint: 'f-2' } })
		await trial.enqueueOne()
		assert.deepEqual(await listed(trial, { fingerprint: 'f-1', status: 'dead' }), [dead])
		assert.deepEqual(await listed(trial, { fingerprint: 'f-9' }), [])
	},

	'since includes its time and until does not, by when a message was enqueued': async (trial) => {
		const first = await trial.enqueueOne()
		await trial.advance(HOUR)
		const second = await trial.enqueueOne()
		const at = (await trial.find(second)).createdAt
		assert.deepEqual(await listed(trial, { since: at }), [second])
		assert.deepEqual(await listed(trial, { since: at + 1 }), [])
		assert.deepEqual(await listed(trial, { until: at }), [first])
		assert.deepEqual(await listed(trial, { until: at + 1 }), sorted([first, second]))
		assert.deepEqual(await listed(trial, { since: at - 2 * HOUR, until: at - HOUR / 2 }), [first])
	},

	'of dead letters the time is when they died': async (trial) => {
		const early = await trial.enqueueOne()
		await trial.advance(5 * HOUR)
		const dead = await trial.bury({ destination: 'b' })
		await trial.advance(5 * HOUR)
		const [row] = await trial.claim()
		assert.ok(row)
		await trial.settle([
			{ type: 'dead', id: early, attempt: 1, cause: 'expired', error: null, afterDeadLetter: 'block' },
		])
		const at = (await trial.find(early)).endedAt ?? 0
		assert.deepEqual(await listed(trial, { since: at }), [early])
		assert.deepEqual(await listed(trial, { status: 'dead', until: at }), [dead])
		assert.equal((await trial.store.countDead({ since: at + 1 }, MANY)).count, 0)
		assert.deepEqual(await trial.store.replay({ since: at }, MANY), [early])
	},

	'every filter holds for a replay': async (trial) => {
		const note = { type: 'Error', message: 'm', fingerprint: 'f-1' }
		const meant = { topic: 't', destination: 'b', key: 'k' }
		const id = await trial.bury(meant, { cause: 'expired', error: note })
		const at = (await trial.find(id)).endedAt ?? 0
		const all: StoreFilter = {
			...meant,
			ids: [id],
			cause: 'expired',
			fingerprint: 'f-1',
			since: at,
			until: at + 1,
		}
		const wrong: readonly StoreFilter[] = [
			{ ids: [trial.id()] },
			{ topic: 'x' },
			{ destination: 'x' },
			{ key: 'x' },
			{ cause: 'predecessor-dead' },
			{ fingerprint: 'x' },
			{ since: at + 1 },
			{ until: at },
		]
		for (const part of wrong) {
			assert.deepEqual(await trial.store.replay({ ...all, ...part }, MANY), [], JSON.stringify(part))
			assert.deepEqual(await trial.store.discard({ ...all, ...part }, MANY, false), [], JSON.stringify(part))
		}
		assert.deepEqual(await trial.store.replay(all, MANY), [id])
	},

	'texts with signs that SQL knows are only texts': async (trial) => {
		await trial.enqueue({ topic: 'plain' }, { key: 'plain' })
		for (const text of ["' OR 1=1 --", '%', '_', '"', '\\', '$1', '?1', ':a', '*'])
			for (const name of ['topic', 'destination', 'key', 'fingerprint'] as const)
				assert.deepEqual(await listed(trial, { [name]: text }), [], `${name} ${text}`)
	},

	'ids that are no ids find nothing and harm nothing': async (trial) => {
		const id = await trial.enqueueOne()
		assert.equal(await trial.store.find('no id at all'), undefined)
		assert.deepEqual(await listed(trial, { ids: ['no id at all', id, ''] }), [id])
	},
}
