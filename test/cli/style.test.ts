import { describe, expect, test } from 'vitest'
import { createStyle, isColored } from '../../src/cli/reporter.ts'

describe('an output', () => {
	test.each<[string, boolean, Record<string, string>, boolean, boolean]>([
		['is colored on a terminal', true, {}, false, true],
		['is not colored in a pipe or a file', false, {}, false, false],
		['is not colored with --no-color', true, {}, true, false],
		['is not colored with NO_COLOR, whatever its value', true, { NO_COLOR: '0' }, false, false],
		['ignores an empty NO_COLOR', true, { NO_COLOR: '' }, false, true],
		['is colored in a pipe with FORCE_COLOR', false, { FORCE_COLOR: '1' }, false, true],
		['ignores an empty FORCE_COLOR', false, { FORCE_COLOR: '' }, false, false],
		['is not colored with FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false, false],
		['is not colored with FORCE_COLOR=false', true, { FORCE_COLOR: 'false' }, false, false],
		['is not colored with both variables', true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, false],
		['is not colored with --no-color and FORCE_COLOR', true, { FORCE_COLOR: '1' }, true, false],
		['is not colored on a dumb terminal', true, { TERM: 'dumb' }, false, false],
	])('%s', (_, isTTY, env, noColor, expected) => {
		expect(isColored(isTTY, env, noColor)).toBe(expected)
	})
})

test('each color is reset after its text, and without colors the text is unchanged', () => {
	for (const [name, paint] of Object.entries(createStyle(true)))
		expect(paint('text'), name).toMatch(new RegExp(`^${'\x1b'}\\[\\d+mtext${'\x1b'}\\[(22|39)m$`))
	for (const paint of Object.values(createStyle(false))) expect(paint('text')).toBe('text')
})
