import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonFault } from '../../../src/cli/simulate/json-fault.ts'

describe('what is wrong in a JSON text is told with its line and column', () => {
	test.each([
		['{"a": }', 1, 7, "got '}'; takes a value"],
		['{\n\t"a": 1,\n}', 3, 1, "got '}'; takes a name in double quotes"],
		['{"a" 1}', 1, 6, "got '1'; takes a :"],
		['[1 2]', 1, 4, "got '2'; takes a , or ]"],
		['[1,]', 1, 4, "got ']'; takes a value"],
		['[,]', 1, 2, "got ','; takes a value, or ]"],
		['{"a": 1\n "b": 2}', 2, 2, 'got \'"b"\'; takes a , or }'],
		["{'a': 1}", 1, 2, "got a '; takes a name in double quotes, or }"],
		['{"a": 1} x', 1, 10, "got 'x'; takes nothing more"],
		['{"a": 01}', 1, 8, "got '1'; takes a , or }"],
		['{"a": .5}', 1, 7, "got '.'; takes a value"],
		['{"a": NaN}', 1, 7, "got 'N'; takes a value"],
		['// no\n{}', 1, 1, "got '/'; takes a value"],
		['', 1, 1, 'got the end of the file; takes a value'],
		['{"a": [1, 2', 1, 12, 'got the end of the file; takes a , or ]'],
		[
			'{"a": "b\nc"}',
			1,
			7,
			'got a text that is not closed on its line, or has a wrong escape; takes one that is',
		],
		['["\\x"]', 1, 2, 'got a text that is not closed on its line, or has a wrong escape; takes one that is'],
		['["ok", 😀]', 1, 8, "got '😀'; takes a value"],
	])('%j', (text, line, column, problem) => {
		expect(jsonFault(text)).toEqual({ line, column, problem })
	})
})

test('what is JSON has no fault', () => {
	fc.assert(
		fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (json, space) => {
			expect(jsonFault(` ${JSON.stringify(JSON.parse(json), undefined, space)}\r\n`)).toBeUndefined()
		}),
	)
})

test('it finds a fault exactly where the engine does not take the text, whatever was done to it', () => {
	const change = fc.record({
		at: fc.nat(200),
		cut: fc.nat(3),
		put: fc.constantFrom(
			'',
			',',
			':',
			'"',
			'{',
			']',
			'1',
			'-',
			'e',
			'\\',
			'\\u00',
			'\n',
			'true',
			'\x7f',
			'\x1f',
		),
	})
	fc.assert(
		fc.property(fc.json({ maxDepth: 4 }), change, (json, { at, cut, put }) => {
			const text = json.slice(0, at) + put + json.slice(at + cut)
			expect(jsonFault(text) === undefined).toBe(isJson(text))
		}),
		{ numRuns: 2_000 },
	)
})

test('however deep it is', () => {
	expect(jsonFault('['.repeat(100_000))).toMatchObject({ column: 100_001 })
})

function isJson(text: string): boolean {
	try {
		JSON.parse(text)
		return true
	} catch {
		return false
	}
}
