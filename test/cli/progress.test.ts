import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { ProgressBar, ProgressLines } from '../../src/cli/progress.ts'
import { Talk } from '../../src/cli/talk.ts'
import { FakeOutlet, FakeTerminal } from './fake-terminal.ts'

const ERASE = '\r\x1b[K'

describe('where nobody watches, progress is a few lines', () => {
	const told = (total: number, steps: readonly number[]): string[] => {
		const outlet = new FakeOutlet()
		const lines = new ProgressLines(outlet, 'seeds', total)
		for (const done of steps) lines.at(done)
		lines.end()
		return outlet.lines
	}

	test('one for each tenth', () => {
		const steps = Array.from({ length: 1001 }, (_, done) => done)
		expect(told(1000, steps)).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map((n) => `seeds: ${n} %`))
	})

	test('fewer when it jumps', () => {
		expect(told(3, [0, 1, 2, 3])).toEqual(['seeds: 30 %', 'seeds: 60 %', 'seeds: 100 %'])
	})

	test('never more than ten, and never back, whatever is reported', () => {
		fc.assert(
			fc.property(
				fc.integer({ min: -1, max: 50 }),
				fc.array(fc.integer({ min: -5, max: 60 })),
				(total, steps) => {
					const shares = told(total, steps).map((line) => Number(/(\d+) %/.exec(line)?.[1]))
					expect(shares).toEqual([...new Set(shares)].sort((a, b) => a - b))
					for (const share of shares) expect([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]).toContain(share)
				},
			),
		)
	})

	test('work of which there is none is done', () => {
		expect(told(0, [0])).toEqual(['seeds: 100 %'])
	})
})

describe('where somebody watches, progress is a bar', () => {
	const started = (columns = 80, label = 'seeds', total = 100) => {
		const clock = virtualRuntime()
		const outlet = new FakeOutlet({ isTTY: true, columns })
		return { clock, outlet, bar: new ProgressBar(outlet, clock, label, total) }
	}

	test('drawn over itself, and gone at the end', () => {
		const { clock, outlet, bar } = started()
		bar.at(0)
		clock.runTimers(100)
		bar.at(50)
		bar.end()
		expect(outlet.text).toBe(
			`${ERASE}seeds ${'░'.repeat(24)} 0 %${ERASE}seeds ${'█'.repeat(12)}${'░'.repeat(12)} 50 %${ERASE}`,
		)
	})

	test('at most ten times a second, however often the work reports', () => {
		const { clock, outlet, bar } = started()
		for (let done = 0; done < 100; done++) {
			bar.at(done)
			clock.runTimers(10)
		}
		expect(outlet.text.split(ERASE)).toHaveLength(1 + 10)
	})

	test('with a guess at the rest once there is something to guess from', () => {
		const { clock, outlet, bar } = started()
		clock.runTimers(900)
		bar.at(25)
		expect(outlet.text).not.toContain('left')
		clock.runTimers(1100)
		bar.at(25)
		expect(outlet.text).toMatch(/ 25 %, 6 s left$/)
		clock.runTimers(100)
		bar.at(100)
		expect(outlet.text).toMatch(/ 100 %$/)
	})

	test.each([5, 20, 35, 36, 80])('that never fills a row of %i, or it could not be drawn over', (columns) => {
		const { outlet, bar } = started(columns)
		bar.at(50)
		expect(outlet.text.slice(ERASE.length).length).toBeLessThan(columns)
	})

	test('that says nothing after its end, and leaves nothing if it was never seen', () => {
		const { outlet, bar } = started()
		bar.end()
		bar.at(50)
		expect(outlet.text).toBe('')
	})

	test('that no failed count can break', () => {
		const { outlet, bar } = started(80, 'seeds', Number.NaN)
		bar.at(Number.NaN)
		expect(outlet.text).toMatch(/ 100 %$/)
	})
})

describe('progress among other talk', () => {
	const settings = { json: false, quiet: false, noColor: false, debug: false }

	test('a line takes the place of the bar, which comes back under it', () => {
		const terminal = new FakeTerminal({ isTTY: true })
		const talk = new Talk(terminal, settings)
		const progress = talk.progress('seeds', 2)
		progress.at(1)
		const bar = terminal.stderr.text
		talk.note('half of it')
		progress.at(1)
		expect(terminal.stderr.text).toBe(`${bar}${ERASE}half of it\n${bar}`)
	})

	test('a new one ends the one before', () => {
		const terminal = new FakeTerminal({ isTTY: true })
		const talk = new Talk(terminal, settings)
		const first = talk.progress('first', 2)
		first.at(1)
		talk.progress('second', 2)
		const before = terminal.stderr.text
		first.at(2)
		expect(terminal.stderr.text).toBe(before)
		expect(before.endsWith(ERASE)).toBe(true)
	})

	test('a terminal that can not go back gets lines', () => {
		const terminal = new FakeTerminal({ isTTY: true, env: { TERM: 'dumb' } })
		new Talk(terminal, settings).progress('seeds', 2).at(1)
		expect(terminal.stderr.text).toBe('seeds: 50 %\n')
	})

	test.each([true, false])('--quiet silences it (on a terminal: %s)', (isTTY) => {
		const terminal = new FakeTerminal({ isTTY })
		const progress = new Talk(terminal, { ...settings, quiet: true }).progress('seeds', 2)
		progress.at(1)
		progress.end()
		expect(terminal.stderr.text).toBe('')
	})
})
