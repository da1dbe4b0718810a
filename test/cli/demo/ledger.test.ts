import { describe, expect, test } from 'vitest'
import { type Books, ledgerOf, ledgerText } from '../../../src/cli/demo/ledger.ts'
import { palette } from '../../../src/cli/palette.ts'

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
	refusedByKill: new Map([['relay-1', 2]]),
	kills: [{ relay: 'relay-1', unanswered: 4 }],
	faults: { serverErrors: 5, tooMany: 1, hung: 2, outage: 30 },
	left: 0,
	dead: 0,
}

const text = (changes: Partial<Books> = {}) =>
	ledgerText(ledgerOf({ ...books, ...changes }), { paint: palette(false), columns: 100 })

test('the ledger balances when every order that was committed was received once, and no other', () => {
	expect(ledgerOf(books)).toMatchObject({ committed: 3, receivedOnce: 3, balances: true })
	expect(text()).toContain('The ledger balances: committed = received exactly once.')
})

test('it tells how many duplicates were refused, and how many of them a kill made', () => {
	expect(ledgerOf(books)).toMatchObject({
		duplicatesRefused: 3,
		kills: [{ relay: 'relay-1', unanswered: 4, duplicatesRefused: 2 }],
	})
	expect(text()).toMatch(/relay-1, killed +2; it waited for 4 answers or more when it was killed/)
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
