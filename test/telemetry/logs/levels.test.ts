/** The table of levels: complete, and the same in the guide. */
import { expect, test } from 'vitest'
import type { IdempotencyEvent } from 'yaoki/idempotency'
import { OTHER_TYPES, parseEvent } from '../../../src/sim/incident/log/parse-event.ts'
import { LEVELS, LOG_LEVELS, levelOf } from '../../../src/telemetry/logs/levels.ts'
import { page, table } from '../../examples/markdown.ts'
import { eventOf } from '../source.ts'

const code = (name: string) => `\`${name}\``

/** Returns the events of a level as the guide writes them. */
function eventsOf(level: string): string {
	const cells = Object.entries(LEVELS).flatMap(([type, rule]) => {
		if (typeof rule === 'string') return rule === level ? [code(type)] : []
		const { field, levels, otherwise } = rule
		const values = Object.keys(levels).filter((value) => levels[value] === level)
		return [
			...(values.length > 0 ? [`${code(type)} (${code(field)}: ${values.map(code).join(', ')})`] : []),
			...(otherwise === level ? [`${code(type)} (other ${code(field)})`] : []),
		]
	})
	return cells.join(', ')
}

test('the guide shows the level of every event', () => {
	const expected = [
		...LOG_LEVELS.toReversed().map((level) => [code(level), eventsOf(level)]),
		['not logged', eventsOf('not logged')],
	]
	expect(table(page('docs/guide/logging.md'), 'level', 'events')).toEqual(expected)
})

test('incident replay knows every event that an event log may contain', () => {
	for (const type of Object.keys(LEVELS))
		expect(parseEvent(JSON.stringify(eventOf(type))), type).not.toBe('not an event')
	for (const type of OTHER_TYPES) if (type !== 'telemetry_events_dropped') expect(LEVELS).toHaveProperty(type)
})

test('a repeated request is logged at debug while the first one runs (regression: the rule had a reason that does not exist)', () => {
	const reason: Extract<IdempotencyEvent, { type: 'idempotency_conflict' }>['reason'] = 'in-progress'
	expect(levelOf(eventOf('idempotency_conflict', { reason }))).toBe('debug')
	expect(levelOf(eventOf('idempotency_conflict', { reason: 'not-stored' }))).toBe('warn')
})
