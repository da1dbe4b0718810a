import { expect, test } from 'vitest'
import { pipeline, retry, timeout } from 'yaoki'
import { type PolicyLayer, scenarioFromIncident, simulate } from 'yaoki/sim'
import { formatIncident } from '../../../src/sim/incident/summary.ts'
import { type ProductionModel, produce, truthOf } from './production.ts'

/** One of four instances hangs, and the load balancer does not notice. */
const model: ProductionModel = {
	perSecond: 80,
	seconds: 90,
	faults: [{ kind: 'outage', mode: 'hang', instances: 1, fromMs: 30_000, toMs: 60_000 }],
	service: { workers: 20, instances: 4 },
}

const recorded = () => pipeline(retry({ maxRetries: 2, baseDelayMs: 100 }), timeout(400))
const replayed: readonly PolicyLayer[] = [
	{ retry: { maxRetries: 3, baseDelayMs: 100 } },
	{ timeoutMs: 1_000 },
]

test('a share of requests without a response waits for the timeout in the replay, as in the truth', () => {
	const { scenario, summary } = scenarioFromIncident(produce(model, recorded).lines)
	expect(summary.faults.map(({ fault }) => fault)).toEqual([
		expect.objectContaining({ kind: 'outage', mode: 'hang', share: expect.closeTo(0.25, 1) }),
	])
	const text = formatIncident(summary)
	expect(text).toMatch(/outage without responses for 2\d(\.\d)? % of the requests/)
	expect(text).not.toContain('504')
	const replay = simulate({ ...scenario, policies: { replay: replayed } }).totals
	const truth = truthOf(model, replayed).totals
	expect(replay.latency.p99Ms / truth.latency.p99Ms).toBeCloseTo(1, 1)
	expect(replay.goodShare).toBeCloseTo(truth.goodShare, 2)
})
