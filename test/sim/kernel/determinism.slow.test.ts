import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { type PolicyLayer, type Scenario, simulate } from 'yaoki/sim'
import { api, clientOf, setup, sum, web } from '../setup.ts'
import { bytesOf } from './elsewhere.ts'

const ELSEWHERE = new URL('./elsewhere.ts', import.meta.url)

const careful: readonly PolicyLayer[] = [
	{ retry: { maxRetries: 3, baseDelayMs: 20, budget: { maxRetryRatio: 0.2 } } },
	{ circuitBreaker: { failureThreshold: 10, resetTimeoutMs: 500 } },
	{ timeoutMs: 200 },
]

/** A scenario with everything that draws random numbers: arrivals, service times, latencies, errors, shares of dependencies, jitter. */
const busy: Scenario = {
	seed: 'a busy day',
	durationMs: 20_000,
	services: {
		shop: {
			workers: 8,
			serviceTimeMs: { kind: 'lognormal', medianMs: 20, p99Ms: 200 },
			latencyMs: { kind: 'normal', meanMs: 3, sdMs: 1 },
			queue: { limit: 40, order: 'lifo', dropExpired: true },
			faults: [
				{ kind: 'outage', fromMs: 4_000, toMs: 6_000 },
				{ kind: 'errors', rate: 0.3, fromMs: 9_000, toMs: 12_000 },
				{ kind: 'slowdown', factor: 4, fromMs: 13_000, toMs: 14_000 },
			],
			dependsOn: [{ to: 'db', share: 0.4, policy: 'careful', passContext: true }],
		},
		db: {
			workers: 4,
			serviceTimeMs: { kind: 'empirical', valuesMs: [1, 2, 3, 50] },
			rateLimit: { perSecond: 150 },
		},
		row: { kind: 'optimistic-lock', latencyMs: { kind: 'uniform', minMs: 1, maxMs: 9 } },
	},
	clients: {
		web: {
			to: 'shop',
			arrivals: { kind: 'poisson', perSecond: 250 },
			policy: 'careful',
			instances: 3,
			goodWithinMs: 300,
		},
		staff: {
			to: 'row',
			arrivals: { kind: 'closed', users: 20, thinkMs: { kind: 'exponential', meanMs: 100 } },
			policy: 'careful',
			deadlineMs: 400,
		},
	},
	policies: { careful },
}

describe('the same seed', () => {
	const bytes = bytesOf(busy)

	it('gives the same bytes again', () => {
		expect(bytes.length).toBeGreaterThan(5_000)
		expect(bytesOf(busy)).toBe(bytes)
	})

	it('gives the same bytes after other runs', () => {
		simulate({ ...busy, seed: 99 })
		expect(bytesOf(structuredClone(busy))).toBe(bytes)
	})

	it('gives the same bytes in a worker', async () => {
		const worker = new Worker(ELSEWHERE, { workerData: { scenario: JSON.stringify(busy) } })
		const [message] = await once(worker, 'message')
		expect(message).toBe(bytes)
	})

	it('gives the same bytes in another process', () => {
		const printed = execFileSync(process.execPath, [ELSEWHERE.pathname, JSON.stringify(busy)], {
			encoding: 'utf8',
		})
		expect(printed.trim()).toBe(bytes)
	})

	it('is the same as a number and as a string', () => {
		expect(simulate({ ...busy, seed: '7' }).traceHash).toBe(simulate({ ...busy, seed: 7 }).traceHash)
	})
})

describe('another seed', () => {
	it('gives another run, and 100 seeds give 100 different runs', () => {
		const hashes = Array.from({ length: 100 }, (_, seed) => simulate({ ...busy, durationMs: 500, seed }))
		expect(new Set(hashes.map(({ traceHash }) => traceHash)).size).toBe(100)
	})

	it('is 1 by default', () => {
		const { seed: _, ...unnamed } = busy
		expect(bytesOf(unnamed)).toBe(bytesOf({ ...busy, seed: 1 }))
	})
})

describe('the trace hash', () => {
	const hashOf = (scenario: Scenario) => simulate(scenario).traceHash
	const three = (third: number) =>
		setup({ web: { arrivals: { kind: 'trace', atMs: [0, 5, third] } }, api: { serviceTimeMs: 20 } })

	it('changes if one event is a billionth of a millisecond later', () => {
		expect(hashOf(three(7 + 1e-9))).not.toBe(hashOf(three(7)))
	})

	it('changes if there is one more call', () => {
		const more = setup({
			web: { arrivals: { kind: 'trace', atMs: [0, 5, 7, 7] } },
			api: { serviceTimeMs: 20 },
		})
		expect(hashOf(more)).not.toBe(hashOf(three(7)))
	})

	it('changes if calls end in another order at the same times', () => {
		const order = (which: 'fifo' | 'lifo') =>
			setup({
				web: { arrivals: { kind: 'trace', atMs: [0, 5, 7] } },
				api: { serviceTimeMs: 20, queue: { order: which } },
			})
		expect(hashOf(order('lifo'))).not.toBe(hashOf(order('fifo')))
	})

	it('changes if a call fails instead of succeeding at the same time', () => {
		const failing = (rate: number) =>
			setup({ api: { faults: [{ kind: 'errors', rate, fromMs: 0, toMs: 100 }] } })
		expect(hashOf(failing(1))).not.toBe(hashOf(failing(0)))
	})

	it('does not depend on names', () => {
		expect(hashOf({ ...three(7), name: 'three' })).toBe(hashOf(three(7)))
	})
})

