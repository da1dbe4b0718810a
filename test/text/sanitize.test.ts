import { expect, it } from 'vitest'
import { escapeJson, sanitizeLine, sanitizeText } from '../../src/text/sanitize.ts'

it('puts the text on one line', () => expect(sanitizeLine('a\r\n\tb\u2028c')).toBe('a b c'))

it('replaces what moves the cursor, changes colors or reverses the writing direction', () => {
	expect(sanitizeLine('\x1b[31mred\x07\x9b2J\u202Eback')).toBe('\uFFFD[31mred\uFFFD\uFFFD2J\uFFFDback')
	expect(sanitizeText('\x1b[31mred\rback')).toBe('\uFFFD[31mred\uFFFDback')
})

it('leaves other text unchanged', () => {
	expect(sanitizeLine('七転び八起き, 10 %')).toBe('七転び八起き, 10 %')
})

it('keeps line breaks and indentation of a longer text', () => {
	expect(sanitizeText('{\r\n\t"a": 1\n}')).toBe('{\n\t"a": 1\n}')
})

it('replaces all controls of the writing direction', () => {
	for (const control of '\u061C\u200E\u200F\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069')
		expect(sanitizeLine(`a${control}b`)).toBe('a\uFFFDb')
})

it('escapes in JSON what a terminal acts on, and keeps its value and its line breaks', () => {
	const value = { 'a\x9b': 'b\x1b[2J\x7f\u202E\u200F\u2028\u{E0041}\uD800\n', c: ['家族 👨‍👩‍👧'] }
	const json = escapeJson(JSON.stringify(value, undefined, 2))
	expect(JSON.parse(json)).toEqual(value)
	expect(json.split('\n')).toHaveLength(6)
	expect(json).not.toMatch(/[^\n\P{Cc}]|\p{Cf}|\u2028/u)
	expect(escapeJson('"家族"')).toBe('"家族"')
})
