import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { reset } from '../faults/fault-server.ts'
import { BUSY, FINE, SENDERS, status } from './setup.ts'

const SCRIPT = [FINE, BUSY, FINE, reset('request-head'), FINE, status(404)] as const

test.each(SENDERS)(
	'over $name, the signal of the caller has no listener left after 1,000 requests of all endings',
	async ({ setup }) => {
		const { fetch, url, server, time } = await setup((request) => SCRIPT[request.n % 6] ?? FINE)
		const { signal } = new AbortController()
		for (let call = 0; call < 1_000; call++) await (await fetch(url, { signal })).text()
		expect(server.requests.length).toBeGreaterThan(1_000)
		expect(getEventListeners(signal, 'abort')).toEqual([])
		expect(time.pendingTimers).toBe(0)
	},
)
