/** Why a message was not sent is asked of queues of millions. */
import { describe, expect, it } from 'vitest'
import { whyNotSent } from '../../../src/outbox/diagnostics/why.ts'
import { FakeStore, idOf, letter, message } from './fake-store.ts'

describe('why a message was not sent', () => {
	it('costs the same in a queue of any length: nothing is counted beyond 1,000', async () => {
		const store = new FakeStore([message({ id: idOf(50) })])
		await whyNotSent(store, idOf(50))
		expect(Math.max(...store.statsLimits)).toBe(1_000)
	})

	it('counts its own destination alone: with a thousand of them all were counted for one sentence', async () => {
		const store = new FakeStore([message({ id: idOf(50) }), message({ id: idOf(51), destination: 'mail' })])
		await whyNotSent(store, idOf(50))
		expect(store.statsOf).toEqual(['billing'])
	})

	it('counts nothing for what was sent or is dead', async () => {
		const store = new FakeStore([letter(50)])
		await whyNotSent(store, idOf(50))
		expect(store.statsOf).toEqual([])
	})
})
