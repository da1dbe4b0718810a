import { invalidOption } from '../../core/options/schema.ts'
import type { Incident } from './incident.ts'
import { splitLines } from './lines.ts'
import type { IncidentOptions } from './options.ts'
import { IncidentReader } from './reader.ts'

/**
 * Turns events that production wrote, one JSON object a line, into a scenario: when calls came, what the service did, and when it
 * failed. For what comes from a stream there is `IncidentReader`.
 *
 * @example
 * const { scenario, summary } = scenarioFromIncident(text, { pipeline: 'users' })
 * console.log(formatIncident(summary))
 * const result = simulate({ ...scenario, policies: { replay: [{ retry: { maxRetries: 3 } }, { timeout: 1_000 }] } })
 */
export function scenarioFromIncident(
	lines: string | Iterable<string>,
	options: IncidentOptions = {},
): Incident {
	const reader = new IncidentReader(options)
	if (typeof lines !== 'string' && typeof Object(lines)[Symbol.iterator] !== 'function')
		invalidOption('lines', lines, 'a text, or lines to go through')
	for (const line of typeof lines === 'string' ? splitLines(lines) : lines) reader.add(line)
	return reader.finish()
}
