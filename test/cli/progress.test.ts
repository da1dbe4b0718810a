import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { progressBar, progressLines } from '../../src/cli/progress.ts'
import { Reporter } from '../../src/cli/reporter.ts'
import { FakeOutput, FakeTerminal } from './fake-terminal.ts'

const ERASE = '\r\x1b[K'

describe('progressLines', () => {
	const linesFor = (total: number, steps: readonly number[]): string[] => {
		const output = new FakeOutput()
		const lines = progressLines(output, 'seeds', total)
		for (const done of steps) lines.update(done)
		lines.end()
		return output.lines
	}

	test('prints a line for each tenth', () => {
		const steps = Array.from({ length: 1001 }, (_, done) => done)
		expect(linesFor(1000, steps)).toEqual(
			[10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map((n) => `seeds: ${n} %`),
		)
	})

	test('prints fewer lines if progress jumps', () => {
		expect(linesFor(3, [0, 1, 2, 3])).toEqual(['seeds: 30 %', 'seeds: 60 %', 'seeds: 100 %'])
	})

	test('prints at most ten increasing lines, whatever is reported', () => {
		fc.assert(
			fc.property(
				fc.integer({ min: -1, max: 50 }),
				fc.array(fc.integer({ min: -5, max: 60 })),
				(total, steps) => {
					const shares = linesFor(total, steps).map((line) => Number(/(\d+) %/.exec(line)?.[1]))
					expect(shares).toEqual([...new Set(shares)].sort((a, b) => a - b))
					for (const share of shares) expect([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]).toContain(share)
				},
			),
		)
	})

	test('prints 100 % for an empty task', () => {
		expect(linesFor(0, [0])).toEqual(['seeds: 100 %'])
	})
})

describe('progressBar', () => {
	const started = (columns = 80, label = 'seeds', total = 100) => {
		const clock = virtualRuntime()
		const output = new FakeOutput({ isTTY: true, columns })
		return { clock, output, bar: progressBar(output, clock, label, total) }
	}

	test('draws over itself and erases itself at the end', () => {
		const { clock, output, bar } = started()
		bar.update(0)
		clock.runTimers(100)
		bar.update(50)
		bar.end()
		expect(output.text).toBe(
			`${ERASE}seeds ${'░'.repeat(24)} 0 %${ERASE}seeds ${'█'.repeat(12)}${'░'.repeat(12)} 50 %${ERASE}`,
		)
	})

	test('draws at most ten times a second', () => {
		const { clock, output, bar } = started()
		for (let done = 0; done < 100; done++) {
			bar.update(done)
			clock.runTimers(10)
		}
		expect(output.text.split(ERASE)).toHaveLength(1 + 10)
	})

	test('shows an estimate of the remaining time after one second', () => {
		const { clock, output, bar } = started()
		clock.runTimers(900)
		bar.update(25)
		expect(output.text).not.toContain('left')
		clock.runTimers(1100)
		bar.update(25)
		expect(output.text).toMatch(/ 25 %, 6 s left$/)
		clock.runTimers(100)
		bar.update(100)
		expect(output.text).toMatch(/ 100 %$/)
	})

	test.each([5, 20, 35, 36, 80])(
		'stays shorter than a row of %i, because a wrapped line cannot be erased',
		(columns) => {
			const { output, bar } = started(columns)
			bar.update(50)
			expect(output.text.slice(ERASE.length).length).toBeLessThan(columns)
		},
	)

	test('prints nothing after its end, and erases nothing if it was never drawn', () => {
		const { output, bar } = started()
		bar.end()
		bar.update(50)
		expect(output.text).toBe('')
	})

	test('shows 100 % for NaN', () => {
		const { output, bar } = started(80, 'seeds', Number.NaN)
		bar.update(Number.NaN)
		expect(output.text).toMatch(/ 100 %$/)
	})
})

describe('progress of a Reporter', () => {
	const flags = { json: false, quiet: false, noColor: false, debug: false }

	test('progress of a Reporter is erased before a note and drawn again below it', () => {
		const terminal = new FakeTerminal({ isTTY: true })
		const reporter = new Reporter(terminal, flags)
		const progress = reporter.progress('seeds', 2)
		progress.update(1)
		const bar = terminal.stderr.text
		reporter.note('half done')
		progress.update(1)
		expect(terminal.stderr.text).toBe(`${bar}${ERASE}half done\n${bar}`)
	})

	test('progress of a Reporter is ended by the next progress', () => {
		const terminal = new FakeTerminal({ isTTY: true })
		const reporter = new Reporter(terminal, flags)
		const first = reporter.progress('first', 2)
		first.update(1)
		reporter.progress('second', 2)
		const before = terminal.stderr.text
		first.update(2)
		expect(terminal.stderr.text).toBe(before)
		expect(before.endsWith(ERASE)).toBe(true)
	})

	test('progress of a Reporter is printed as lines on a dumb terminal', () => {
		const terminal = new FakeTerminal({ isTTY: true, env: { TERM: 'dumb' } })
		new Reporter(terminal, flags).progress('seeds', 2).update(1)
		expect(terminal.stderr.text).toBe('seeds: 50 %\n')
	})

	test.each([true, false])('progress of a Reporter is not printed with --quiet (terminal: %s)', (isTTY) => {
		const terminal = new FakeTerminal({ isTTY })
		const progress = new Reporter(terminal, { ...flags, quiet: true }).progress('seeds', 2)
		progress.update(1)
		progress.end()
		expect(terminal.stderr.text).toBe('')
	})
})
