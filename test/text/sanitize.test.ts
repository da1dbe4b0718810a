import { expect, it } from 'vitest'
import { sanitizeLine, sanitizeText } from '../../src/text/sanitize.ts'

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
