/** Small random scenarios: a service, maybe a dependency, a client, a policy, and faults. Each ends. */
import fc from 'fast-check'
import type { Distribution, Fault, PolicyLayer, Scenario, ServerModel } from 'yaoki/sim'

/** When the last call starts. */
const LAST_MS = 2_000

const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
	fc.option(arbitrary, { nil: undefined, freq: 2 })

const aDuration: fc.Arbitrary<Distribution> = fc.oneof(
	fc.integer({ min: 0, max: 60 }),
	fc.constantFrom<Distribution>(
		{ kind: 'exponential', meanMs: 25 },
		{ kind: 'uniform', minMs: 5, maxMs: 80 },
		{ kind: 'lognormal', medianMs: 15, p99Ms: 200 },
		{ kind: 'normal', meanMs: 20, sdMs: 10 },
		{ kind: 'empirical', valuesMs: [1, 10, 10, 100] },
	),
)

const aFault: fc.Arbitrary<Fault> = fc
	.tuple(
		fc.integer({ min: 0, max: LAST_MS }),
		fc.integer({ min: 1, max: 800 }),
		fc.constantFrom<'refuse' | 'hang' | 'slowdown' | 'errors' | 'pause' | 'restart'>(
			...(['refuse', 'hang', 'hang', 'slowdown', 'errors', 'pause', 'restart'] as const),
		),
	)
	.map(([fromMs, forMs, kind]): Fault => {
		const span = { fromMs, toMs: fromMs + forMs }
		if (kind === 'slowdown') return { kind, factor: 4, ...span }
		if (kind === 'errors') return { kind, rate: 0.5, ...span }
		if (kind === 'pause') return { kind, ...span }
		if (kind === 'restart') return { kind, coldFactor: 5, warmUpMs: 300, ...span }
		return { kind: 'outage', mode: kind, ...span }
	})

const workers = fc.constantFrom(1, 2, 5, Infinity)
const order = fc.constantFrom<'fifo' | 'lifo'>('fifo', 'lifo')

const aServer: fc.Arbitrary<ServerModel> = fc.record({
	workers,
	serviceTimeMs: aDuration,
	queue: fc.record({
		limit: some(fc.integer({ min: 0, max: 8 })),
		order,
		dropExpired: fc.boolean(),
		maxAgeMs: some(fc.integer({ min: 20, max: 300 })),
	}),
	scalability: some(fc.constant({ contention: 0.2, coherency: 0.05 })),
	latencyMs: some(aDuration),
	faults: fc.array(aFault, { maxLength: 3 }),
	rateLimit: some(
		fc.record({ perSecond: fc.integer({ min: 5, max: 100 }), burst: fc.integer({ min: 1, max: 9 }) }),
	),
})

const again = { maxRetries: 3, baseDelayMs: 20, maxDelayMs: 200 } as const

const aPolicy: fc.Arbitrary<readonly PolicyLayer[]> = fc.constantFrom<readonly PolicyLayer[]>(
	[],
	[{ retry: again }],
	[{ timeoutMs: 60 }],
	[{ retry: again }, { timeoutMs: 60 }],
	[{ retry: { ...again, budget: { maxRetryRatio: 0.2 } } }, { timeoutMs: 40 }],
	[{ bulkhead: { maxConcurrent: 2, maxQueue: 1 } }, { timeoutMs: 100 }],
	[{ circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 100 } }, { retry: again }, { timeoutMs: 50 }],
	[{ hedge: { delayMs: 30 } }, { timeoutMs: 200 }],
	[{ rateLimiter: { limit: 5, intervalMs: 200 } }],
)

const arrivals = fc.constantFrom(
	{ kind: 'poisson', perSecond: 60, toMs: LAST_MS } as const,
	{ kind: 'constant', perSecond: 40, toMs: LAST_MS } as const,
	{ kind: 'bursts', perSecond: 20, burstPerSecond: 200, everyMs: 400, lastsMs: 80, toMs: LAST_MS } as const,
	{ kind: 'trace', atMs: [0, 0, 1, 5, 5, 5, 300, 900, 900, LAST_MS] } as const,
	{ kind: 'closed', users: 8, callsEach: 5, thinkMs: { kind: 'exponential', meanMs: 100 } } as const,
)

/** Ends when nothing is left to do. */
export const aScenario: fc.Arbitrary<Scenario> = fc
	.record({
		seed: fc.nat(),
		front: aServer,
		behind: some(aServer),
		share: fc.constantFrom(0.5, 1),
		passContext: fc.boolean(),
		arrivals,
		outer: aPolicy,
		inner: aPolicy,
		instances: fc.integer({ min: 1, max: 3 }),
		goodWithinMs: some(fc.integer({ min: 10, max: 200 })),
		deadlineMs: some(fc.integer({ min: 20, max: 400 })),
		classes: some(
			fc.constant({ urgent: { share: 0.25, priority: 1, serviceTimeFactor: 2 }, other: { share: 0.75 } }),
		),
	})
	.map(({ seed, front, behind, share, passContext, arrivals, outer, inner, ...client }): Scenario => {
		const dependsOn = behind ? [{ to: 'db', policy: 'inner', share, passContext }] : []
		return {
			seed,
			until: 'idle',
			maxEvents: 1e6,
			services: { api: { ...front, dependsOn }, ...(behind && { db: behind }) },
			clients: { web: { to: 'api', arrivals, policy: 'outer', ...client } },
			policies: { outer, inner },
		}
	})

/** Only a queue and arrivals: a call lasts as long as its request is in flight. Ends when nothing is left to do. */
export const aQueue: fc.Arbitrary<Scenario> = fc
	.record({ seed: fc.nat(), workers, serviceTimeMs: aDuration, order, arrivals })
	.map(({ seed, workers, serviceTimeMs, order, arrivals }) => ({
		seed,
		until: 'idle',
		services: { api: { workers, serviceTimeMs, queue: { order } } },
		clients: { web: { to: 'api', arrivals } },
	}))
