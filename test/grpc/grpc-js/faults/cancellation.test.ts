/** The end of a call from the caller's side, in each phase: immediate, one status, and nothing is sent afterwards. */
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { Deadline, explain } from 'yaoki'
import { hedging, retries } from '../../support/configs.ts'
import { type FakeCaller, FakeClient } from '../../support/fake-caller.ts'

const client = (...args: ConstructorParameters<typeof FakeClient>) => new FakeClient(...args)

async function expectCancelled(call: FakeCaller, { clock, interceptor }: FakeClient, attempts: number) {
	await clock.advance(0)
	expect(call.events.at(-1)).toBe('status 1')
	expect(call.attempts).toHaveLength(attempts)
	await clock.runUntilIdle()
	expect(call.statuses).toHaveLength(1)
	expect(call.attempts).toHaveLength(attempts)
	expect(call.violations).toEqual([])
	expect(interceptor.stats).toMatchObject({ bufferedBytes: 0, failures: 1 })
	expect(explain(call.error)).toBeDefined()
}

describe('a caller that cancels', () => {
	test('ends the call before an outer interceptor has started it', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.create()
		call.cancel()
		call.start()
		call.send('a')
		call.halfClose()
		await expectCancelled(call, fake, 0)
	})

	test('ends the call in the bulkhead queue', async () => {
		const fake = client({ bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
		const first = fake.start()
		const call = fake.start()
		call.send('a')
		call.cancel()
		await expectCancelled(call, fake, 0)
		expect(fake.interceptor.stats.bulkhead).toMatchObject({ queued: 0 })
		first.attempt(1).end(0)
		await fake.clock.runUntilIdle()
	})

	test('ends the call during the first attempt', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.start()
		call.send('a')
		await fake.clock.advance(10)
		call.cancel()
		await expectCancelled(call, fake, 1)
		expect(call.attempt(1).cancels).toBe(1)
	})

	test('ends the call during a backoff wait', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.start()
		call.send('a')
		call.attempt(1).end(14)
		await fake.clock.advance(10)
		call.cancel()
		await expectCancelled(call, fake, 1)
	})

	test('ends the call between the status of an attempt and the wait', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.start()
		call.send('a')
		call.attempt(1).end(14)
		call.cancel()
		await expectCancelled(call, fake, 1)
	})

	test('ends the call after the wait and before the next attempt', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.start()
		call.attempt(1).end(14, { pushback: '50' })
		fake.clock.setTimer(50, () => call.cancel())
		await fake.clock.advance(49)
		fake.clock.runTimers(1)
		call.cancel()
		await expectCancelled(call, fake, 1)
	})

	test('ends the call during streaming', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.start()
		call.send('a')
		call.attempt(1).sendHeaders()
		call.attempt(1).sendResponse('b')
		call.cancel()
		call.attempt(1).sendResponse('c')
		await expectCancelled(call, fake, 1)
		call.attempt(1).sendResponse('d')
		expect(call.events).toEqual(['headers {}', 'message b', 'status 1'])
	})

	test('ends the call while hedged requests are in flight and another one is due', async () => {
		const fake = client({ serviceConfig: hedging(3) })
		const call = fake.start()
		call.send('a')
		await fake.clock.advance(199)
		expect(call.attempts).toHaveLength(2)
		fake.clock.runTimers(1)
		call.cancel()
		await expectCancelled(call, fake, 2)
	})

	test('changes nothing after the last status', async () => {
		const fake = client({ serviceConfig: retries() })
		const call = fake.start()
		call.attempt(1).end(3)
		await fake.clock.advance(0)
		call.cancel()
		await fake.clock.runUntilIdle()
		expect(call.events).toEqual(['status 3'])
	})
})

