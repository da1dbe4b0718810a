import { describe, expect, test } from 'vitest'
import { type Books, ledgerOf, ledgerText } from '../../../src/cli/demo/ledger.ts'
import { createStyle } from '../../../src/cli/style.ts'

const books: Books = {
	database: 'shop.db',
	relays: [],
	committed: ['a', 'b', 'c'],
	rolledBack: 1,
	received: new Map([
		['a', 1],
		['b', 1],
		['c', 1],
	]),
	refused: 3,
	refusedByKill: new Map([['relay-1', { answered: 1, unanswered: 1 }]]),
	kills: [{ relay: 'relay-1', unanswered: 4 }],
	faults: { serverErrors: 5, tooMany: 1, hung: 2, outage: 30 },
	left: 0,
	dead: 0,
}

const text = (changes: Partial<Books> = {}) =>
	ledgerText(ledgerOf({ ...books, ...changes }), { style: createStyle(false), columns: 100 })

test('the ledger balances when every order that was committed was received once, and no other', () => {
	expect(ledgerOf(books)).toMatchObject({ committed: 3, receivedOnce: 3, balances: true })
	expect(text()).toContain('The ledger balances: committed = received exactly once.')
})

test('it tells how many duplicates were refused, and how many of them a kill made', () => {
	expect(ledgerOf(books)).toMatchObject({
		duplicatesRefused: 3,
		kills: [{ relay: 'relay-1', unanswered: 4, duplicatesRefused: 2, ofThoseAnswered: 1 }],
	})
	expect(text()).toMatch(
		/relay-1, killed +2 that it had sent and not yet written down as sent; the receiver had\s+answered 1 of them/,
	)
})

test('a kill made 19 duplicates though the relay waited for 9 answers: what was answered and not written down counts too', () => {
	const kills = [{ relay: 'relay-1', unanswered: 9 }]
	const of = (answered: number, unanswered: number) =>
		text({ kills, refused: 19, refusedByKill: new Map([['relay-1', { answered, unanswered }]]) })
	expect(of(10, 9)).toMatch(/killed +19 that it had sent [\s\S]* answered 10 of them/)
	expect(of(19, 0)).toMatch(/killed +19 that it had sent [\s\S]* answered all of them/)
	expect(of(0, 0)).toMatch(/killed +0\n/)
	expect(text({ kills, refusedByKill: new Map() })).toMatch(/killed +0\n/)
})

test('what happened once did not happen "1 times"', () => {
	expect(text()).toContain('1 order, of which none may arrive')
	expect(text()).toContain('5 times 500, once 429, 2 hung, 30 in the outage')
})

describe('it does not balance', () => {
	test.each<[string, Partial<Books>, object]>([
		['when one is lost', { received: new Map([['a', 1]]) }, { lost: ['b', 'c'], receivedOnce: 1 }],
		[
			'when one was taken twice, also if another is lost so that the sums agree',
			{
				received: new Map([
					['a', 2],
					['b', 1],
				]),
			},
			{ repeated: ['a'], lost: ['c'] },
		],
		[
			'when one came that was rolled back',
			{ received: new Map([...books.received, ['d', 1]]) },
			{ phantom: ['d'] },
		],
		['when something is still in the queue', { left: 1 }, { left: 1 }],
		['when there is a dead letter', { dead: 1 }, { dead: 1 }],
		[
			'when nothing was committed at all, which would show nothing',
			{ committed: [], received: new Map() },
			{},
		],
	])('%s', (_, changes, found) => {
		expect(ledgerOf({ ...books, ...changes })).toMatchObject({ ...found, balances: false })
		expect(text(changes)).toContain('The ledger does not balance.')
	})
})
