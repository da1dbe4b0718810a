import { describe, expect, it } from 'vitest'
import { isMessageId, type MessageFilter, toFilter } from '../../../src/outbox/message/filter.ts'
import { toRecord } from '../../../src/outbox/message/record.ts'
import { idOf, letter, message, NOW } from '../diagnostics/fake-store.ts'

describe('a filter', () => {
	it('goes to the store with times in milliseconds', () => {
		const given: MessageFilter = {
			ids: [idOf(10).toUpperCase()],
			status: 'dead',
			topic: 't',
			destination: 'd',
			key: 'k',
			cause: 'expired',
			fingerprint: 'aaaaaaaaaaaa',
			since: new Date(NOW),
			until: new Date(NOW + 1),
		}
		expect(toFilter(given)).toEqual({ ...given, ids: [idOf(10)], since: NOW, until: NOW + 1 })
	})

	it('has no part that is undefined', () => {
		expect(Object.keys(toFilter({ key: undefined, topic: 't' }))).toEqual(['topic'])
	})

	it('keeps a list without ids, which is no message and not every message', () => {
		expect(toFilter({ ids: [] })).toEqual({ ids: [] })
	})

	it('may ask for those that died without an error', () => {
		expect(toFilter({ fingerprint: '' })).toEqual({ fingerprint: '' })
	})

	it.each<[object, string | RegExp]>([
		[{ topics: 'a' }, 'Unknown option "filter.topics"'],
		[
			{ status: 'died' },
			'Invalid option "filter.status": expected one of pending, processing, sent, dead, got "died"',
		],
		[{ status: 'toString' }, 'filter.status'],
		[{ cause: 'bad' }, 'expected one of retries-exhausted, permanent, expired, crashed, predecessor-dead'],
		[{ topic: '' }, 'filter.topic'],
		[{ topic: 7 }, /Invalid option "filter\.topic": expected .*, got 7/],
		[{ key: 'a\0b' }, 'filter.key'],
		[{ destination: '\uD800' }, 'filter.destination'],
		[{ fingerprint: 5 }, 'filter.fingerprint'],
		[{ ids: idOf(1) }, 'filter.ids'],
		[
			{ ids: [idOf(1), 'x'] },
			'Invalid option "filter.ids[1]": expected the id of a message, which is a UUID, got "x"',
		],
		[{ since: NOW }, 'filter.since'],
		[{ until: new Date(Number.NaN) }, 'filter.until'],
		[{ since: new Date(2), until: new Date(2) }, 'a time after since'],
	])('that can not be meant is refused: %o', (given, text) => {
		expect(() => toFilter(given as MessageFilter)).toThrow(text)
	})

	it.each([
		[null, 'Invalid option "filter": expected an object, got null'],
		[undefined, 'Invalid option "filter": expected an object, got undefined'],
		[idOf(1), `Invalid option "filter": expected an object, got "${idOf(1)}"`],
		[[], 'filter: got '],
	])('must be an object, and is called by its name and not "options" when it is none: %o', (given, told) => {
		expect(() => toFilter(given as unknown as MessageFilter)).toThrow(told)
	})
})

it('only a UUID is the id of a message', () => {
	expect([idOf(1), '', 'x', `${idOf(1)}0`, 7].map(isMessageId)).toEqual([true, false, false, false, false])
})

describe('a record', () => {
	it('has values, dates, and undefined for what is not there', () => {
		const record = toRecord(message({ headers: '{"a":"b"}', payload: '{"total":[1,"\\u0000"]}' }))
		expect(record).toMatchObject({
			payload: { total: [1, '\0'] },
			headers: { a: 'b' },
			nextRetryAt: new Date(NOW - 1_000),
			createdAt: new Date(NOW - 60_000),
		})
		expect(record.key).toBeUndefined()
		expect(record.endedAt).toBeUndefined()
		expect(record.lastError).toBeUndefined()
	})

	it('of a dead letter says when and why it died', () => {
		expect(toRecord(letter(1, { expiresAt: 0 }))).toMatchObject({
			endedAt: new Date(NOW - 599_999),
			cause: 'retries-exhausted',
			expiresAt: new Date(0),
			lastError: { type: 'HttpError' },
		})
	})

	it('shows a payload that somebody broke by hand as it is, for it must not hide the others', () => {
		expect(toRecord(message({ payload: '{broken', headers: '[1]' }))).toMatchObject({
			payload: '{broken',
			headers: {},
		})
	})
})
