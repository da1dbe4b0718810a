/** The cost of an explanation in queues of millions. */
import { describe, expect, it } from 'vitest'
import { explainMessage } from '../../../src/outbox/diagnostics/why.ts'
import { FakeStore, idOf, letter, message } from './fake-store.ts'

describe('explainMessage', () => {
	it('counts at most 1,000 messages', async () => {
		const store = new FakeStore([message({ id: idOf(50) })])
		await explainMessage(store, store, idOf(50))
		expect(Math.max(...store.statsLimits)).toBe(1_000)
	})

	it('counts only the message’s own destination', async () => {
		const store = new FakeStore([message({ id: idOf(50) }), message({ id: idOf(51), destination: 'mail' })])
		await explainMessage(store, store, idOf(50))
		expect(store.statsOf).toEqual(['billing'])
	})

	it('counts nothing for sent and dead messages', async () => {
		const store = new FakeStore([letter(50)])
		await explainMessage(store, store, idOf(50))
		expect(store.statsOf).toEqual([])
	})
})
