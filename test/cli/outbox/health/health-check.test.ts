import { expect, test } from 'vitest'
import {
	andMore,
	failed,
	formatCapped,
	passed,
	renderCheck,
} from '../../../../src/cli/outbox/health/health-check.ts'
import { PLAIN } from '../../../../src/text/style.ts'

test('a check is one line: its verdict, its name, what was found and what to do', () => {
	expect(renderCheck(passed('lag', 'no message is due'), PLAIN)).toBe('ok      lag       no message is due')
	const problem = failed('dead', '2 dead letters', null, 'list them')
	expect(renderCheck(problem, PLAIN)).toBe('failed  dead      2 dead letters; list them')
})

test('a check stays one line if the name of a destination has line breaks or escape codes', () => {
	const line = renderCheck(passed('paused', 'a\nb\u001B[31mc'), PLAIN)
	expect(line).not.toMatch(/\p{Cc}/u)
})

test('a failed check without a known time has no start', () => {
	expect(failed('clock', 'late', null, 'fix it').since).toBeNull()
	expect(failed('lag', 'late', 5, 'fix it').since).toEqual(new Date(5))
})

test.each([
	[{ count: 1, isCapped: false }, '1 message'],
	[{ count: 10_000, isCapped: true }, 'at least 10,000 messages'],
])('the count %j is printed as "%s"', (count, text) => {
	expect(formatCapped(count, 'message')).toBe(text)
})

test.each([
	[0, ''],
	[1, ' and 1 more destination'],
	[2, ' and 2 more destinations'],
])('%d other destinations are printed as "%s"', (others, text) => {
	expect(andMore(others)).toBe(text)
})
