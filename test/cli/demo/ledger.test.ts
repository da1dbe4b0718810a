import { describe, expect, test } from 'vitest'
import { createLedger, type LedgerInput, renderLedger } from '../../../src/cli/demo/ledger.ts'
import { PLAIN } from '../../../src/text/style.ts'

const input: LedgerInput = {
	database: 'shop.db',
	relays: [],
	committed: ['a', 'b', 'c'],
	rolledBack: 1,
	discarded: [],
	received: new Map([
		['a', 1],
		['b', 1],
		['c', 1],
	]),
	duplicates: 3,
	duplicatesByKill: new Map([['relay-1', { answered: 1, unanswered: 1 }]]),
	kills: [{ relay: 'relay-1', unanswered: 4 }],
	faults: { serverErrors: 5, tooManyRequests: 1, hung: 2, rejected: 3, outage: 30 },
	left: 0,
	dead: 0,
}

const text = (changes: Partial<LedgerInput> = {}) =>
	renderLedger(createLedger({ ...input, ...changes }), { style: PLAIN, columns: 100 })

test('the ledger balances if every committed order was received once, and no other', () => {
	expect(createLedger(input)).toMatchObject({ committed: 3, receivedOnce: 3, balances: true })
	expect(text()).toContain('The ledger balances: committed = received exactly once.')
})

test('it shows how many duplicates were rejected, and how many of them a kill caused', () => {
	expect(createLedger(input)).toMatchObject({
		duplicatesRejected: 3,
		kills: [{ relay: 'relay-1', unanswered: 4, duplicatesRejected: 2, duplicatesAnswered: 1 }],
	})
	expect(text()).toMatch(/relay-1, killed +2 sent but not yet acked; the receiver had responded to 1 of them/)
})

test('a kill can cause more duplicates than unanswered requests, because answered messages may not be acked', () => {
	const kills = [{ relay: 'relay-1', unanswered: 9 }]
	const of = (answered: number, unanswered: number) =>
		text({ kills, duplicates: 19, duplicatesByKill: new Map([['relay-1', { answered, unanswered }]]) })
	expect(of(10, 9)).toMatch(/killed +19 sent [\s\S]* responded to 10 of them/)
	expect(of(19, 0)).toMatch(/killed +19 sent [\s\S]* responded to all of them/)
	expect(of(0, 0)).toMatch(/killed +0\n/)
	expect(text({ kills, duplicatesByKill: new Map() })).toMatch(/killed +0\n/)
})

test('it uses the singular for one order, and shows the injected faults', () => {
	expect(text()).toContain('1 order, none of which may arrive')
	expect(text()).toContain('status 500: 5, 429: 1, 422: 3, hung: 2, outage: 30')
})

test('an order that a user has discarded is not lost, unless it was received', () => {
	const changes = {
		received: new Map([
			['a', 1],
			['b', 1],
		]),
		discarded: ['b', 'c'],
	}
	expect(createLedger({ ...input, ...changes })).toMatchObject({
		balances: true,
		receivedOnce: 2,
		lost: [],
		discarded: ['c'],
	})
	expect(text(changes)).toMatch(/discarded on the dashboard +1\n[\s\S]*exactly once \+ discarded\./)
})

describe('the ledger does not balance', () => {
	test.each<[string, Partial<LedgerInput>, object]>([
		['if an order is lost', { received: new Map([['a', 1]]) }, { lost: ['b', 'c'], receivedOnce: 1 }],
		[
			'if an order was accepted twice, even if another is lost so that the sums agree',
			{
				received: new Map([
					['a', 2],
					['b', 1],
				]),
			},
			{ repeated: ['a'], lost: ['c'] },
		],
		[
			'if an order arrived that was rolled back',
			{ received: new Map([...input.received, ['d', 1]]) },
			{ phantom: ['d'] },
		],
		['if a message is still in the queue', { left: 1 }, { left: 1 }],
		['if there is a dead letter', { dead: 1 }, { dead: 1 }],
		['if no order was committed', { committed: [], received: new Map() }, {}],
	])('%s', (_, changes, found) => {
		expect(createLedger({ ...input, ...changes })).toMatchObject({ ...found, balances: false })
		expect(text(changes)).toContain('The ledger does not balance.')
	})
})
