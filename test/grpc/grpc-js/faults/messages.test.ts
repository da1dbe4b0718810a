/** Messages and write callbacks of calls with several attempts. */
import { expect, test } from 'vitest'
import { hedging, retries } from '../../support/configs.ts'
import { FakeClient } from '../../support/fake-caller.ts'

test('responses that arrive from a discarded hedged request are not delivered', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: hedging(2) })
	const call = start()
	call.send('a')
	call.halfClose()
	await clock.advance(100)
	expect(call.attempts).toHaveLength(2)
	call.attempt(2).sendHeaders({ 'x-from': '2' })
	call.attempt(1).sendHeaders({ 'x-from': '1' })
	call.attempt(1).sendResponse('of 1')
	call.attempt(2).sendResponse('of 2')
	call.attempt(2).end(0)
	await clock.runUntilIdle()
	expect(call.events).toEqual(['headers {"x-from":"2"}', 'message of 2', 'status 0'])
	expect(call.attempt(1).cancels).toBe(1)
	expect(call.violations).toEqual([])
})

test('a discarded hedged request that is ahead does not take messages away from the committed one', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: hedging(2) })
	const call = start({ onAttempt: (attempt) => Object.assign(attempt, { isSlow: true }) })
	for (const message of ['a', 'b', 'c']) call.send(message)
	call.halfClose()
	await clock.advance(100)
	const [first, second] = [call.attempt(1), call.attempt(2)]
	first.acknowledge()
	expect(first.messages).toEqual(['a', 'b'])
	expect(second.messages).toEqual(['a'])
	second.sendHeaders()
	first.acknowledge()
	expect(first.messages).toEqual(['a', 'b'])
	for (let n = 0; n < 3; n++) second.acknowledge()
	expect(second.messages).toEqual(['a', 'b', 'c'])
	expect(second.isHalfClosed).toBe(true)
	second.end(0)
	await clock.runUntilIdle()
	expect(call.violations).toEqual([])
})

test.each([
	['retries', retries()],
	['hedging', hedging(2)],
	['no policy', undefined],
])('with %s the half-close waits until the last message is written', async (_, serviceConfig) => {
	// Regression: grpc-js 1.12.0 to 1.14.2 lost the last message of the stream, and the call ended with OK.
	const { clock, start } = useFakeClient({ serviceConfig })
	const call = start({ onAttempt: (attempt) => Object.assign(attempt, { isSlow: true }) })
	call.send('a')
	call.send('b')
	call.halfClose()
	await clock.advance(0)
	const attempt = call.attempt(1)
	attempt.acknowledge()
	expect(attempt.messages).toEqual(['a', 'b'])
	expect(attempt.isHalfClosed).toBe(false)
	attempt.acknowledge()
	expect(attempt.isHalfClosed).toBe(true)
	attempt.end(0)
	await clock.runUntilIdle()
	expect(call.violations).toEqual([])
})

test('a message above the buffer continues on the hedged request that has sent the most messages', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: hedging(2), maxBufferBytesPerCall: 1_000 })
	const call = start({ onAttempt: (attempt, number) => Object.assign(attempt, { isSlow: number === 1 }) })
	for (const message of ['a', 'b', 'c']) call.send(message)
	await clock.advance(100)
	expect(call.attempts.map(({ messages }) => messages.length)).toEqual([1, 3])
	call.send('d'.repeat(2_000))
	await clock.advance(0)
	expect(call.attempts.map(({ cancels }) => cancels)).toEqual([1, 0])
	expect(call.attempt(2).messages).toHaveLength(4)
	call.attempt(2).end(0)
	await clock.runUntilIdle()
	expect(call.events).toEqual(['status 0'])
})

test('writes after the end are acknowledged, so that a pipeline into the call ends', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: retries() })
	const call = start()
	call.attempt(1).end(3)
	await clock.runUntilIdle()
	expect(call.events).toEqual(['status 3'])
	call.send('late')
	await clock.runUntilIdle()
	expect(call.acknowledged).toEqual([1])
	expect(call.attempt(1).messages).toEqual([])
})

