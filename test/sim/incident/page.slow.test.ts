/** What is printed of an incident, and that the guide shows the same. */

import { describe, expect, test } from 'vitest'
import { circuitBreaker, pipeline, retry, timeout } from 'yaoki'
import { scenarioFromIncident } from '../../../src/sim/incident/incident-scenario.ts'
import { formatIncident } from '../../../src/sim/incident/summary.ts'
import { blocks, page } from '../../examples/markdown.ts'
import { produce, STORM } from './production.ts'

test('the guide shows what a retry storm prints', () => {
	const make = () => pipeline(retry({ name: 'users retry', maxRetries: 3, baseDelayMs: 100 }), timeout(500))
	const { lines } = produce(STORM, make, (event) => ({ ...event, pipeline: 'users' }))
	const { summary } = scenarioFromIncident(lines, { workers: 10 })
	const shown = blocks(page('docs/guide/incident-replay.md')).find(({ language }) => language === 'sh')
	expect(shown?.prints).toBe(`${formatIncident(summary)}\n`)
})

describe('the text', () => {
	test('says what was left out, and what could not be known', () => {
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
		const stray = JSON.stringify({ type: 'success', policy: 'circuitBreaker', timestamp: 0, durationMs: 1 })
		const { summary } = scenarioFromIncident(['hello', stray, ...lines])
		expect(formatIncident(summary)).toMatchInlineSnapshot(`
			"incident: 2026-01-01 00:00:00 to 00:02:00 UTC, 120 s
			  lines     2,423, 2,416 of them used; 1 unreadable (the first is line 1, not JSON); 1 an hour or more apart
			  calls     2,408: 1,986 good, 21 failed, 401 refused (told by circuitBreaker)
			  attempts  2,007: 1,986 answered, 13 failed, 8 hung (told by circuitBreaker)
			  service   half of the answers within 19.6 ms, 99 % within 121 ms
			  faults
			    00:00:40 to 00:00:55, 15.4 s: outage with refusals (seen by 6 of 6 attempts)
			    00:01:50 to 00:02:00, 10 s: 4.74 times as slow (seen by 181 of 197 attempts)
			  notes
			    The outage of 00:00:40 may have ended at any time from 00:00:50 to 00:01:00, for nobody tried in between.
			    The slowdown of 00:01:50 was not over when the events end; the replay ends it there.
			    Slow and missing answers are all blamed on the service. If load made it slow, say how many requests it works on at once.
			    Outside of faults 0.353 % of the attempts failed; the replay leaves them out.
			    Events that stand an hour or more apart were left out: another day, or a clock that is wrong."
		`)
	})

	test('says when there was nothing wrong', () => {
		const { lines } = produce({ seconds: 10 }, () => retry({ name: 'calm' }))
		expect(formatIncident(scenarioFromIncident(lines).summary)).toMatchInlineSnapshot(`
			"incident: 2026-01-01 00:00:00 to 00:00:10 UTC, 10 s
			  lines     503, 503 of them used
			  calls     503: 503 good, 0 failed, 0 refused (told by calm)
			  attempts  503: 503 answered, 0 failed, 0 hung (told by calm)
			  service   half of the answers within 19.6 ms, 99 % within 99.3 ms
			  faults    none"
		`)
	})
})
