/** The state of the page: URL, times, actions, collected series, preferences. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
	type ActionRequest,
	actionsOfStatus,
	type Entered,
	requestsForChosen,
	selectionOfFilter,
	toAction,
} from '../../../dashboard-page/state/action.ts'
import { addOverview, type Histories } from '../../../dashboard-page/state/history.ts'
import { readPreferences } from '../../../dashboard-page/state/preferences.ts'
import {
	formatAbsolute,
	formatRelative,
	fromLocalInput,
	readTime,
	toLocalInput,
} from '../../../dashboard-page/state/time.ts'
import { formatRoute, parseRoute, routeTo, toQuery } from '../../../dashboard-page/state/url.ts'
import { en } from '../../../src/dashboard/words/en.ts'
import { sampleOverview } from './sample.ts'

describe('URL', () => {
	test('every filter of a search comes back from the query string', () => {
		const text = fc.string({ minLength: 1, unit: 'grapheme' })
		fc.assert(
			fc.property(text, text, text, (id, key, path) => {
				const route = routeTo('messages', { outbox: 'orders', id, key, path })
				expect(parseRoute(formatRoute(route))).toEqual(route)
			}),
		)
	})

	test('empty and unknown parameters are dropped, and the order is fixed', () => {
		expect(formatRoute(routeTo('messages', { status: 'dead', id: '', other: 'x', outbox: 'orders' }))).toBe(
			'?view=messages&outbox=orders&status=dead',
		)
	})

	test('the overview has an empty query, and unknown views lead to it', () => {
		expect(formatRoute(routeTo('overview'))).toBe('?')
		for (const search of ['', '?', '?view=', '?view=toString', '?view=__proto__', '?id=7'])
			expect(parseRoute(search)).toEqual({ view: 'overview', filter: {} })
	})

	test('a query of the API has no empty parameter', () => {
		expect(toQuery({ outbox: 'a&b', key: '', id: undefined })).toBe('?outbox=a%26b')
		expect(toQuery({})).toBe('')
	})
})

describe('times', () => {
	const moment = Date.UTC(2026, 10, 19, 4, 52, 1)

	test('an absolute time has the time zone', () => {
		expect(formatAbsolute(moment, 'UTC')).toBe('2026-11-19 04:52:01 UTC')
		expect(formatAbsolute(moment, 'Asia/Tokyo')).toBe('2026-11-19 13:52:01 GMT+9')
		expect(formatAbsolute(Date.UTC(2026, 10, 19, 0, 0, 5), 'UTC')).toBe('2026-11-19 00:00:05 UTC')
	})

	test('what is newer than the clock of the page has just happened', () => {
		const relative = [-3_000, 0, 900, 5_000].map((offset) => formatRelative(en, moment + offset, moment))
		expect(relative).toEqual(['3 s ago', 'just now', 'just now', 'in 5 s'])
	})

	test('a field has the time of the reader, to the second', () => {
		expect(toLocalInput(moment, 'Asia/Tokyo')).toBe('2026-11-19T13:52:01')
		expect(fromLocalInput(toLocalInput(moment))).toBe(moment)
		expect([fromLocalInput(''), fromLocalInput('tomorrow')]).toEqual([undefined, undefined])
	})

	test('a time of the URL is a number of milliseconds, or nothing', () => {
		expect(['1795000000000', '', '-1', '1e9', 'x', undefined].map(readTime)).toEqual([
			1_795_000_000_000,
			...Array(5).fill(undefined),
		])
	})
})

describe('actions', () => {
	const entered: Entered = { reason: ' fixed ', canary: true, perSecond: 5, minutes: 10, from: undefined }
	const request = (action: ActionRequest['action'], more: Partial<ActionRequest> = {}): ActionRequest => ({
		action,
		source: 'orders',
		subject: 'email',
		...more,
	})

	test('a replay has its canary, rate and reason', () => {
		expect(toAction(request('replay', { selection: { all: true } }), entered)).toEqual({
			action: 'replay',
			source: 'orders',
			selection: { all: true },
			canary: true,
			perSecond: 5,
			reason: 'fixed',
		})
	})

	test('a time is a condition, so that "all" is not needed', () => {
		const action = toAction(request('replay', { selection: { all: true } }), { ...entered, from: 7 })
		expect(action).toMatchObject({ selection: { from: 7 } })
		expect(action).not.toHaveProperty('selection.all')
	})

	test('the messages of a search have the actions of their status', () => {
		expect(actionsOfStatus('dead')).toEqual(['replay', 'discard'])
		// A discard is about dead letters, and would delete others than those that are listed.
		expect(actionsOfStatus('pending')).toEqual(['retry', 'expire'])
		for (const status of ['in-flight', 'sent', 'unknown']) expect(actionsOfStatus(status)).toEqual([])
	})

	test('an action on chosen messages leaves out those that it cannot change, because one of them rejects all', () => {
		const statuses = ['dead', 'pending', 'in-flight', 'dead', 'sent', 'discarded'] as const
		const rows = statuses.map((status, index) => ({ id: String(index), status }))
		const about = (count: number, ...ids: string[]) => ({
			source: 'orders',
			subject: `${count} chosen`,
			selection: { ids },
		})
		expect(requestsForChosen('orders', rows, (count) => `${count} chosen`)).toEqual([
			{ action: 'retry', ...about(1, '1') },
			{ action: 'expire', ...about(1, '1') },
			{ action: 'replay', ...about(2, '0', '3') },
			{ action: 'discard', ...about(2, '0', '3') },
		])
	})

	test.each([
		['pause', { destination: 'email', forMs: 600_000 }],
		['resume', { destination: 'email' }],
		['isolate', { circuit: 'email' }],
		['disable-endpoint', { id: 'email' }],
	] as const)('%s names its target', (action, expected) => {
		expect(toAction(request(action, { target: 'email' }), entered)).toEqual({
			action,
			source: 'orders',
			reason: 'fixed',
			...expected,
		})
	})

	test('sending again to an endpoint requires a time', () => {
		expect(toAction(request('resend-endpoint', { target: 'ep' }), entered)).toBeUndefined()
		expect(toAction(request('resend-endpoint', { target: 'ep' }), { ...entered, from: 7 })).toMatchObject({
			id: 'ep',
			since: 7,
			perSecond: 5,
		})
	})

	test('a search becomes a selection, unless an action cannot have its conditions', () => {
		expect(selectionOfFilter({ outbox: 'orders', status: 'dead' })).toEqual({ status: 'dead', all: true })
		expect(selectionOfFilter({ status: 'pending', destination: 'email' })).toEqual({
			status: 'pending',
			destination: 'email',
		})
		for (const status of ['in-flight', 'sent', 'discarded'])
			expect(selectionOfFilter({ status, destination: 'email' })).toBeUndefined()
		expect(selectionOfFilter({ id: 'a', destination: 'email', from: '7' })).toEqual({
			ids: ['a'],
			destination: 'email',
			from: 7,
		})
		expect(selectionOfFilter({ text: '503' })).toBeUndefined()
		expect(selectionOfFilter({ path: 'customer.id', value: '7' })).toBeUndefined()
	})
})

describe('series', () => {
	test('one point per overview, and none twice', () => {
		const first = addOverview({}, sampleOverview(1_000))
		const second = addOverview(addOverview(first, sampleOverview(3_000)), sampleOverview(3_000))
		expect(second['orders']?.at).toEqual([1, 3])
		expect(second['billing']).toMatchObject({ due: [48, 48], dead: [0, 0], throughput: [0, 0] })
	})

	test('a clock that was set back begins them anew, and a slightly older overview changes nothing', () => {
		const before = addOverview(addOverview({}, sampleOverview(7_200_000)), sampleOverview(7_202_000))
		expect(addOverview(before, sampleOverview(7_201_000))['orders']?.at).toEqual([7_200, 7_202])
		const after = addOverview(before, sampleOverview(3_600_000))
		expect(addOverview(after, sampleOverview(3_602_000))['orders']?.at).toEqual([3_600, 3_602])
	})

	test('at most 600 points are kept, the newest', () => {
		let histories: Histories = {}
		for (let index = 1; index <= 700; index++)
			histories = addOverview(histories, sampleOverview(index * 1_000))
		expect(histories['orders']?.at).toHaveLength(600)
		expect(histories['orders']?.at.at(-1)).toBe(700)
		expect(histories['orders']?.due).toHaveLength(600)
	})
})

describe('preferences', () => {
	test('the language is the one of the browser until the reader chooses', () => {
		expect(readPreferences(null, 'ja-JP').language).toBe('ja')
		expect(readPreferences(null, 'jam').language).toBe('en')
		expect(readPreferences('{"language":"en"}', 'ja').language).toBe('en')
	})

	test('what is stored but not valid is ignored', () => {
		const defaults = { language: 'en', theme: 'auto', times: 'relative', shortcuts: 'on' }
		for (const stored of ['', '{', 'null', '[]', '7', '{"theme":"pink","times":7,"language":null}'])
			expect(readPreferences(stored, 'en-US')).toEqual(defaults)
	})
})
