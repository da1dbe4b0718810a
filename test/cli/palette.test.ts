import { describe, expect, test } from 'vitest'
import { isColored, palette } from '../../src/cli/palette.ts'

describe('an output is coloured', () => {
	test.each<[string, boolean, Record<string, string>, boolean, boolean]>([
		['on a terminal', true, {}, false, true],
		['not in a pipe or a file', false, {}, false, false],
		['not with --no-color', true, {}, true, false],
		['not with NO_COLOR, whatever it says', true, { NO_COLOR: '0' }, false, false],
		['with a NO_COLOR that is empty, which asks for nothing', true, { NO_COLOR: '' }, false, true],
		['in a pipe with FORCE_COLOR', false, { FORCE_COLOR: '1' }, false, true],
		['not in a pipe with a FORCE_COLOR that is empty', false, { FORCE_COLOR: '' }, false, false],
		['not with FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false, false],
		['not with FORCE_COLOR=false', true, { FORCE_COLOR: 'false' }, false, false],
		['not when both wishes are there', true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, false],
		['not with --no-color beside FORCE_COLOR', true, { FORCE_COLOR: '1' }, true, false],
		['not on a terminal that knows no colours', true, { TERM: 'dumb' }, false, false],
	])('%s', (_, isTTY, env, noColor, expected) => {
		expect(isColored(isTTY, env, noColor)).toBe(expected)
	})
})

test('every colour ends where its text ends, and is nothing at all where there are none', () => {
	for (const [name, paint] of Object.entries(palette(true))) {
		expect(paint('text'), name).toMatch(new RegExp(`^${'\x1b'}\\[\\d+mtext${'\x1b'}\\[(22|39)m$`))
	}
	for (const paint of Object.values(palette(false))) expect(paint('text')).toBe('text')
})
