/**
 * Messages enqueued by transactions of every isolation level. A snapshot does not show what other
 * transactions commit later, so a store that only reads would enqueue a second message for a key. It must
 * return the duplicate or reject, as databases do with SQLSTATE 40001.
 */
import assert from 'node:assert/strict'
import type { Queryable } from '../../../sql/clients.ts'
import { type CaseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { sent } from '../harness/settlements.ts'

const d = { dedupeKey: 'd' }

/** Runs the case at each level, on keys of their own. */
const atEachLevel =
	(check: (t: StoreHarness, level: string, dedupeKey: string) => Promise<void>) =>
	async (t: StoreHarness): Promise<void> => {
		for (const level of t.opened.isolationLevels ?? []) {
			try {
				await check(t, level, `d ${level}`)
			} catch (error) {
				throw new assert.AssertionError({ message: `at the level ${level}: ${error}` })
			}
		}
	}

/** Inserts a message after `before`, which the snapshot misses. Returns the key's holder, or the error. */
async function insertAfter(
	t: StoreHarness,
	level: string,
	dedupeKey: string,
	before: () => Promise<unknown>,
): Promise<string | Error> {
	const row = t.row({ dedupeKey, destination: 'late' })
	const work = async (tx: Queryable): Promise<string> => {
		await before()
		const { duplicates } = await t.store.insert([t.row(), row], tx)
		return duplicates.get(row.id) ?? row.id
	}
	return t.transaction(work, 'commit', level).catch((error: Error) => error)
}

/** Asserts that the key belongs to `id`: either the insert found it, or it rejected and inserted nothing. */
async function expectHolder(t: StoreHarness, found: string | Error, id: string): Promise<void> {
	if (typeof found === 'string') assert.equal(found, id)
	assert.deepEqual(await t.list({ destination: 'late' }), [])
}

const send = async (t: StoreHarness, keepHistory: boolean): Promise<void> =>
	t.settle((await t.claim({ limit: MANY })).map(sent), keepHistory)

const sentAfterSnapshot = (keepHistory: boolean) =>
	atEachLevel(async (t, level, dedupeKey) => {
		let id = ''
		const found = await insertAfter(t, level, dedupeKey, async () => {
			id = await t.enqueueOne({ dedupeKey })
			await send(t, keepHistory)
		})
		await expectHolder(t, found, id)
		const again = t.row({ dedupeKey })
		const { duplicates } = await t.transaction((tx) => t.store.insert([again], tx), 'commit', level)
		assert.equal(duplicates.get(again.id), id)
	})

export const isolation: CaseTable = {
	'never enqueues a second message for a key that was sent after the snapshot': sentAfterSnapshot(false),

	'never enqueues a second message for a key that was sent after the snapshot, with history':
		sentAfterSnapshot(true),

	'never enqueues a second message for a key that was enqueued after the snapshot': atEachLevel(
		async (t, level, dedupeKey) => {
			let id = ''
			const found = await insertAfter(t, level, dedupeKey, async () => {
				id = await t.enqueueOne({ dedupeKey })
			})
			await expectHolder(t, found, id)
			await t.expectStatus('pending', [id])
		},
	),

	'finds a duplicate that was sent before the snapshot': atEachLevel(async (t, level, dedupeKey) => {
		const id = await t.enqueueOne({ dedupeKey })
		await send(t, false)
		assert.equal(await insertAfter(t, level, dedupeKey, async () => {}), id)
	}),

	'finds its own message as a duplicate': atEachLevel(async (t, level, dedupeKey) => {
		const [first, again] = [t.row({ dedupeKey }), t.row({ dedupeKey })]
		const { duplicates } = await t.transaction(
			async (tx) => {
				await t.store.insert([first], tx)
				return t.store.insert([again], tx)
			},
			'commit',
			level,
		)
		assert.deepEqual([...duplicates], [[again.id, first.id]])
	}),

	'a rolled back transaction leaves its key free': atEachLevel(async (t, level, dedupeKey) => {
		await t.transaction((tx) => t.store.insert([t.row({ dedupeKey })], tx), 'rollback', level)
		const row = t.row({ dedupeKey })
		const { duplicates } = await t.transaction((tx) => t.store.insert([row], tx), 'commit', level)
		assert.equal(duplicates.size, 0)
		await t.expectStatus('pending', [row.id])
	}),

	'inserts messages without a dedupe key at every level, whatever was committed after the snapshot':
		atEachLevel(async (t, level) => {
			const row = t.row({ key: 'k' })
			const work = async (tx: Queryable): Promise<void> => {
				await t.store.insert([row, t.row()], tx)
			}
			await t.enqueue({ key: 'k' }, d)
			await t.transaction(work, 'commit', level)
			await t.expectStatus('pending', [row.id])
			await t.discard({}, MANY, false)
		}),
}
