/** Wrong input is an error that names the parameter, and nothing is read or changed. */
import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from 'yaoki'
import type { Query, QueueAction, QueuePart } from '../../../src/dashboard/parts.ts'
import { openSqliteMemory } from '../../outbox/store/open-sqlite.ts'
import { testQueue } from './setup.ts'

const ID = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'

/** Expects an error for each input that names the argument. */
async function expectInvalid<Given>(
	call: (queue: QueuePart, given: Given) => Promise<unknown>,
	cases: readonly (readonly [given: Given, argument: string])[],
): Promise<void> {
	await using t = await testQueue(await openSqliteMemory())
	await t.die(2)
	for (const [given, argument] of cases) {
		const error = await call(t.queue, given).then(
			() => undefined,
			(reason: unknown) => reason,
		)
		expect(error, JSON.stringify(given)).toBeInstanceOf(InvalidArgumentError)
		expect((error as InvalidArgumentError).argument, JSON.stringify(given)).toBe(argument)
	}
	expect(await t.outbox.dead.count()).toMatchObject({ count: 2 })
	expect((await t.queue.overview()).jobs).toEqual([])
	expect(await t.outbox.audit()).toEqual([])
}

const messages = (queue: QueuePart, query: Query) => queue.messages(query)
const run = (queue: QueuePart, action: unknown) => queue.run(action as QueueAction, { by: 'ada' })

describe('an invalid parameter is named', () => {
	test('of a search', () =>
		expectInvalid<Query>(messages, [
			[{ destintion: 'billing' }, 'destintion'],
			[{ outbox: 'other' }, 'outbox'],
			[{ id: '7' }, 'id'],
			[{ id: ID, key: 'k' }, 'key'],
			[{ destination: '' }, 'destination'],
			[{ key: 'a\0b' }, 'key'],
			[{ cause: 'unknown' }, 'cause'],
			[{ cause: 'expired', status: 'sent' }, 'cause'],
			[{ status: 'discarded' }, 'status'],
			[{ from: 'yesterday' }, 'from'],
			[{ from: '5', until: '5' }, 'until'],
			[{ until: '99999999999999999' }, 'until'],
			[{ limit: '0' }, 'limit'],
			[{ limit: '201' }, 'limit'],
			[{ limit: '1.5' }, 'limit'],
			[{ path: 'a' }, 'value'],
			[{ value: 'a' }, 'path'],
			[{ path: 'a..b', value: 'c' }, 'path'],
			[{ after: ID }, 'after'],
			[{ after: 'sent:7' }, 'after'],
			[{ after: `sent:${ID}`, status: 'dead' }, 'after'],
		]))

	test('of other pages', async () => {
		await expectInvalid<Query>(
			(queue, query) => queue.message(query),
			[
				[{}, 'id'],
				[{ id: 'x' }, 'id'],
				[{ id: ID, destination: 'a' }, 'destination'],
			],
		)
		await expectInvalid<Query>(
			(queue, query) => queue.dead(query),
			[
				[{ cause: 'expired' }, 'cause'],
				[{ limit: 'all' }, 'limit'],
			],
		)
		await expectInvalid<Query>(
			(queue, query) => queue.audit(query),
			[
				[{ before: '-1' }, 'before'],
				[{ messageId: 'x' }, 'messageId'],
			],
		)
		await expectInvalid<Query>((queue, query) => queue.endpoints(query), [[{}, 'webhooks']])
	})

	test('of an action', () => {
		const pause = { action: 'pause', source: 'orders', destination: 'billing' }
		return expectInvalid<unknown>(run, [
			[null, 'body'],
			[[], 'body'],
			[{}, 'action'],
			[{ action: 'drop' }, 'action'],
			[{ action: 'isolate', source: 'orders', circuit: 'a' }, 'action'],
			[{ ...pause, source: 'other' }, 'source'],
			[{ ...pause, source: undefined }, 'source'],
			[{ ...pause, destination: 7 }, 'destination'],
			[{ ...pause, for: 7 }, 'for'],
			[{ ...pause, forMs: '7' }, 'forMs'],
			[{ ...pause, forMs: 0 }, 'forMs'],
			[{ ...pause, reason: null }, 'reason'],
			[{ action: 'resend', source: 'orders', id: 'x' }, 'id'],
			[{ action: 'cancel-job', source: 'orders', id: 'x' }, 'id'],
		])
	})

	test('of a selection: a condition is never lost', () => {
		const discard = { action: 'discard', source: 'orders', reason: 'r' }
		const cases: readonly (readonly [selection: unknown, argument: string])[] = [
			[undefined, 'selection'],
			[null, 'selection'],
			['all', 'selection'],
			[{}, 'selection'],
			[{ all: false }, 'selection'],
			[{ all: 'yes' }, 'selection.all'],
			[{ all: true, destination: 'billing' }, 'selection.all'],
			[{ status: 'dead' }, 'selection'],
			[{ status: 'dead', all: true, key: 'k' }, 'selection.all'],
			[{ status: 'sent', all: true }, 'selection.status'],
			[{ status: null, all: true }, 'selection.status'],
			[{ destinations: 'billing' }, 'selection.destinations'],
			[{ destination: undefined }, 'selection.destination'],
			[{ destination: 'billing', key: undefined }, 'selection.key'],
			[{ destination: null }, 'selection.destination'],
			[{ destination: '' }, 'selection.destination'],
			[{ cause: 'other' }, 'selection.cause'],
			[{ since: 5 }, 'selection.since'],
			[{ from: '5' }, 'selection.from'],
			[{ from: Number.NaN }, 'selection.from'],
			[{ from: 5, until: 4 }, 'selection.until'],
			[{ ids: [] }, 'selection.ids'],
			[{ ids: ID }, 'selection.ids'],
			[{ ids: [ID, 'x'] }, 'selection.ids[1]'],
			[{ ids: [ID], key: 'k' }, 'selection.ids'],
		]
		return expectInvalid<unknown>(
			run,
			cases.map(([selection, argument]) => [{ ...discard, selection }, argument]),
		)
	})

	test('of a replay and an expiry', () => {
		const replay = { action: 'replay', source: 'orders', selection: { all: true } }
		return expectInvalid<unknown>(run, [
			[{ ...replay, canary: 1 }, 'canary'],
			[{ ...replay, perSecond: 0 }, 'perSecond'],
			[{ ...replay, rate: 5 }, 'rate'],
			[{ ...replay, action: 'discard' }, 'reason'],
			[{ action: 'expire', source: 'orders', selection: { cause: 'expired' } }, 'selection.cause'],
		])
	})
})

test('an error says what it got, what is valid and what was probably meant', async () => {
	await using t = await testQueue(await openSqliteMemory())
	await expect(t.queue.messages({ destintion: 'a' })).rejects.toThrow('did you mean "destination"?')
	await expect(t.queue.messages({ outbox: 'other' })).rejects.toThrow('expected one of orders, got "other"')
})
