import { describe, expect, test } from 'vitest'
import { Outbox } from 'yaoki/outbox'
import { openSqliteMemory } from '../store/open-sqlite.ts'

const COUNT = 2_500

/** An outbox with more messages than one batch changes, all scheduled for later. */
async function open() {
	const under = await openSqliteMemory()
	await under.store.migrate()
	const outbox = new Outbox({ store: under.store, outsideTransaction: 'allow' })
	const notBefore = new Date((await under.store.now()) + 3_600_000)
	const messages = Array.from({ length: COUNT }, () => ({ topic: 't', payload: 0, notBefore }))
	const ids = (await outbox.enqueue(messages)).map(({ id }) => id)
	return { outbox, ids, [Symbol.asyncDispose]: () => under.close() }
}

describe.each(['expire', 'retry'] as const)('%s of many messages', (method) => {
	test('reports its progress after each batch', async () => {
		await using t = await open()
		const done: number[] = []
		const onProgress = (progress: { readonly done: number }) => done.push(progress.done)
		expect(await t.outbox[method]({ ids: t.ids }, { onProgress })).toBe(COUNT)
		expect(done).toEqual([1_000, 2_000, 2_500])
	})

	test('ends before the next batch when the signal is aborted, and returns what it has changed', async () => {
		await using t = await open()
		const abort = new AbortController()
		const options = { onProgress: () => abort.abort(), signal: abort.signal }
		expect(await t.outbox[method]({ ids: t.ids }, options)).toBe(1_000)
		const changed = (await t.outbox.list({}, { limit: COUNT })).filter(({ nextRetryAt, expiresAt }) =>
			method === 'expire' ? expiresAt !== undefined : (nextRetryAt?.getTime() ?? 0) <= Date.UTC(2026, 0, 1),
		)
		expect(changed).toHaveLength(1_000)
	})

	test('rejects a signal that cannot be observed', async () => {
		await using t = await open()
		const options = { signal: {} as AbortSignal }
		await expect(t.outbox[method]({ ids: t.ids }, options)).rejects.toThrow('"signal"')
	})
})
