import { expect, test } from 'vitest'
import { countOfClient, rowsOfClient } from '../../src/sql/client-rows.ts'

const rowsOf = (result: unknown) =>
	rowsOfClient(result, (problem, advice) => new Error(`${problem} | ${advice}`))

test('reads the rows of an object, and an array of rows', () => {
	const row = { id: 1 }
	expect(rowsOf({ rows: [row], rowCount: 1 })).toEqual([row])
	expect(rowsOf([row])).toEqual([row])
	expect(rowsOf([])).toEqual([])
})

test.each([
	[undefined, 'undefined'],
	['ok', 'ok'],
	[[[1, 2]], 'an array that contains an array'],
	[[{ id: 1 }, 7], 'an array that contains the value 7'],
	[() => [], 'a function'],
	[{}, 'an object without properties'],
	[{ rowCount: 1, command: 'INSERT' }, 'an object with rowCount, command'],
	[{ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 }, 'an object with a, b, c, d, e, ...'],
])('fails for %j instead of taking it for an empty result', (result, described) => {
	expect(() => rowsOf(result)).toThrow(`query(text, values) of tx returned ${described}, expected { rows }`)
	expect(() => rowsOf(result)).toThrow('Pass a client of pg, or wrap yours')
})

test('reads how many rows were written, and fails without it', () => {
	const countOf = (result: unknown) =>
		countOfClient(result, (problem, advice) => new Error(`${problem} | ${advice}`))
	expect(countOf({ rows: [], rowCount: 0 })).toBe(0)
	expect(countOf({ rows: [], rowCount: 1 })).toBe(1)
	expect(() => countOf({ rows: [] })).toThrow('returned an object with rows, expected { rows, rowCount }')
	expect(() => countOf({ rows: [], rowCount: null })).toThrow('Pass the client of pg itself')
})
