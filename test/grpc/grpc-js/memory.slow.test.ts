/** Calls that end in every way, in virtual time: they leave no timer, no listener and no memory behind. */
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { heapBytes } from '../../support/heap.ts'
import { hedging, retries } from '../support/configs.ts'
import { type FakeCaller, FakeClient } from '../support/fake-caller.ts'

const CALLS = 10_000
const BATCH = 500

type Kind = (client: FakeClient) => void

/** Ends every attempt that has not ended. */
const endAll = ({ attempts }: FakeCaller, code: number): void => {
	for (const attempt of attempts) if (!attempt.isEnded) attempt.end(code)
}

const start = (client: FakeClient): FakeCaller => {
	const call = client.start({ deadline: client.clock.wallNow() + 1_000 })
	call.send('a'.repeat(100))
	call.halfClose()
	return call
}

const KINDS: Readonly<Record<string, Kind>> = {
	'that succeed': (client) => endAll(start(client), 0),
	'that fail': (client) => endAll(start(client), 13),
	'that are retried': (client) => {
		const call = start(client)
		endAll(call, 14)
		client.clock.setTimer(300, () => endAll(call, 0))
	},
	'that are cancelled': (client) => start(client).cancel(),
	'that are cancelled during a wait': (client) => {
		const call = start(client)
		endAll(call, 14)
		client.clock.setTimer(50, () => call.cancel())
	},
	'that pass their deadline': (client) => void start(client),
}

describe.each([
	['retries', retries(3)],
	['hedging', hedging(3)],
])('%s', (_, serviceConfig) => {
	test.each(Object.entries(KINDS))('10,000 calls %s leave nothing behind', async (__, startCall) => {
		const { signal } = new AbortController()
		const client = new FakeClient({
			serviceConfig,
			circuitBreaker: { failureThreshold: 1e9 },
			bulkhead: { maxConcurrent: 100, maxQueue: BATCH },
			budget: true,
			getContext: () => ({ signal }),
		})
		const { clock, interceptor } = client
		const run = async (calls: number) => {
			for (let done = 0; done < calls; done += BATCH) {
				for (let n = 0; n < BATCH; n++) startCall(client)
				await clock.runUntilIdle()
			}
		}
		await run(2 * BATCH)
		const before = await heapBytes()
		await run(CALLS)
		expect(clock.pendingTimers).toBe(0)
		expect(getEventListeners(signal, 'abort')).toHaveLength(0)
		expect(interceptor.stats).toMatchObject({
			calls: CALLS + 2 * BATCH,
			bufferedBytes: 0,
			bulkhead: { concurrent: 0, queued: 0 },
		})
		expect((await heapBytes()) - before).toBeLessThan(1_000_000)
	})
})
