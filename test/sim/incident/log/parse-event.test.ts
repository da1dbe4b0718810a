import { describe, expect, test } from 'vitest'
import { droppedCount, isUsed, parseEvent } from '../../../../src/sim/incident/log/parse-event.ts'

const base = { emitter: 'retry', timestamp: 1_767_225_600_000, callId: 'a' }
const success = { ...base, type: 'retry_success', attempts: 2, durationMs: 30 }

const parse = (event: unknown) => parseEvent(JSON.stringify(event))

describe('a line', () => {
	test('is an event with all its fields', () => {
		expect(parse({ ...success, service: 'api' })).toEqual({ ...success, service: 'api' })
	})

	test.each(['', 'server listens on 8080', '{"type":', 'null', '{'])(
		'is skipped if it is no JSON object: %s',
		(line) => {
			expect(parseEvent(line)).toBe('not JSON')
		},
	)

	test.each([[[{}]], [{}], [{ ...success, type: 'unknown' }], [{ ...success, type: 'toString' }]])(
		'is skipped if another writer wrote it: %j',
		(event) => {
			expect(parse(event)).toBe('not an event')
		},
	)

	test.each([
		['emitter', undefined],
		['emitter', 5],
		['timestamp', 'now'],
		['timestamp', -1],
		['timestamp', 9e15],
		['pipeline', 5],
		['callId', 5],
		['attempts', undefined],
		['attempts', '2'],
		['durationMs', null],
	])('is skipped without a valid %s: %s', (name, value) => {
		expect(parse({ ...success, [name]: value })).toBe('an event without all required fields')
	})

	test('needs the text that tells why an attempt ended', () => {
		const retried = { ...base, type: 'retry_attempt', attempt: 1, delayMs: 100 }
		expect(parse(retried)).toBe('an event without all required fields')
		expect(parse({ ...retried, outcome: 'transient' })).toMatchObject({ outcome: 'transient' })
	})
})

test('only events that say something about a call are used', () => {
	const used = ['retry_success', 'fallback', 'relay_sent'].map((type) => isUsed({ ...success, type }))
	expect(used).toEqual([true, false, false])
})

test('only the event log itself reports dropped events', () => {
	const dropped = { ...base, type: 'telemetry_events_dropped', count: 7 }
	expect(droppedCount(dropped)).toBe(7)
	expect(droppedCount({ ...dropped, type: 'relay_sent' })).toBe(0)
	expect(droppedCount({ ...base, type: 'telemetry_events_dropped' })).toBe(0)
})
