/** The text of an incident, also in the guide. */

import { describe, expect, test } from 'vitest'
import { circuitBreaker, pipeline, retry, timeout } from 'yaoki'
import { scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import { formatIncident } from '../../../src/sim/incident/summary.ts'
import { blocks, page } from '../../examples/markdown.ts'
import { produce, STORM } from './production.ts'

test('the guide shows the text of a retry storm', () => {
	const make = () => pipeline(retry({ name: 'users retry', maxRetries: 3, baseDelayMs: 100 }), timeout(500))
	const { lines } = produce(STORM, make, (event) => ({ ...event, pipeline: 'users' }))
	const { summary } = scenarioFromIncident(lines, { workers: 10 })
	const shown = blocks(page('docs/guide/incident-replay.md')).find(({ language }) => language === 'sh')
	expect(shown?.prints).toBe(`${formatIncident(summary)}\n`)
})

describe('the text', () => {
	test('has skipped lines and caveats', () => {
		const make = () => pipeline(circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 10_000 }), timeout(300))
		const { lines } = produce(
			{
				seconds: 120,
				perSecond: 20,
				faults: [
					{ kind: 'errors', rate: 0.01, fromMs: 0, toMs: 30_000 },
					{ kind: 'outage', fromMs: 40_000, toMs: 55_000 },
					{ kind: 'slowdown', factor: 5, fromMs: 110_000, toMs: 200_000 },
				],
			},
			make,
		)
		const stray = JSON.stringify({
			type: 'success',
			emitter: 'circuitBreaker',
			callId: 'stray',
			timestamp: 0,
			durationMs: 1,
		})
		const { summary } = scenarioFromIncident(['hello', stray, ...lines])
		expect(formatIncident(summary)).toMatchInlineSnapshot(`
			"Incident: 2026-01-01 00:00:00 to 00:02:00 UTC (120 s)
			  lines     2,423, 2,408 used; 1 unreadable (first: line 1, not JSON); 1 an hour or more apart
			  source    circuitBreaker
			  calls     2,408: 1,986 good, 21 failed, 401 rejected
			  attempts  2,007: 1,986 responded, 13 failed, 8 timed out
			  workers   no limit visible, at least 3
			  latency   p50 19.6 ms, p99 121 ms outside of faults
			  faults
			    00:00:40 to 00:00:55 (15.4 s): outage with refused connections, seen in 6 of 6 attempts
			    00:01:50 to 00:02:00 (10 s): slowdown by a factor of 4.74, seen in 181 of 197 attempts
			  caveats
			    The outage at 00:00:40 may have ended at any time from 00:00:50 to 00:01:00: there were no attempts in between.
			    The slowdown at 00:01:50 was not over when the events end; the replay ends it there.
			    The events show no limit of the service; it may have 3 or more workers. Set the number of requests that the service processes concurrently, if you know it.
			    Outside of faults 0.35 % of the attempts failed; the replay leaves them out.
			    Events an hour or more apart were left out: they are from another day, or from a wrong clock."
		`)
	})

	test('has no faults if there were none', () => {
		const { lines } = produce({ seconds: 10 }, () => retry({ name: 'calm' }))
		expect(formatIncident(scenarioFromIncident(lines).summary)).toMatchInlineSnapshot(`
			"Incident: 2026-01-01 00:00:00 to 00:00:10 UTC (10 s)
			  lines     503, 503 used
			  source    calm
			  calls     503: 503 good, 0 failed, 0 rejected
			  attempts  503: 503 responded, 0 failed, 0 timed out
			  workers   no limit visible, at least 3
			  latency   p50 19.6 ms, p99 99.3 ms outside of faults
			  faults    none"
		`)
	})
})
