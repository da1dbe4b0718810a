import { expect, test } from 'vitest'
import { bulkhead, circuitBreaker, retry } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { createLive } from '../../../src/dashboard/live/live.ts'
import type { LivePart } from '../../../src/dashboard/parts.ts'
import { errorOf, fail } from './setup.ts'

const kinds = (live: LivePart) => live.overview().problems.map(({ kind }) => kind)

/** Ten calls per second; `share` of them fail. Returns the kinds of problems of each second, without repetitions. */
async function run(
	runtime: VirtualRuntime,
	live: LivePart,
	execute: (operation: () => unknown) => Promise<unknown>,
	seconds: number,
	share: number,
): Promise<string[]> {
	const seen: string[] = []
	for (let second = 0; second < seconds; second++) {
		for (let call = 0; call < 10; call++)
			await execute(call < share * 10 ? fail() : () => 1).catch(() => undefined)
		await runtime.advance(1_000)
		const now = kinds(live).join()
		if (seen.at(-1) !== now) seen.push(now)
	}
	return seen
}

function withoutBreaker() {
	const runtime = virtualRuntime()
	const policy = retry({ maxRetries: 0, runtime })
	const live = createLive({ policy }, { runtime })
	return { runtime, live, execute: (operation: () => unknown) => policy.execute(operation) }
}

test('failing calls without a breaker are one problem, from its begin to its end', async () => {
	const { runtime, live, execute } = withoutBreaker()
	expect(await run(runtime, live, execute, 60, 0)).toEqual([''])
	expect(await run(runtime, live, execute, 60, 0.7)).toEqual(['', 'calls-failing'])
	expect(live.overview().problems[0]).toMatchObject({
		severity: 'error',
		lastError: 'HTTP 503',
		source: 'policy',
	})
	expect(live.overview().problems[0]?.sinceMs).toBe(60_000)
	expect(await run(runtime, live, execute, 60, 0)).toEqual(['calls-failing', ''])
})

test('a source with few calls that all fail is a problem, since its first failure', async () => {
	const { runtime, live, execute } = withoutBreaker()
	await runtime.advance(600_000)
	for (let call = 0; call < 20; call++) {
		await execute(fail()).catch(() => undefined)
		await runtime.advance(11_000)
	}
	expect(live.overview().problems).toMatchObject([
		{ kind: 'calls-failing', severity: 'error', sinceMs: 220_000 },
	])
	await runtime.advance(60_000)
	expect(live.overview().problems).toEqual([])
})

test('a share of failures near the threshold does not flicker', async () => {
	const { runtime, live, execute } = withoutBreaker()
	await run(runtime, live, execute, 30, 0.2)
	for (let round = 0; round < 5; round++) {
		expect(await run(runtime, live, execute, 7, 0.1)).toEqual(['calls-failing'])
		expect(await run(runtime, live, execute, 3, 0)).toEqual(['calls-failing'])
	}
})

test('few failures among many calls are no problem, also if the calls before were long ago', async () => {
	const { runtime, live, execute } = withoutBreaker()
	for (let call = 0; call < 1_000; call++) await execute(() => 1)
	await runtime.advance(3_600_000)
	expect(await run(runtime, live, execute, 30, 0)).toEqual([''])
	await execute(fail()).catch(() => undefined)
	expect(kinds(live)).toEqual([])
	// The successes of an hour ago do not hide an outage.
	expect(await run(runtime, live, execute, 3, 1)).toEqual(['calls-failing'])
})

test('aborts and permanent failures are no problem', async () => {
	const runtime = virtualRuntime()
	const policy = retry({ runtime })
	const live = createLive({ policy }, { runtime })
	for (let call = 0; call < 50; call++)
		await errorOf(
			runtime,
			policy.execute(() => {
				throw Object.assign(new Error('not found'), { statusCode: 404 })
			}),
		)
	expect(live.overview().failedCalls).toBe(50)
	expect(kinds(live)).toEqual([])
})

test('calls that a bulkhead rejects are a problem with its reason', async () => {
	const runtime = virtualRuntime()
	const policy = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime })
	const live = createLive({ policy }, { runtime })
	void policy.execute(() => new Promise(() => {}))
	const execute = (operation: () => unknown) => policy.execute(operation)
	expect(await run(runtime, live, execute, 10, 0)).toEqual(['calls-rejected'])
	expect(live.overview().problems[0]).toMatchObject({ reason: 'bulkhead-full', rejectedPerSecond: 10 })
	await runtime.advance(20_000)
	expect(kinds(live)).toEqual([])
})

test('an outage is one problem through all probes, and nothing is left when the circuit has closed', async () => {
	const runtime = virtualRuntime()
	const policy = circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 3_000, runtime })
	const live = createLive({ policy }, { runtime })
	const execute = (operation: () => unknown) => policy.execute(operation)
	expect(await run(runtime, live, execute, 30, 1)).toEqual(['circuit-open'])
	expect(live.overview().problems[0]).toMatchObject({ sinceMs: 30_000, severity: 'error' })
	// It closes within the first second, and the failures before it are no problem of their own.
	expect(await run(runtime, live, execute, 60, 0)).toEqual([''])
})

test('a probe that takes long is half-open, an isolation is named, and shadow mode is no problem', async () => {
	const runtime = virtualRuntime()
	const policy = circuitBreaker({ failureThreshold: 1, resetTimeoutMs: 1_000, runtime })
	const shadow = circuitBreaker({ failureThreshold: 1, shadow: true, runtime })
	const live = createLive({ policy, shadow }, { runtime })
	for (const breaker of [policy, shadow]) await errorOf(runtime, breaker.execute(fail()))
	expect(shadow.currentState).toBe('open')
	expect(live.overview().problems).toMatchObject([{ kind: 'circuit-open', source: 'policy' }])
	await runtime.advance(1_000)
	void policy.execute(() => new Promise(() => {}))
	expect(kinds(live)).toEqual(['circuit-open'])
	await runtime.advance(3_000)
	expect(kinds(live)).toEqual(['circuit-half-open'])
	policy.isolate()
	expect(kinds(live)).toEqual(['circuit-isolated'])
})
