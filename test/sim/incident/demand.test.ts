/** Calls are demand and retries are not; where they cannot be separated, there is a caveat. */

import { describe, expect, test } from 'vitest'
import { pipeline, retry, timeout } from 'yaoki'
import { scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import { type ProductionModel, produce, readArrivals } from './production.ts'

const model: ProductionModel = {
	seconds: 40,
	faults: [{ kind: 'errors', rate: 0.4, fromMs: 15_000, toMs: 25_000 }],
}
const retries = () => pipeline(retry({ name: 'outer', maxRetries: 3, baseDelayMs: 100 }), timeout(500))
const { lines, truth } = produce(model, retries)
const codes = (given: ReturnType<typeof scenarioFromIncident>) =>
	given.summary.caveats.map(({ code }) => code)

test('retries of the pipeline are not demand', () => {
	const incident = scenarioFromIncident(lines)
	expect(readArrivals(incident.scenario)).toHaveLength(truth.clients['web']?.calls ?? 0)
	expect(incident.summary.attempts.total).toBeGreaterThan(incident.summary.calls.total + 200)
	expect(incident.summary.demand).toEqual({ excessShare: 0, nestedRetries: 0, unfinished: 0, withoutId: 0 })
	expect(codes(incident)).not.toContain('unseparated-demand')
})

test('several processes with the same policy are one demand', () => {
	const other = lines.map((line) => {
		const event = JSON.parse(line)
		return JSON.stringify({ ...event, callId: `b${event.callId}` })
	})
	const { scenario, summary } = scenarioFromIncident([...lines, ...other])
	expect(readArrivals(scenario)).toHaveLength(2 * (truth.clients['web']?.calls ?? 0))
	expect(summary.demand.unfinished).toBe(0)
})

describe('calls that are still retrying when the events end', () => {
	/** The events until 20 s after the start. */
	const cut = lines.filter(
		(line) => JSON.parse(line).timestamp < JSON.parse(lines[0] ?? '').timestamp + 20_000,
	)
	const calls = new Set(cut.map((line) => JSON.parse(line).callId))

	test('are demand, with a caveat', () => {
		const incident = scenarioFromIncident(cut)
		const { calls: counts, demand } = incident.summary
		expect(demand.unfinished).toBeGreaterThan(0)
		expect(counts.unknown).toBe(demand.unfinished)
		expect(readArrivals(incident.scenario)).toHaveLength(calls.size)
		expect(codes(incident)).toContain('unfinished-calls')
	})
})

describe('events without call ids', () => {
	const anonymous = lines.map((line) => JSON.stringify({ ...JSON.parse(line), callId: undefined }))

	test('count each call once, with a caveat', () => {
		const incident = scenarioFromIncident(anonymous)
		expect(readArrivals(incident.scenario)).toHaveLength(truth.clients['web']?.calls ?? 0)
		expect(incident.summary.demand).toMatchObject({ withoutId: incident.summary.events, unfinished: 0 })
		expect(codes(incident)).toContain('missing-call-ids')
	})
})

test('retries of an inner policy are a caveat if the outer one is chosen', () => {
	const nested = () =>
		pipeline(
			retry({ name: 'outer', maxRetries: 1, baseDelayMs: 100 }),
			retry({ name: 'inner', maxRetries: 1, baseDelayMs: 50 }),
		)
	const produced = produce(model, nested)
	const incident = scenarioFromIncident(produced.lines, { policy: 'outer' })
	expect(readArrivals(incident.scenario)).toHaveLength(produced.truth.clients['web']?.calls ?? 0)
	expect(incident.summary.demand.nestedRetries).toBeGreaterThan(100)
	expect(codes(incident)).toContain('nested-retries')
})

describe('callers that call again after a failure', () => {
	/** Breaker events of one call every 20 ms, and of three during the fault, from second 20 to 30. */
	const calls = Array.from({ length: 50 * 50 }, (_, index) => index * 20).flatMap((ms) => {
		const isFailing = ms >= 20_000 && ms < 30_000
		return (isFailing ? [0, 5, 10] : [0]).map((offset) => {
			const event = {
				emitter: 'b',
				callId: `${ms} ${offset}`,
				durationMs: 3,
				timestamp: 1e12 + ms + offset + 3,
			}
			return JSON.stringify({ ...event, type: isFailing ? 'failure' : 'success' })
		})
	})

	test('cannot be separated from demand: there is a caveat, and an alternative with the normal rate', () => {
		const incident = scenarioFromIncident(calls)
		expect(incident.summary.demand.excessShare).toBeCloseTo(2 / 3, 2)
		expect(codes(incident)).toContain('unseparated-demand')
		const demands = incident.alternatives.map((scenario) => readArrivals(scenario).length)
		expect(Math.min(...demands)).toBeLessThan(2_600)
		expect(readArrivals(incident.scenario)).toHaveLength(3_500)
	})
})