describe('the signal of the calling request', () => {
	test('is aborted before the call: nothing is started', async () => {
		const reason = new Error('gone')
		const fake = client({
			serviceConfig: retries(),
			bulkhead: { maxConcurrent: 1, maxQueue: 1 },
			getContext: () => ({ signal: AbortSignal.abort(reason) }),
		})
		const call = fake.start()
		call.send('a')
		await expectCancelled(call, fake, 0)
		expect(call.status?.cause).toBe(reason)
	})

	test.each([0, 1])('is aborted in the bulkhead queue or during attempt %s', async (attempts) => {
		const controller = new AbortController()
		let signal: AbortSignal | undefined
		const fake = client({
			serviceConfig: retries(),
			bulkhead: { maxConcurrent: 1, maxQueue: 1 },
			getContext: () => (signal ? { signal } : undefined),
		})
		const first = attempts === 0 ? fake.start() : undefined
		signal = controller.signal
		const call = fake.start()
		call.send('a')
		await fake.clock.advance(1)
		controller.abort(new Error('gone'))
		await expectCancelled(call, fake, attempts)
		first?.attempt(1).end(0)
		await fake.clock.runUntilIdle()
	})

	test('is aborted during a backoff wait', async () => {
		const controller = new AbortController()
		const fake = client({ serviceConfig: retries(), getContext: () => ({ signal: controller.signal }) })
		const call = fake.start()
		call.attempt(1).end(14)
		await fake.clock.advance(10)
		controller.abort()
		await expectCancelled(call, fake, 1)
	})

	test('is aborted because its deadline has passed: DEADLINE_EXCEEDED', async () => {
		const controller = new AbortController()
		const fake = client({ serviceConfig: retries(), getContext: () => ({ signal: controller.signal }) })
		const call = fake.start()
		Deadline.after(0).onExpiry((error) => controller.abort(error))
		await fake.clock.runUntilIdle()
		expect(call.events).toEqual(['status 4'])
	})

	test('still aborts a call whose parent has the earlier deadline', async () => {
		const controller = new AbortController()
		const fake = client({ getContext: () => ({ signal: controller.signal }) })
		const parent = new FakeParent(fake.clock.wallNow() + 1_000)
		const call = fake.start({ parent })
		await fake.clock.advance(1)
		controller.abort()
		await expectCancelled(call, fake, 1)
		expect(parent.listeners).toHaveLength(0)
	})
})

class FakeParent {
	readonly listeners: (() => void)[] = []
	readonly #deadline: number
	cancelled = false

	constructor(deadline = Infinity) {
		this.#deadline = deadline
	}

	getDeadline() {
		return this.#deadline
	}

	on(_event: 'cancelled', listener: () => void) {
		this.listeners.push(listener)
	}

	removeListener(_event: 'cancelled', listener: () => void) {
		this.listeners.splice(this.listeners.indexOf(listener), 1)
	}

	cancel() {
		this.cancelled = true
		for (const listener of [...this.listeners]) listener()
	}
}

describe('the parent call', () => {
	test('is cancelled during an attempt', async () => {
		const fake = client({ serviceConfig: retries() })
		const parent = new FakeParent()
		const call = fake.start({ parent })
		await fake.clock.advance(1)
		parent.cancel()
		await expectCancelled(call, fake, 1)
		expect(parent.listeners).toHaveLength(0)
	})

	test('was cancelled before the call: nothing is started', async () => {
		const fake = client({ serviceConfig: retries() })
		const parent = new FakeParent()
		parent.cancel()
		const call = fake.start({ parent })
		await expectCancelled(call, fake, 0)
		expect(parent.listeners).toHaveLength(0)
	})

	test('does not cancel without that flag, and does not pass its deadline on without the other', async () => {
		const fake = client({ serviceConfig: retries() })
		const parent = new FakeParent(fake.clock.wallNow() + 50)
		const onlyDeadline = fake.start({ parent, propagate_flags: grpc.propagate.DEADLINE })
		const onlyCancellation = fake.start({ parent, propagate_flags: grpc.propagate.CANCELLATION })
		await fake.clock.advance(1)
		parent.cancel()
		await fake.clock.advance(1)
		expect([onlyDeadline.events, onlyCancellation.events]).toEqual([[], ['status 1']])
		await fake.clock.runUntilIdle()
		expect(onlyDeadline.events).toEqual(['status 4'])
	})

	test('is not passed on to grpc-js, which would add a listener for every attempt and remove none', async () => {
		const fake = client({ serviceConfig: retries() })
		const parent = new FakeParent(fake.clock.wallNow() + 5_000)
		const call = fake.start({ parent })
		call.attempt(1).end(14)
		await fake.clock.advance(200)
		expect(call.attempts.map(({ options }) => options.parent)).toEqual([undefined, undefined])
		for (const { options } of call.attempts)
			expect(options.deadline).toBeCloseTo(fake.clock.wallNow() + 4_800, -1)
		call.cancel()
		await fake.clock.runUntilIdle()
	})
})

describe('a cancellation by the caller', () => {
	test('takes no token, also if CANCELLED is a status that counts', async () => {
		const fake = client({
			serviceConfig: retries(3, { retryThrottling: { maxTokens: 10, tokenRatio: 1 } }),
		})
		const call = fake.start()
		await fake.clock.advance(1)
		call.cancel()
		await fake.clock.runUntilIdle()
		expect(fake.interceptor.stats.throttling).toMatchObject({ tokens: 10 })
	})
})
