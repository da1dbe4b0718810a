import { describe, expect, test } from 'vitest'
import { readHeaders, readReceiver } from '../../../src/cli/relay/receiver-options.ts'
import { Summary } from '../../../src/cli/relay/summary.ts'
import type { RelayEvent } from '../../../src/outbox/relay/events.ts'

describe('where a relay sends to', () => {
	test('is an address of HTTP', () => {
		expect(readReceiver('https://hooks.internal/events?a=1').href).toBe('https://hooks.internal/events?a=1')
	})

	test.each([
		[undefined, '--to is missing'],
		['hooks.internal', '--to takes an address that begins with http://'],
		['ftp://hooks.internal', '--to takes an address that begins with http://'],
		['https://ada:hunter2@hooks.internal', '--to takes an address without a password'],
	])('%s is refused, and not repeated', (to, message) => {
		expect(() => readReceiver(to)).toThrow(message)
		expect(() => readReceiver(to)).not.toThrow(/hunter2/)
	})
})

describe('headers', () => {
	test('are written as in HTTP', () => {
		expect(readHeaders(['Authorization: Bearer a:b', 'x-one:1', 'X-Two:'])).toEqual({
			authorization: 'Bearer a:b',
			'x-one': '1',
			'x-two': '',
		})
	})

	test.each(['no colon', ': hunter2', 'bad name: hunter2', 'x: hunter2\nevil: 1'])(
		'%j is none, and its value is not repeated',
		(line) => {
			expect(() => readHeaders(['a: b', line])).toThrow("--header takes 'name: value', which number 2 is not")
		},
	)
})

describe('what a relay did', () => {
	const base = { relay: 'r', timestamp: 0, id: '1', topic: 't', destination: 'billing', attempts: 1 }
	const sent: RelayEvent = { ...base, type: 'message_sent', durationMs: 1, lagMs: 1 }
	const failed: RelayEvent = {
		...{ ...base, type: 'message_failed', durationMs: 1, retryInMs: 1 },
		...{ errorType: 'HttpError', errorMessage: '503\x1b[2J' },
	}

	test('is one line for all that happened since the last, with the latest failure, and none for nothing', () => {
		const summary = new Summary()
		for (const event of [sent, sent, failed]) expect(summary.add(event)).toBeUndefined()
		expect(summary.line()).toBe('sent 2, failed 1; latest failure: HttpError: 503\uFFFD[2J (billing)')
		expect(summary.line()).toBeUndefined()
		summary.add(sent)
		expect(summary.line()).toBe('sent 1')
		expect(summary.text()).toBe('In all: sent 3, failed 1.')
	})

	test.each<[Pick<RelayEvent & { type: 'message_dead' }, 'cause' | 'errorType' | 'errorMessage'>, string]>([
		[{ cause: 'expired' }, 'expired'],
		[{ cause: 'permanent', errorType: 'HttpError', errorMessage: 'HTTP 422: no' }, 'HttpError: HTTP 422: no'],
	])('says of what died without an error why, and not "no reason given": %o', (death, told) => {
		const summary = new Summary()
		summary.add({ ...base, type: 'message_dead', ...death })
		expect(summary.line()).toBe(`dead 1; latest failure: ${told} (billing)`)
	})

	test('of nothing is told as that', () => {
		expect(new Summary().text()).toBe('In all: nothing was sent.')
	})

	test.each<[RelayEvent, string]>([
		[
			{
				...{ relay: 'r', timestamp: 0, type: 'gate_change', destination: 'billing', from: 'closed' },
				...{ to: 'open', pausedForMs: 10_000, reason: 'circuit-open' },
			},
			'billing: breaker open, held back for 10 s (circuit-open)',
		],
		[
			{
				...{ relay: 'r', timestamp: 0, type: 'store_failed', doing: 'claim', errorType: 'Error' },
				...{ errorMessage: 'gone', retryInMs: 500 },
			},
			'the database can not be asked (claim: gone); again in 500 ms',
		],
		[
			{ relay: 'r', timestamp: 0, type: 'handlers_hang', destination: 'billing', hanging: 16 },
			'billing: sending hangs beyond its time limit, 16 at a time; nothing more is sent there until one ends',
		],
		[{ relay: 'r', timestamp: 0, type: 'store_recovered', doing: 'claim' }, 'the database is back (claim)'],
	])('is told at once when it changes the situation', (event, told) => {
		expect(new Summary().add(event)).toBe(told)
	})
})
