/** What the outbox promises about the user's transaction, as tests that run with each database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import type { OutboxStore } from '../../../src/outbox/store/store.ts'
import type { Queryable } from '../../../src/sql/clients.ts'

export interface Opened {
	readonly store: OutboxStore
	/** Runs `work` in a transaction of the user and ends it by `end`. */
	inTransaction(end: 'COMMIT' | 'ROLLBACK', work: (tx: Queryable) => Promise<unknown>): Promise<void>
	/** A client that commits each statement. */
	readonly outside: Queryable
	close(): Promise<void>
}

export function testTransactions(name: string, open: () => Promise<Opened>): void {
	describe(`with ${name}`, () => {
		let opened: Opened

		beforeAll(async () => {
			opened = await open()
			await opened.store.migrate()
		}, 120_000)

		afterAll(() => opened?.close(), 120_000)

		function outboxOf(outsideTransaction: 'warn' | 'reject' = 'warn') {
			const warnings: string[] = []
			const { store } = opened
			return {
				warnings,
				outbox: new Outbox({ store, outsideTransaction, onWarning: (text) => warnings.push(text) }),
			}
		}

		test('a committed message is stored without a warning and wakes the local relay', async () => {
			const { outbox, warnings } = outboxOf()
			let ids: readonly string[] = []
			const woken = new Promise<void>((wake) => {
				outbox.attach({ serves: (to) => to === 'mail', wake, stop: async () => {} })
			})
			await opened.inTransaction('COMMIT', async (tx) => {
				const messages = Array.from({ length: 3 }, (_, payload) => ({ topic: 'mail', payload, key: 'k' }))
				ids = (await outbox.enqueue(messages, { tx })).map(({ id }) => id)
			})
			await woken
			for (const [index, id] of ids.entries())
				expect(await outbox.find(id)).toMatchObject({
					id,
					payload: index,
					destination: 'mail',
					status: 'pending',
				})
			expect(warnings).toEqual([])
		})

		test('a rolled back message is not stored', async () => {
			const { outbox } = outboxOf()
			let id = ''
			await opened.inTransaction('ROLLBACK', async (tx) => {
				id = (await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx })).id
			})
			expect(await outbox.find(id)).toBeUndefined()
		})

		test('a rejected message does not abort the transaction', async () => {
			const { outbox } = outboxOf('reject')
			let id = ''
			await opened.inTransaction('COMMIT', async (tx) => {
				await expect(outbox.enqueue({ topic: 'mail', payload: 1n }, { tx })).rejects.toThrow('bigint')
				id = (await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx })).id
			})
			expect(await outbox.find(id)).toBeDefined()
		})

		test('NUL, lone surrogates and strings of maximum length are preserved', async () => {
			const { outbox } = outboxOf()
			const payload = { text: 'a\0b\ud800', ['\udc00']: ['日本', '\ud83d\ude00', -0.5, 2 ** 53, null, true] }
			// Varied bytes, which an index cannot compress.
			const long = (bytes: number) =>
				Array.from({ length: bytes }, (_, i) => ((i * 7919) % 36).toString(36)).join('')
			const texts = { topic: long(255), destination: long(255), key: long(1_024), dedupeKey: long(1_024) }
			const headers = { 'x-Odd~name': '日本', ['__proto__']: 'a' }
			const message = { ...texts, payload, headers, maxRetries: 2 ** 31 - 2 }
			const { id } = await outbox.enqueue(message, { withoutTransaction: true })
			expect(await outbox.find(id)).toMatchObject(message)
			expect(await outbox.enqueue(message, { withoutTransaction: true })).toEqual({ id, isDuplicate: true })
		})

		test('warns or rejects without a tx', async () => {
			const { outbox, warnings } = outboxOf()
			await outbox.enqueue({ topic: 'mail', payload: 1 })
			expect(warnings).toHaveLength(1)
			const strict = outboxOf('reject').outbox
			await expect(strict.enqueue({ topic: 'mail', payload: 1 })).rejects.toMatchObject({
				reason: 'outside-transaction',
			})
		})

		test('warns or rejects for a tx without an open transaction', async () => {
			const { outbox, warnings } = outboxOf()
			await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx: opened.outside })
			expect(warnings).toEqual([expect.stringContaining('no open transaction')])
			const strict = outboxOf('reject').outbox
			const before = (await outbox.list({}, { limit: 1_000 })).length
			await expect(
				strict.enqueue({ topic: 'mail', payload: 1 }, { tx: opened.outside }),
			).rejects.toMatchObject({ reason: 'outside-transaction' })
			expect(await outbox.list({}, { limit: 1_000 })).toHaveLength(before)
		})

		test('rejects a tx of another database', async () => {
			const { outbox } = outboxOf()
			const query = () => Promise.resolve({ rows: [] })
			const prepare = () => ({ all: () => [] })
			const tx = name === 'SQLite' ? { query } : { prepare }
			await expect(outbox.enqueue({ topic: 'mail', payload: 1 }, { tx })).rejects.toMatchObject({
				reason: 'wrong-database',
			})
		})
	})
}
