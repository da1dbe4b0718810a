/** Virtual time and the simulator give the same results everywhere. */
import { explain, pipeline, retry } from 'yaoki'
import { scenarios, simulate } from 'yaoki/sim'
import { runStudy, toSVG } from 'yaoki/sim/report'
import { faults, skipDelays, virtualRuntime } from 'yaoki/testing'
import { A_MINUTE, errorOf, fail, isTrue, same } from './checks.js'

/** Uses everything random: all distributions, jitter, a breaker by error rate, an outage, errors. */
const SIMULATED = {
	seed: 'everywhere',
	durationMs: 60_000,
	services: {
		api: {
			workers: 4,
			serviceTimeMs: { kind: 'lognormal', medianMs: 20, p99Ms: 200 },
			latencyMs: { kind: 'normal', meanMs: 5, sdMs: 1 },
			faults: [
				{ kind: 'outage', fromMs: 10_000, toMs: 20_000 },
				{ kind: 'errors', rate: 0.2, fromMs: 30_000, toMs: 40_000 },
			],
		},
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 80 }, policy: 'four' } },
	policies: {
		four: [
			{ bulkhead: { maxConcurrent: 50 } },
			{ circuitBreaker: { errorRateThreshold: 0.5, resetTimeoutMs: 1_000 } },
			{ retry: { maxRetries: 3, baseDelayMs: 50 } },
			{ timeoutMs: 500 },
		],
	},
}

/** The trace hash of all events. */
const TRACE = '925737e73f348999'

export const tests = {
	'gives the same trace hash everywhere'() {
		const { traceHash, totals, recovery } = simulate(SIMULATED)
		same([totals.goodShare, totals.amplification].map((value) => value.toFixed(3)).join(' '), '0.827 0.896')
		same(Math.round(recovery.recoveredAfterMs), 59)
		same(traceHash, TRACE)
	},

	async 'draws a study'() {
		const study = await scenarios.layered()
		isTrue(toSVG(runStudy(study, { replications: 1 })).startsWith('<svg'), 'no SVG')
	},

	async 'runs half an hour of waits in virtual time, with the same result every time'() {
		const story = async () => {
			const clock = virtualRuntime({ seed: 7 })
			const policy = pipeline(
				{ runtime: clock },
				retry({ baseDelayMs: 1_800_000, maxDelayMs: 3_600_000, jitterStrategy: 'equal', maxRetries: 9 }),
				faults({ errorRate: 0.8, latencyMs: [10, 200], seed: 7 }),
			)
			const settled = policy.settle(() => 'an answer')
			const passed = await clock.runUntilIdle()
			return `${passed} ${explain(await settled)}`
		}
		const first = await story()
		same(await story(), first)
		isTrue(Number.parseFloat(first) > 1_800_000, first)
	},

	async 'a policy without delays makes the same attempts'() {
		let calls = 0
		const policy = skipDelays(retry({ ...A_MINUTE, maxRetries: 5 }))
		await errorOf(policy.execute(() => fail('EPIPE', calls++)))
		same(calls, 6)
	},
}
