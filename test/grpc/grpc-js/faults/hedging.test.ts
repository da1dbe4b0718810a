/** Hedged requests whose ends coincide with each other, with the next request or with the deadline. */
import { expect, test } from 'vitest'
import { explain } from 'yaoki'
import { hedging } from '../../support/configs.ts'
import { FakeClient } from '../../support/fake-caller.ts'

test.each([true, false])(
	'a request that fails with a pushback while the next one is due does not add a request (observed: %s)',
	async (isObserved) => {
		const client = new FakeClient({ serviceConfig: hedging(2), isObserved })
		const call = client.start()
		client.clock.setTimer(100, () => call.attempt(1).end(14, { pushback: '30' }))
		await client.clock.advance(99)
		client.clock.runTimers(1)
		await client.clock.advance(1_000)
		expect(call.attempts).toHaveLength(2)
		call.attempt(2).end(0)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 0'])
	},
)

test.each([
	['the call itself', {}, 'open'],
	['the calling request', { isInherited: true }, 'closed'],
])(
	'the deadline of %s passes after another request was answered first: DEADLINE_EXCEEDED',
	async (_, given, state) => {
		const client = new FakeClient({
			serviceConfig: hedging(2),
			circuitBreaker: { failureThreshold: 1 },
			countedDeadlineMs: 200,
		})
		const { clock } = client
		const deadlineMs = 'isInherited' in given ? undefined : clock.wallNow() + 200
		const parent = {
			getDeadline: () => clock.wallNow() + 200,
			on: () => {},
			removeListener: () => {},
		}
		const call = client.start(deadlineMs === undefined ? { parent } : { deadline: deadlineMs })
		await clock.advance(100)
		call.attempt(2).sendHeaders()
		// Only the call's own timer reports the deadline.
		await clock.advance(99)
		const second = call.attempt(2)
		second.end = () => {}
		await clock.advance(1)
		expect(call.events).toEqual(['headers {}', 'status 4'])
		expect(call.status?.cause).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
		expect(explain(call.error)?.stop).toBe('deadline')
		expect(client.interceptor.stats.circuits['']?.state).toBe(state)
	},
)

test('a hedged call whose requests all fail ends with the status of the first one', async () => {
	const client = new FakeClient({ serviceConfig: hedging(2) })
	const call = client.start()
	await client.clock.advance(100)
	call.attempt(1).end(14, { details: 'first' })
	await client.clock.advance(10)
	expect(call.events).toEqual([])
	call.attempt(2).end(14, { details: 'second' })
	await client.clock.runUntilIdle()
	expect(call.events).toEqual(['status 14'])
	expect(call.status?.details).toBe('first')
})
