/**
 * Queues with closed forms: Poisson arrivals at one or several workers. 40 intervals, so with fresh seeds about one
 * run in 25 would raise a false alarm.
 */
import { describe, test } from 'vitest'
import type { Distribution, Scenario, ServerModel } from 'yaoki/sim'
import {
	expectAgreement,
	type Growing,
	known,
	lateShare,
	meanLatency,
	meanPresent,
	meanQueue,
	rejectedShare,
	runs,
	samples,
	waitedShare,
	web,
} from './agreement.ts'
import { erlangC, finiteQueue, meanWaiting, meanWaitMs, momentsOf, priorityWaitsMs } from './closed-form.ts'

const MEAN_MS = 10
const exponential: Distribution = { kind: 'exponential', meanMs: MEAN_MS }

/** `calls` is the number of calls per run, so that busier runs can be longer. */
function queue(server: ServerModel, perMs: number, calls: number, goodWithinMs?: number): Scenario {
	return {
		durationMs: calls / perMs,
		services: { api: server },
		clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: perMs * 1_000 }, goodWithinMs } },
	}
}

describe('M/M/1', () => {
	test.each([
		[0.3, 10_000],
		[0.6, 20_000],
	])('at a load of %f: latency, number in system, share that waits, share above the mean', (load, calls) => {
		const perMs = load / MEAN_MS
		const meanMs = MEAN_MS / (1 - load)
		const stretches = runs(queue({ serviceTimeMs: exponential }, perMs, calls, meanMs))
		expectAgreement(samples(stretches, meanLatency), meanMs)
		expectAgreement(samples(stretches, meanPresent), load / (1 - load))
		expectAgreement(samples(stretches, waitedShare), load)
		// The latency is exponential, with a share of 1 / e above its mean.
		expectAgreement(samples(stretches, lateShare), Math.exp(-1))
	})
	test('keeps its means with order lifo', () => {
		const stretches = runs(queue({ serviceTimeMs: exponential, queue: { order: 'lifo' } }, 0.05, 15_000))
		expectAgreement(samples(stretches, meanPresent), 1)
		expectAgreement(samples(stretches, meanLatency), 20)
	})
})

describe('M/G/1, by Pollaczek-Khinchine', () => {
	test.each<[string, Distribution, number]>([
		['constant', 10, 15_000],
		['uniform', { kind: 'uniform', minMs: 0, maxMs: 20 }, 20_000],
		['lognormal', { kind: 'lognormal', medianMs: 8, p99Ms: 32 }, 22_000],
	])('with %s service times: wait, number in system and latency', (_, law, calls) => {
		const moments = momentsOf(law)
		const perMs = 0.6 / moments.meanMs
		const waitMs = meanWaitMs(perMs, moments)
		const stretches = runs(queue({ serviceTimeMs: law }, perMs, calls))
		expectAgreement(samples(stretches, meanQueue), perMs * waitMs)
		expectAgreement(samples(stretches, meanPresent), perMs * (waitMs + moments.meanMs))
		expectAgreement(samples(stretches, meanLatency), waitMs + moments.meanMs)
	})
})

describe('M/M/c, by Erlang C', () => {
	test.each([
		[2, 1.2, 13_000],
		[5, 3.5, 20_000],
		[20, 16, 30_000],
	])('with %i workers and a load of %f: share that waits, queue length and wait', (workers, load, calls) => {
		const perMs = load / MEAN_MS
		const stretches = runs(queue({ workers, serviceTimeMs: exponential }, perMs, calls))
		expectAgreement(samples(stretches, waitedShare), erlangC(workers, load), 0.06)
		expectAgreement(samples(stretches, meanQueue), meanWaiting(workers, load), 0.15)
		expectAgreement(samples(stretches, meanLatency), MEAN_MS + meanWaiting(workers, load) / perMs)
	})
})

/** Latency of successful calls of a class. */
const meanLatencyOf =
	(name: string): Growing =>
	(result) => {
		const { latency, good } = known(web(result).classes?.[name])
		return [latency.meanMs * good, good]
	}

const scaled = (law: Distribution, factor: number): Distribution =>
	typeof law === 'number' ? law * factor : { kind: 'exponential', meanMs: MEAN_MS * factor }

describe('M/G/1 with three priorities, by Cobham', () => {
	const classes = {
		bronze: { share: 0.3, serviceTimeFactor: 2 },
		gold: { share: 0.2, priority: 2 },
		silver: { share: 0.5, priority: 1 },
	}
	test.each<[string, Distribution]>([
		['exponential', exponential],
		['constant', MEAN_MS],
	])('with %s service times: latency of each class', (_, law) => {
		const perMs = 0.7 / (1.3 * MEAN_MS)
		const { clients, ...rest } = queue({ serviceTimeMs: law }, perMs, 25_000)
		const stretches = runs({ ...rest, clients: { web: { ...known(clients['web']), classes } } })
		const factors = { gold: 1, silver: 1, bronze: 2 }
		const names = ['gold', 'silver', 'bronze'] as const
		const models = names.map((name) => ({
			perMs: perMs * classes[name].share,
			moments: momentsOf(scaled(law, factors[name])),
		}))
		for (const [index, waitMs] of priorityWaitsMs(models).entries()) {
			const name = known(names[index])
			expectAgreement(samples(stretches, meanLatencyOf(name)), waitMs + MEAN_MS * factors[name], 0.06)
		}
	})
})

describe('M/M/1/K, by a limit on the queue', () => {
	test.each([
		[3, 0.7],
		[5, 1],
		[5, 1.6],
	])(
		'rejects and holds as many requests as expected with room for %i, one of them in work, and a load of %f',
		(places, load) => {
			const model: ServerModel = { serviceTimeMs: exponential, queue: { limit: places - 1 } }
			const stretches = runs(queue(model, load / MEAN_MS, 15_000))
			const { blocked, mean } = finiteQueue(places, load)
			expectAgreement(samples(stretches, rejectedShare), blocked)
			expectAgreement(samples(stretches, meanPresent), mean)
		},
	)
})