describe('common random numbers', () => {
	/** Steps of 1 ms, so that the timeline shows every arrival. */
	const closeUp = { durationMs: 240, stepMs: 1 } as const
	const calls = { kind: 'poisson', perSecond: 800 } as const
	const arrivals = (scenario: Scenario) => simulate(scenario).timeline.clients['web']?.started ?? []
	const strategies: readonly (readonly PolicyLayer[])[] = [
		[],
		[{ retry: { maxRetries: 5, baseDelayMs: 1, jitterStrategy: 'full' } }],
		[{ retry: { maxRetries: 9, baseDelayMs: 3, jitterStrategy: 'decorrelated' } }, { timeoutMs: 4 }],
		[{ adaptiveThrottle: {} }, { retry: { baseDelayMs: 2 } }],
	]
	const shaky = {
		workers: 1,
		serviceTimeMs: { kind: 'exponential', meanMs: 2 },
		faults: [{ kind: 'errors', rate: 0.5, fromMs: 0, toMs: 200 }],
	} as const

	it('give every policy the same arrivals', () => {
		const plain = arrivals(setup({ api: shaky, web: { arrivals: calls }, rest: closeUp }))
		expect(sum(plain)).toBeGreaterThan(150)
		for (const policy of strategies)
			expect(arrivals(setup({ api: shaky, web: { arrivals: calls }, policy, rest: closeUp }))).toEqual(plain)
	})

	it('do not change arrivals when another client is added', () => {
		const alone = setup({ api: shaky, web: { arrivals: calls }, rest: closeUp })
		const crowded: Scenario = {
			...alone,
			clients: {
				first: { to: 'api', arrivals: calls },
				...alone.clients,
				last: { to: 'api', arrivals: calls },
			},
		}
		expect(arrivals(crowded)).toEqual(arrivals(alone))
		expect(simulate(crowded).timeline.clients['first']?.started).not.toEqual(arrivals(alone))
	})

	it('give the nth request the same service time with every policy', () => {
		const workMs = (policy: readonly PolicyLayer[]) => {
			const { usefulMs, wastedMs, requests } = api(
				simulate(
					setup({
						api: { workers: Infinity, serviceTimeMs: { kind: 'lognormal', medianMs: 5, p99Ms: 50 } },
						web: { arrivals: { kind: 'constant', perSecond: 100, toMs: 1_000 } },
						policy,
					}),
				),
			)
			return { workMs: usefulMs + wastedMs, requests }
		}
		// After a timeout the service goes on processing the request; the draws are the same.
		expect(workMs([{ timeoutMs: 10 }]).requests).toBe(100)
		expect(workMs([{ timeoutMs: 10 }]).workMs).toBeCloseTo(workMs([]).workMs, 9)
	})

	it('isolate a policy that draws more often from everything else', () => {
		const beside = (policy: readonly PolicyLayer[]) =>
			simulate({
				durationMs: 5_000,
				services: { api: { ...shaky, workers: Infinity }, other: shaky },
				clients: {
					web: { to: 'api', arrivals: calls, policy: 'mine' },
					noisy: { to: 'other', arrivals: calls, policy: 'theirs' },
				},
				policies: { mine: strategies[1] ?? [], theirs: policy },
			})
		const [first, ...others] = strategies.map(beside)
		if (!first) expect.unreachable()
		for (const other of others) {
			expect(web(other)).toEqual(web(first))
			expect(api(other)).toEqual(api(first))
			expect(clientOf(other, 'noisy')).not.toEqual(clientOf(first, 'noisy'))
		}
	})

	it('give each instance of a client its own stream', () => {
		const herd = setup({
			api: { faults: [{ kind: 'outage', fromMs: 0, toMs: 50 }], workers: Infinity },
			web: { arrivals: { kind: 'closed', users: 200, callsEach: 1 } },
			policy: [{ retry: { baseDelayMs: 100, maxRetries: 10, jitterStrategy: 'full' } }],
			rest: { durationMs: 240, stepMs: 1 },
		})
		const retries = (simulate(herd).timeline.services['api']?.requests ?? []).slice(1)
		// 200 draws over 100 ms: if all were the same draw, they would be at one time.
		expect(Math.max(...retries)).toBeLessThan(20)
	})
})