test('a write that the call has not sent is acknowledged at its end', async () => {
	const { clock, start } = useFakeClient({ bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
	start()
	const queued = start()
	queued.send('a')
	queued.cancel()
	await clock.runUntilIdle()
	expect(queued.events).toEqual(['status 1'])
	expect(queued.acknowledged).toEqual([1])
})

test('a write that grpc-js never acknowledges is acknowledged at the end of the call', async () => {
	const { clock, start } = useFakeClient()
	const call = start({ onAttempt: (attempt) => Object.assign(attempt, { isSlow: true }) })
	call.send('a')
	await clock.advance(0)
	expect(call.acknowledged).toEqual([0])
	call.cancel()
	await clock.runUntilIdle()
	expect(call.acknowledged).toEqual([1])
	call.attempt(1).acknowledge()
	expect(call.acknowledged).toEqual([1])
})

test('the flags of a message reach every attempt', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: retries() })
	const call = start()
	call.send('a', 2)
	call.send('b')
	await clock.advance(0)
	call.attempt(1).end(14)
	await clock.advance(200)
	expect(call.attempts.map(({ flags }) => flags)).toEqual([
		[2, undefined],
		[2, undefined],
	])
	call.cancel()
	await clock.runUntilIdle()
})

test('a message above the buffer during a wait is sent by the next attempt, and nothing stays buffered', async () => {
	const { clock, start, interceptor } = useFakeClient({
		serviceConfig: retries(),
		maxBufferBytesPerCall: 1_000,
	})
	const call = start()
	call.send('a'.repeat(500))
	await clock.advance(0)
	call.attempt(1).end(14)
	await clock.advance(0)
	expect(interceptor.stats.bufferedBytes).toBeGreaterThanOrEqual(500)
	call.send('b'.repeat(600))
	await clock.advance(200)
	expect(call.attempt(2).messages.map(({ length }) => length)).toEqual([500, 600])
	expect(interceptor.stats.bufferedBytes).toBe(0)
	call.attempt(2).end(14)
	await clock.runUntilIdle()
	expect(call.events).toEqual(['status 14'])
	expect(call.attempts).toHaveLength(2)
})

test('empty messages are bounded by the buffer too', async () => {
	const { clock, start, interceptor } = useFakeClient({
		serviceConfig: retries(),
		maxBufferBytesPerCall: 1_000,
	})
	const call = start()
	for (let n = 0; n < 1_000; n++) call.send('')
	await clock.advance(0)
	expect(call.attempt(1).messages).toHaveLength(1_000)
	call.attempt(1).end(14)
	await clock.runUntilIdle()
	expect(call.attempts).toHaveLength(1)
	expect(interceptor.stats.bufferedBytes).toBe(0)
})

test('an attempt that ends while it starts receives nothing more', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: retries() })
	const call = start({
		onAttempt: (attempt, number) => {
			const begin = attempt.start.bind(attempt)
			attempt.start = (...args) => {
				begin(...args)
				if (number === 2) attempt.end(3)
			}
		},
	})
	call.call.startRead()
	call.halfClose()
	call.attempt(1).end(14)
	await clock.runUntilIdle()
	expect(call.attempts).toHaveLength(2)
	expect(call.events).toEqual(['status 3'])
	expect(call.violations).toEqual([])
})

test('messages that the call is committed to are sent in linear time', async () => {
	const { clock, start } = useFakeClient({ serviceConfig: retries() })
	const call = start({ onAttempt: (attempt) => Object.assign(attempt, { isSlow: true }) })
	for (let n = 0; n < 5_000; n++) call.send(String(n))
	const attempt = call.attempt(1)
	attempt.sendHeaders()
	while (attempt.messages.length < 5_000) attempt.acknowledge()
	expect(attempt.messages.at(-1)).toBe('4999')
	attempt.end(0)
	await clock.runUntilIdle()
	expect(call.events).toEqual(['headers {}', 'status 0'])
})

function useFakeClient(...args: ConstructorParameters<typeof FakeClient>) {
	const client = new FakeClient(...args)
	const { clock, interceptor } = client
	return {
		clock,
		interceptor,
		start: (options?: Parameters<FakeClient['start']>[0]) => client.start(options),
	}
}
