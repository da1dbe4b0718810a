import { describe, expect, it } from 'vitest'
import { isMessageId, type MessageFilter, toFilter } from '../../../src/outbox/message/filter.ts'
import { toRecord } from '../../../src/outbox/message/record.ts'
import { idOf, letter, message, NOW } from '../diagnostics/fake-store.ts'

describe('a filter', () => {
	it('is converted to times in milliseconds', () => {
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

	it('has no undefined fields', () => {
		expect(Object.keys(toFilter({ key: undefined, topic: 't' }))).toEqual(['topic'])
	})

	it('keeps an empty list of ids, which matches no message', () => {
		expect(toFilter({ ids: [] })).toEqual({ ids: [] })
	})

	it('may select messages that died without an error', () => {
		expect(toFilter({ fingerprint: '' })).toEqual({ fingerprint: '' })
	})

	it.each<[object, string]>([
		[{ topics: 'a' }, 'filter.topics'],
		[{ status: 'died' }, 'filter.status'],
		[{ status: 'toString' }, 'filter.status'],
		[{ cause: 'bad' }, 'filter.cause'],
		[{ topic: '' }, 'filter.topic'],
		[{ topic: 7 }, 'filter.topic'],
		[{ key: 'a\0b' }, 'filter.key'],
		[{ destination: '\uD800' }, 'filter.destination'],
		[{ fingerprint: 5 }, 'filter.fingerprint'],
		[{ ids: idOf(1) }, 'filter.ids'],
		[{ ids: [idOf(1), 'x'] }, 'filter.ids[1]'],
		[{ since: NOW }, 'filter.since'],
		[{ until: new Date(Number.NaN) }, 'filter.until'],
		[{ since: new Date(2), until: new Date(2) }, 'filter.until'],
	])('is rejected if invalid: %o', (given, argument) => {
		const error = expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT', argument })
		expect(() => toFilter(given as MessageFilter)).toThrow(error)
	})

	it('is rejected with an unknown field, and the error has the valid names or the nearest one', () => {
		expect(() => toFilter({ destnation: 'b' } as MessageFilter)).toThrow(
			'Invalid argument "filter.destnation": expected no such field (did you mean "destination"?), got "b"',
		)
		expect(() => toFilter({ limit: 5 } as MessageFilter)).toThrow(
			'"filter.limit": expected no such field (valid fields: ids, status, ',
		)
	})

	it.each([[null], [undefined], [idOf(1)], [[]]])('must be an object, not %o', (given) => {
		const error = expect.objectContaining({ argument: 'filter' })
		expect(() => toFilter(given as unknown as MessageFilter)).toThrow(error)
	})
})

it('isMessageId accepts only UUIDs', () => {
	expect([idOf(1), '', 'x', `${idOf(1)}0`, 7].map(isMessageId)).toEqual([true, false, false, false, false])
})

describe('a record', () => {
	it('has parsed values, dates, and undefined instead of null', () => {
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

	it('has the end and the cause of a dead letter', () => {
		expect(toRecord(letter(1, { expiresAt: 0 }))).toMatchObject({
			endedAt: new Date(NOW - 599_999),
			cause: 'retries-exhausted',
			expiresAt: new Date(0),
			lastError: { type: 'HttpError' },
		})
	})

	it('returns an invalid payload as text', () => {
		expect(toRecord(message({ payload: '{broken', headers: '[1]' }))).toMatchObject({
			payload: '{broken',
			headers: {},
		})
	})
})
