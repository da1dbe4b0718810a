import { describe, expect, test } from 'vitest'
import { clip, Screen } from '../../../src/cli/top/screen.ts'
import { screenOf } from './setup.ts'

function create({ isTTY = true, env = {} }: { isTTY?: boolean; env?: Record<string, string> } = {}) {
	const io = {
		isTTY,
		env,
		columns: 20,
		rows: 6,
		output: '',
		print(text: string) {
			io.output += text
		},
	}
	return { io, screen: new Screen(io) }
}

describe('on a terminal', () => {
	test('a text replaces the former one, also if it is shorter', () => {
		const { io, screen } = create()
		screen.show(['one', 'a longer line', 'three'])
		screen.show(['1', '2'])
		expect(screenOf(io.output)).toEqual(['1', '2', ''])
	})

	test('lines that do not fit are counted, and the text never scrolls', () => {
		const { io, screen } = create()
		screen.show(Array.from({ length: 30 }, (_, index) => `line ${index}`))
		screen.show(Array.from({ length: 30 }, (_, index) => `again ${index}`))
		const lines = screenOf(io.output)
		expect(lines).toEqual([...[0, 1, 2, 3].map((index) => `again ${index}`), '… 26 more lines: en', ''])
		expect(lines.length).toBeLessThanOrEqual(io.rows)
	})

	test('a resized window is drawn again from its top', () => {
		const { io, screen } = create()
		expect(screen.isResized).toBe(false)
		screen.show(['0123456789012345678901234'])
		expect(screenOf(io.output)).toEqual(['0123456789012345678', ''])
		expect(screen.isResized).toBe(false)
		io.columns = 10
		expect(screen.isResized).toBe(true)
		screen.show(['0123456789012345678901234'])
		expect(screenOf(io.output)).toEqual(['012345678', ''])
		expect(screen.isResized).toBe(false)
	})
})

test.each([
	['a pipe', { isTTY: false }],
	['a terminal without codes', { env: { TERM: 'dumb' } }],
])('%s gets one text after the other, in full and without codes', (_, options) => {
	const { io, screen } = create(options)
	screen.show(['a line that is longer than the terminal'])
	screen.show(['b'])
	expect(io.output).toBe('a line that is longer than the terminal\n\nb\n\n')
	io.columns = 10
	expect(screen.isResized).toBe(false)
})

test('clip counts wide characters twice and color codes as nothing', () => {
	expect(clip('八起きyaoki', 5)).toBe('八起')
	expect(clip('\x1b[31mred and long\x1b[39m', 3)).toBe('\x1b[31mred\x1b[39m')
})
