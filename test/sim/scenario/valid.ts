/** A scenario that uses every field, as from a file. The tests in this folder change it. */
import type { Scenario } from 'yaoki/sim'

export const valid = {
	name: 'everything',
	seed: 3,
	durationMs: 2_000,
	until: 'recovered',
	warmUpMs: 100,
	maxEvents: 100_000,
	stepMs: 50,
	services: {
		api: {
			kind: 'server',
			workers: 4,
			serviceTimeMs: { kind: 'exponential', meanMs: 20 },
			queue: { limit: 50, order: 'lifo', dropExpired: true, maxAgeMs: 500 },
			latencyMs: { kind: 'uniform', minMs: 1, maxMs: 3 },
			faults: [
				{ kind: 'outage', fromMs: 200, toMs: 400, mode: 'hang', instances: 1 },
				{ kind: 'slowdown', fromMs: 300, toMs: 600, factor: 3 },
				{ kind: 'errors', fromMs: 500, toMs: 700, rate: 0.2, status: 503, class: 'checkout' },
				{ kind: 'pause', fromMs: 800, toMs: 850 },
				{
					kind: 'restart',
					fromMs: 900,
					toMs: 920,
					coldFactor: 3,
					warmUpMs: 100,
					isRolling: true,
					drainMs: 5,
				},
			],
			instances: 3,
			loadBalancer: {
				strategy: 'two-choices',
				ejection: { consecutiveFailures: 3, ejectMs: 100, maxEjectedShare: 0.4 },
			},
			autoscaling: {
				targetUtilization: 0.6,
				minInstances: 2,
				maxInstances: 5,
				everyMs: 200,
				startMs: 100,
				scaleDownAfterMs: 400,
			},
			ignoresSignal: true,
			rateLimit: { perSecond: 500, burst: 20, retryAfter: false },
			dependsOn: [
				{ to: 'db', policy: 'hop', share: 0.5, passContext: true },
				{ to: 'cache', share: 0.1, parallel: true },
			],
		},
		db: {
			workers: 2,
			serviceTimeMs: { kind: 'lognormal', medianMs: 5, p99Ms: 50 },
			scalability: { contention: 0.1, coherency: 0.01 },
			latencyMs: 1,
		},
		cache: { serviceTimeMs: { kind: 'empirical', valuesMs: [1, 2, 30] } },
		row: { kind: 'optimistic-lock', latencyMs: { kind: 'normal', meanMs: 10, sdMs: 2 } },
	},
	clients: {
		web: {
			to: 'api',
			arrivals: { kind: 'poisson', perSecond: 80, fromMs: 10, toMs: 1_500 },
			classes: {
				browse: { share: 0.75 },
				checkout: { share: 0.25, serviceTimeFactor: 2, priority: 1 },
			},
			policy: 'careful',
			instances: 2,
			goodWithinMs: 300,
			deadlineMs: 600,
			ignoresSignal: false,
		},
		beat: { to: 'cache', arrivals: { kind: 'constant', perSecond: 10 } },
		replay: { to: 'cache', arrivals: { kind: 'trace', atMs: [0, 5, 5, 100] }, policy: 'shared' },
		daily: {
			to: 'cache',
			arrivals: {
				kind: 'curve',
				points: [
					{ atMs: 0, perSecond: 5 },
					{ atMs: 600, perSecond: 40 },
				],
				interpolation: 'steps',
				repeatEveryMs: 1_000,
				spacing: 'even',
				fromMs: 50,
				toMs: 1_900,
			},
		},
		spiky: {
			to: 'cache',
			arrivals: { kind: 'bursts', perSecond: 5, burstPerSecond: 50, everyMs: 500, lastsMs: 100 },
		},
		staff: {
			to: 'row',
			arrivals: { kind: 'closed', users: 5, thinkMs: 40, startWithinMs: 100, callsEach: 3 },
			policy: 'shared',
			instances: 2,
		},
	},
	faults: [{ kind: 'slowdown', services: ['db', 'cache'], fromMs: 950, toMs: 1_000, factor: 2 }],
	policies: {
		careful: [
			{ retry: { maxRetries: 3, baseDelayMs: 10, budget: { maxRetryRatio: 0.2, shared: true } } },
			{ circuitBreaker: { failureThreshold: 5, resetTimeoutMs: 100 } },
			{ timeoutMs: 200 },
		],
		hop: [
			{ bulkhead: { maxConcurrent: 10, maxQueue: 5 } },
			{ hedge: { delayMs: 30, budget: { kind: 'quota' } } },
		],
		shared: [
			{ rateLimiter: { limit: 100, intervalMs: 1_000 }, shared: true },
			{ adaptiveThrottle: {} },
			{ adaptiveBulkhead: {} },
			{ retry: { baseDelayMs: 5, budget: { kind: 'tokens', maxTokens: 10 } } },
		],
	},
} satisfies Scenario
