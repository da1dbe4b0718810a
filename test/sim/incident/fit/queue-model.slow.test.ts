/** A log is explained by workers, faults and the queue that follows from them. */

import { describe, expect, test } from 'vitest'
import { pipeline, retry, timeout } from 'yaoki'
import { scenarioFromIncident } from '../../../../src/sim/incident/reader.ts'
import { type ProductionModel, produce, readService } from '../production.ts'

const naive = () => pipeline(retry({ maxRetries: 3, baseDelayMs: 100 }), timeout(500))

/** Four workers, 70 % busy. */
const base: ProductionModel = {
	perSecond: 56,
	seconds: 50,
	service: { workers: 4, serviceTimeMs: { kind: 'exponential', meanMs: 50 } },
}
const codes = (given: ReturnType<typeof scenarioFromIncident>) =>
	given.summary.caveats.map(({ code }) => code)

describe('a slowdown that retries turn into a lasting overload', () => {
	const { lines } = produce(
		{ ...base, faults: [{ kind: 'slowdown', factor: 3, fromMs: 15_000, toMs: 20_000 }] },
		naive,
	)
	const incident = scenarioFromIncident(lines, { workers: 4 })

	test('is not read as a fault that lasts: load explains the rest', () => {
		const [fault] = readService(incident.scenario).faults ?? []
		expect(fault).toMatchObject({ kind: 'slowdown' })
		expect(fault?.toMs).toBeLessThan(25_000)
		expect(incident.summary.attempts.explainedByLoad).toBeGreaterThan(4_000)
	})

	test('has a hidden end: the caveat and the alternatives contain the true end', () => {
		expect(codes(incident)).toContain('hidden-end')
		const [min = 0, max = 0] = incident.summary.faults[0]?.endsBetweenMs ?? []
		expect(min).toBeLessThan(20_000)
		expect(max).toBeGreaterThan(20_000)
		expect(incident.alternatives.length).toBeGreaterThan(0)
	})

	test('is reproduced by the scenario', () => {
		const { recordedShare, predictedShare, difference } = incident.summary.reproduction
		expect(Math.abs(recordedShare - predictedShare)).toBeLessThan(0.05)
		expect(difference).toBeLessThan(0.05)
		expect(codes(incident)).not.toContain('not-reproduced')
	})

	test('estimates the workers if they are not given', () => {
		const { summary, alternatives } = scenarioFromIncident(lines)
		const [min, max] = summary.workers.between
		expect(summary.workers.isGiven).toBe(false)
		expect(min).toBeLessThanOrEqual(4)
		expect(max).toBeGreaterThanOrEqual(4)
		expect(alternatives.map((scenario) => readService(scenario).workers)).toContain(min)
	})
})

test('workers that the log contradicts do not reproduce it, which is a caveat', () => {
	const { lines } = produce({ ...base, faults: [{ kind: 'outage', fromMs: 15_000, toMs: 20_000 }] }, naive)
	expect(codes(scenarioFromIncident(lines, { workers: 4 }))).not.toContain('not-reproduced')
	const { caveats } = scenarioFromIncident(lines, { workers: 1 }).summary
	expect(caveats.find(({ code }) => code === 'not-reproduced')?.missing?.shownBy).toContain(
		'processes concurrently (the option workers), or metrics',
	)
})

test('a peak of load at a service of known capacity is not a fault', () => {
	const calls = Array.from({ length: 4_000 }, (_, index) => {
		// From second 20 to 23, twice as many calls as one worker can process in 10 ms each; then the queue drains.
		const ms =
			index < 1_000
				? index * 20
				: index < 1_600
					? 20_000 + (index - 1_000) * 5
					: 23_000 + (index - 1_600) * 20
		const waitMs = ms < 20_000 ? 0 : ms < 23_000 ? ms - 20_000 : Math.max(0, 3_000 - (ms - 23_000) / 2)
		const durationMs = 10 + waitMs
		return JSON.stringify({
			type: 'success',
			emitter: 'b',
			callId: `${index}`,
			durationMs,
			timestamp: 1e12 + ms + durationMs,
		})
	})
	expect(readService(scenarioFromIncident(calls, { workers: 1 }).scenario).faults).toEqual([])
})
