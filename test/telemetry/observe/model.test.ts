/** Random programs of calls, listeners and observers, in virtual time: observers must change nothing that a program can see. */
import { describe, expect, it } from 'vitest'
import type { EventBase } from '../../../src/core/events/events.ts'
import {
	bulkhead,
	circuitBreaker,
	fallback,
	hedge,
	keyed,
	type Policy,
	pipeline,
	retry,
	timeout,
} from '../../../src/core/index.ts'
import { type Exporter, observe } from '../../../src/telemetry/index.ts'
import { seededRandom, virtualRuntime } from '../../../src/testing/index.ts'

type Runtime = ReturnType<typeof virtualRuntime>

function createPolicies(runtime: Runtime): readonly Policy<unknown>[] {
	const own = { runtime }
	const shared = circuitBreaker({ ...own, name: 'shared', failureThreshold: 3, resetTimeoutMs: 40 })
	const perKey = keyed(
		({ key = '' }) => key,
		() => circuitBreaker({ ...own, failureThreshold: 2, resetTimeoutMs: 30 }),
		{ ...own, maxKeys: 2 },
	)
	const inner = pipeline({ ...own, name: 'inner' }, retry({ ...own, maxRetries: 1, baseDelayMs: 5 }))
	return [
		shared,
		perKey,
		inner,
		pipeline(
			{ ...own, name: 'results' },
			shared,
			retry({ ...own, retryResult: (result) => result === 'bad' }),
		),
		pipeline(
			{ ...own, name: 'nested' },
			fallback(() => 'substitute', own),
			perKey,
			inner,
			timeout(20, own),
		),
		pipeline({ ...own, name: 'hedged' }, hedge({ ...own, delayMs: 3, maxHedges: 2 }), retry(own)),
		bulkhead({ ...own, maxConcurrent: 1, maxQueue: 2 }),
	]
}

/** An exporter with a random set of functions. */
function createExporter(random: () => number, received: unknown[]): Exporter {
	const level = random() < 0.5 ? 'all' : 'notable'
	const hasAround = random() < 0.5
	return {
		name: 'random',
		attach: () => ({
			level,
			onEvent: (event) => void received.push(event),
			onCallEnd: (end) => void received.push(end),
			...(hasAround && { around: (_, next) => next() }),
		}),
	}
}

async function runProgram(seed: number, hasObservers: boolean) {
	const runtime = virtualRuntime({ seed })
	const random = seededRandom(seed)
	const observerRandom = seededRandom(seed + 1)
	const pick = <T>(items: readonly T[], from = random): T => items[Math.floor(from() * items.length)] as T
	const policies = createPolicies(runtime)
	const log: unknown[] = []
	const received: unknown[] = []
	const [subscriptions, observations]: [(() => void)[], (() => void)[]] = [[], []]
	const endOne = (ends: (() => void)[], from: () => number) =>
		ends.splice(Math.floor(from() * ends.length), 1)[0]?.()

	const subscribe = (policy: Policy<unknown>, id: number) =>
		policy.subscribe((event: EventBase) => {
			const { callId, ...facts } = event
			log.push([id, facts])
		})
	const call = (policy: Policy<unknown>, id: number) => {
		const results = [1, 2, 3, 4].map(() => pick(['ok', 'bad', 'error']))
		const times = [1, 2, 3].map(() => Math.floor(random() * 30))
		let attempts = 0
		const operation = async () => {
			const attempt = attempts++
			await new Promise<void>((resolve) => runtime.setTimer(times[attempt % 3] ?? 0, resolve))
			if (results[attempt % 4] === 'error') throw new Error('down')
			return results[attempt % 4]
		}
		const end = (result: unknown) => log.push([id, runtime.now(), attempts, String(result)])
		policy.execute(operation, { key: pick(['a', 'b', 'c']) }).then(end, end)
	}
	const actions = [
		call,
		call,
		(policy: Policy<unknown>, id: number) => subscriptions.push(subscribe(policy, id)),
		() => endOne(subscriptions, random),
	]
	for (let step = 0; step < 80; step++) {
		if (hasObservers && observerRandom() < 0.5) {
			const observed = pick(policies, observerRandom)
			if (observerRandom() < 0.6)
				observations.push(observe({ observed }, [createExporter(observerRandom, received)]))
			else endOne(observations, observerRandom)
		}
		const action = pick(actions)
		// A listener gets no `call` event of calls that began before it subscribed, unless an observer has measured them.
		if (action !== call) await runtime.runUntilIdle()
		action(pick(policies), step)
		await runtime.advance(Math.floor(random() * 8))
	}
	await runtime.runUntilIdle()
	return { log, received }
}

describe.each(Array.from({ length: 8 }, (_, index) => 100 + index))('program %i', (seed) => {
	it('has the same events, results, times and attempts with observers', async () => {
		const plain = await runProgram(seed, false)
		const observed = await runProgram(seed, true)
		expect(observed.log).toEqual(plain.log)
		expect(observed.received.length).toBeGreaterThan(0)
	})
})
