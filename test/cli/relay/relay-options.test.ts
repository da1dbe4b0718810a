import { describe, expect, test } from 'vitest'
import { parseDestinationUrl, parseHeaders } from '../../../src/cli/relay/options.ts'
import { RelaySummary } from '../../../src/cli/relay/summary.ts'
import type { RelayEvent } from '../../../src/outbox/events/relay-events.ts'

describe('parseDestinationUrl', () => {
	test('accepts an HTTP URL', () => {
		expect(parseDestinationUrl('https://hooks.internal/events?a=1').href).toBe(
			'https://hooks.internal/events?a=1',
		)
	})

	test.each([
		[undefined, '--to is required'],
		['hooks.internal', '--to must be a URL that starts with http://'],
		['ftp://hooks.internal', '--to must be a URL that starts with http://'],
		['https://ada:hunter2@hooks.internal', '--to must not contain a password.'],
	])('rejects %s without repeating it', (to, message) => {
		expect(() => parseDestinationUrl(to)).toThrow(message)
		expect(() => parseDestinationUrl(to)).not.toThrow(/hunter2/)
	})
})

describe('parseHeaders', () => {
	test('parses lines of the form name: value', () => {
		expect(parseHeaders(['Authorization: Bearer a:b', 'x-one:1', 'X-Two:'])).toEqual({
			authorization: 'Bearer a:b',
			'x-one': '1',
			'x-two': '',
		})
	})

	test.each(['no colon', ': hunter2', 'bad name: hunter2', 'x: hunter2\nevil: 1'])(
		'rejects %j without repeating its value',
		(line) => {
			expect(() => parseHeaders(['a: b', line])).toThrow(
				"--header number 2 must have the form 'name: value'.",
			)
		},
	)
})

describe('RelaySummary', () => {
	const base = { emitter: 'r', timestamp: 0, messageId: '1', topic: 't', destination: 'billing', attempts: 1 }
	const sent: RelayEvent = { ...base, type: 'relay_sent', durationMs: 1, lagMs: 1 }
	const failed: RelayEvent = {
		...base,
		type: 'relay_retry_scheduled',
		durationMs: 1,
		delayMs: 1,
		errorType: 'HttpError',
		errorMessage: '503\x1b[2J',
	}

	test('takeLine returns the counts since the last call with the latest failure, or undefined', () => {
		const summary = new RelaySummary()
		for (const event of [sent, sent, failed]) expect(summary.add(event)).toBeUndefined()
		expect(summary.takeLine()).toBe('sent 2, failed 1; latest failure: HttpError: 503\uFFFD[2J (billing)')
		expect(summary.takeLine()).toBeUndefined()
		summary.add(sent)
		expect(summary.takeLine()).toBe('sent 1')
		expect(summary.text()).toBe('Total: sent 3, failed 1.')
	})

	test.each<
		[Pick<RelayEvent & { type: 'relay_dead_letter' }, 'cause' | 'errorType' | 'errorMessage'>, string]
	>([
		[{ cause: 'expired' }, 'expired'],
		[{ cause: 'permanent', errorType: 'HttpError', errorMessage: 'HTTP 422: no' }, 'HttpError: HTTP 422: no'],
	])('reports the cause of a letter without an error: %o', (death, failure) => {
		const summary = new RelaySummary()
		summary.add({ ...base, type: 'relay_dead_letter', ...death })
		expect(summary.takeLine()).toBe(`dead 1; latest failure: ${failure} (billing)`)
	})

	test('text reports that nothing was sent', () => {
		expect(new RelaySummary().text()).toBe('Total: sent 0.')
	})

	test.each<[RelayEvent, string]>([
		[
			{
				emitter: 'r',
				timestamp: 0,
				type: 'relay_state_change',
				destination: 'billing',
				from: 'closed',
				to: 'open',
				pausedForMs: 10_000,
				reason: 'circuit-open',
			},
			'billing: circuit open, paused for 10 s (circuit-open)',
		],
		[
			{
				emitter: 'r',
				timestamp: 0,
				type: 'relay_store_error',
				operation: 'claim',
				errorType: 'Error',
				errorMessage: 'gone',
				retryInMs: 500,
			},
			'database error (claim: gone); retry in 500 ms',
		],
		[
			{ emitter: 'r', timestamp: 0, type: 'relay_handlers_hung', destination: 'billing', count: 16 },
			'billing: 16 requests ignored the timeout and still run; sending resumes when one ends',
		],
		[
			{ emitter: 'r', timestamp: 0, type: 'relay_store_recovered', operation: 'claim' },
			'database recovered (claim)',
		],
	])('add returns a line for a change of the situation', (event, line) => {
		expect(new RelaySummary().add(event)).toBe(line)
	})
})
