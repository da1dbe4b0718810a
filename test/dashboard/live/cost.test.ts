import { expect, test } from 'vitest'
import { bulkhead, circuitBreaker, pipeline, retry, timeout } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import type { Call } from '../../../src/core/engine/call.ts'
import { Context } from '../../../src/core/engine/context.ts'
import { createLive } from '../../../src/dashboard/live/live.ts'
import { errorOf, fail } from './setup.ts'

/** A runtime that counts how often it is used. */
function countingRuntime() {
	const clock = virtualRuntime()
	const uses = { now: 0, createId: 0, wallNow: 0 }
	const runtime = {
		...clock,
		now: () => {
			uses.now++
			return clock.now()
		},
		wallNow: () => {
			uses.wallNow++
			return clock.wallNow()
		},
		// Every event of a call has an id.
		createId: () => {
			uses.createId++
			return 'id'
		},
		setTimer: clock.setTimer.bind(clock),
		random: () => clock.random(),
	}
	return { clock, runtime, uses }
}

function fourLayers() {
	const { clock, runtime, uses } = countingRuntime()
	const policy = pipeline(
		{ runtime },
		bulkhead({ maxConcurrent: 5 }),
		circuitBreaker(),
		retry({ maxRetries: 1, baseDelayMs: 10 }),
		timeout(1_000),
	)
	return { clock, runtime, uses, policy }
}

test('a call that succeeds at its first attempt costs nothing: no event, no record, no listener, no clock read', async () => {
	const measure = async (isObserved: boolean) => {
		const { uses, policy, runtime } = fourLayers()
		if (isObserved) createLive({ payments: policy }, { runtime })
		for (let call = 0; call < 200; call++) await policy.execute(() => call)
		const compiled = policy.compiled()
		let notified = 0
		const { report } = compiled
		if (report)
			compiled.report = (call) => {
				notified++
				report(call)
			}
		const before = { ...uses }
		for (let call = 0; call < 1_000; call++) await policy.execute(() => call)
		expect(compiled.observer).toBeUndefined()
		expect(compiled.consecutiveSuccesses).toBe(1_200)
		return {
			notified,
			now: uses.now - before.now,
			createId: uses.createId - before.createId,
			wallNow: uses.wallNow - before.wallNow,
		}
	}
	const plain = await measure(false)
	expect(await measure(true)).toEqual({ ...plain, notified: 0, createId: 0, wallNow: 0 })
})

test('a success allocates no state for an observer and no record', async () => {
	const { policy, runtime } = fourLayers()
	createLive({ payments: policy }, { runtime })
	for (let call = 0; call < 100; call++) await policy.execute(() => call)
	let found: Call | undefined
	await policy.execute((context) => {
		found = Context.callOf(context) as Call
	})
	expect(found?.isOver).toBe(true)
	expect([found?.rare, found?.lastAttempt, found?.stop]).toEqual([undefined, undefined, undefined])
})

test('a failed call is one entry, and no event', async () => {
	const { clock, policy, runtime, uses } = fourLayers()
	const live = createLive({ payments: policy }, { runtime })
	await errorOf(clock, policy.execute(fail()))
	expect(live.overview().failedCalls).toBe(1)
	expect(uses.createId).toBe(0)
})

test('close leaves nothing behind in the pipeline', async () => {
	const { clock, policy, runtime, uses } = fourLayers()
	const first = createLive({ payments: policy }, { runtime })
	const second = createLive({ payments: policy }, { runtime })
	first.close()
	await errorOf(clock, policy.execute(fail()))
	expect([first.overview().failedCalls, second.overview().failedCalls]).toEqual([0, 1])
	second.close()
	const { wallNow } = uses
	expect(policy.compiled().report).toBeUndefined()
	await errorOf(clock, policy.execute(fail()))
	expect(uses.wallNow).toBe(wallNow)
	expect(second.overview().failedCalls).toBe(1)
})
