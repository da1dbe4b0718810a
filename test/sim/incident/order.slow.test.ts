/** Logs of several processes are merged in any order, so the order of lines must not matter. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { circuitBreaker, type Policy, pipeline, retry, timeout } from 'yaoki'
import { simulate } from 'yaoki/sim'
import { scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import { produce } from './production.ts'

const makers: Readonly<Record<string, () => Policy>> = {
	retry: () => pipeline(retry({ maxRetries: 2, baseDelayMs: 50 }), timeout(300)),
	breaker: () => pipeline(circuitBreaker({ failureThreshold: 3, resetTimeoutMs: 300 }), timeout(300)),
	both: () => pipeline(retry({ maxRetries: 2 }), circuitBreaker({ failureThreshold: 3 }), timeout(300)),
}

describe.each(Object.entries(makers))('the incident from the events of: %s', (_, make) => {
	const { lines } = produce(
		{
			seconds: 20,
			perSecond: 15,
			service: { workers: 2 },
			faults: [
				{ kind: 'outage', mode: 'hang', fromMs: 5_000, toMs: 8_000 },
				{ kind: 'errors', rate: 0.5, fromMs: 12_000, toMs: 16_000 },
			],
		},
		make,
	)

	test.each([{}, { workers: 2 }])('does not depend on the order of lines, with %j', (options) => {
		const inOrder = scenarioFromIncident(lines, options)
		fc.assert(
			fc.property(fc.shuffledSubarray([...lines], { minLength: lines.length }), (shuffled) => {
				expect(scenarioFromIncident(shuffled, options)).toEqual(inOrder)
			}),
			{ numRuns: 15 },
		)
	})

	test('is the same from a string', () => {
		expect(scenarioFromIncident(lines.join('\n'))).toEqual(scenarioFromIncident(lines))
	})
})

test('any subset of the lines is an incident or is rejected', () => {
	const { lines } = produce(
		{ seconds: 10, perSecond: 10, faults: [{ kind: 'outage', fromMs: 3_000, toMs: 6_000 }] },
		() => pipeline(retry({ maxRetries: 2 }), circuitBreaker({ failureThreshold: 2 }), timeout(300)),
	)
	fc.assert(
		fc.property(fc.subarray([...lines]), (some) => {
			try {
				const { scenario, summary } = scenarioFromIncident(some)
				const { calls } = simulate(scenario).clients
				expect(calls?.calls).toBe(summary.calls.total)
			} catch (error) {
				expect(error).toHaveProperty('code', expect.stringMatching(/^YAOKI_INVALID_(ARGUMENT|OPTION)$/))
			}
		}),
	)
})
