import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { scenarios } from 'yaoki/sim'
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import { type FakeOptions, FakeTerminal } from '../fake-terminal.ts'
import { endless, Folder, pair, small, withPolicy } from './files.ts'

async function simulate(words: readonly string[], options: FakeOptions = {}) {
	const terminal = new FakeTerminal(options)
	const code = await runCli(['simulate', ...words], terminal, yaoki)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

const names = Object.keys(scenarios)

describe('without a name', () => {
	test.each([[[]], [['--list']], [['herd', '--list']]])(
		'%j lists what there is, a line each',
		async (words) => {
			const { code, stdout, stderr } = await simulate(words)
			expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
			const lines = stdout.split('\n')
			for (const name of names) expect(lines.filter((line) => line.startsWith(`  ${name} `))).toHaveLength(1)
		},
	)

	test('lists it as data with --json', async () => {
		const { stdout } = await simulate(['--json'])
		const list: { name: string; description: string; variants: string[] }[] = JSON.parse(stdout)
		expect(list.map(({ name }) => name)).toEqual(names)
		expect(list.every(({ description, variants }) => description !== '' && variants.length > 0)).toBe(true)
	})
})

describe('a call that can not be meant is exit code 2, and a word about it', () => {
	test.each([
		[['--assert', 'goodShare>0.5'], 'NAME|FILE is missing: a scenario'],
		[['--out', 'a.svg'], 'NAME|FILE is missing: a scenario'],
		[['herd', '--incident', 'a.jsonl'], "--incident stands in place of 'herd'; give one of them"],
		[['herd', '--policy', 'a.ts'], '--policy goes with --incident'],
		[['herd', '--capacity', '5'], '--capacity goes with --incident'],
		[['herd', '--told-by', 'x'], '--told-by goes with --incident'],
		[['herd', '--seed', ''], "--seed: got ''; takes a number or a text"],
		[['herd', '--seed='], "--seed: got ''; takes a number or a text"],
		[['herd', '--workers', '0'], '--workers'],
		[['herd', '--replications', '1.5'], '--replications'],
		[['herd', '--out', 'a.png'], "--out: got 'a.png'; takes a file that ends in .svg, .html, .json"],
		[['herd', '--assert', 'speed<5'], 'Unknown value "speed" for --assert.'],
		[['herd', '--variant', 'ful jitter'], 'Did you mean "full jitter"?'],
	])('%j', async (words, told) => {
		const { code, stdout, stderr } = await simulate(words)
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(told)
	})

	test('so is a scenario that can not work, by its place in the file', async () => {
		const file = new Folder().write('mine.json', { ...small, services: { api: { serviceTime: -1 } } })
		const { code, stderr } = await simulate([file])
		expect(code).toBe(2)
		expect(stderr).toContain(`yaoki simulate: ${file}: services.api.serviceTime: got -1; takes a `)
	})

	test('and one whose function makes no policy, which only a run can tell', async () => {
		const file = new Folder().write('mine.mjs', withPolicy('() => undefined'))
		const { code, stderr } = await simulate([file, '-q'])
		expect(code).toBe(2)
		expect(stderr).toContain(
			'Invalid option "policies.careful()": expected a function that returns a policy, got undefined',
		)
	})
})

describe('what is not there is exit code 3', () => {
	test('a name, with those that are', async () => {
		const { code, stderr } = await simulate(['hred'])
		expect(code).toBe(3)
		expect(stderr).toContain('Unknown scenario "hred". Did you mean "herd"?\n')
		for (const name of names) expect(stderr).toContain(name)
	})

	test.each([[['nothing.json']], [['herd', '--out', 'no/such/a.svg']], [['--incident', 'nothing.jsonl']]])(
		'%j',
		async (words) => {
			expect(await simulate(words)).toMatchObject({ code: 3, stdout: '' })
		},
	)
})

describe('a study', () => {
	test('is answered as a text, with progress beside it', async () => {
		const file = new Folder().write('pair.json', pair)
		const { code, stdout, stderr } = await simulate([file, '-w', '1'])
		expect(code).toBe(0)
		expect(stdout).toContain('Two ways')
		expect(stdout).not.toContain('\x1b')
		expect(stderr).toMatch(/^simulating: \d0 %\n/)
		expect(stderr).toMatch(/simulating: 100 %\n$/)
	})

	test('is answered as data, with what was asserted', async () => {
		const file = new Folder().write('pair.json', pair)
		const words = ['--json', '-q', '--seed', '7', '-n', '2', '--variant', 'none', '--assert', 'goodShare>1%']
		const { code, stdout, stderr } = await simulate([file, ...words])
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		const data = JSON.parse(stdout)
		expect(data).toMatchObject({
			title: 'Two ways',
			assertions: [{ assertion: 'goodShare>1%', holds: true, runs: 2, failures: [] }],
		})
		expect(data.interrupted).toBeUndefined()
		const runs: { seed: number }[] = data.cases[0].runs
		expect(runs.map(({ seed }) => seed)).toEqual([7, 8])
		expect(data.cases).toHaveLength(1)
	})

	test('is written to all files that are asked for', async () => {
		const folder = new Folder()
		const file = folder.write('pair.json', pair)
		const outs = ['a.svg', 'b.html', 'c.json'].map((name) => folder.at(name))
		const { code, stderr } = await simulate([file, '-n', '1', ...outs.flatMap((out) => ['--out', out])])
		expect(code).toBe(0)
		for (const out of outs) expect(stderr).toContain(`wrote ${out}\n`)
		expect(readdirSync(folder.path).sort()).toEqual(['a.svg', 'b.html', 'c.json', 'pair.json'])
		expect(readFileSync(folder.at('a.svg'), 'utf8')).toContain('<svg')
		expect(readFileSync(folder.at('b.html'), 'utf8')).toContain('<!doctype html>')
		expect(JSON.parse(readFileSync(folder.at('c.json'), 'utf8'))).toMatchObject({ title: 'Two ways' })
	})

	test('is coloured only where somebody sees it', async () => {
		const file = new Folder().write('pair.json', pair)
		const words = [file, '-n', '1', '-q', '-w', '1']
		expect((await simulate(words, { isTTY: true })).stdout).toContain('\x1b[')
		expect((await simulate(words, { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\x1b[')
		expect((await simulate([...words, '--no-color'], { isTTY: true })).stdout).not.toContain('\x1b[')
	})

	test('in which runs came to the limit of events says with which seed, and how to raise it', async () => {
		const file = new Folder().write('mine.json', small)
		const { code, stderr } = await simulate([file, '-q', '-n', '2', '--max-events', '20'])
		expect(code).toBe(0)
		expect(stderr).toMatch(
			/^warning: mine: 2 of 2 runs ended early, at the limit of 20 events and requests \(seed 1\); --max-events raises it, if so many are meant\n$/,
		)
	})

	test('tells the limit in the file where the command line has none', async () => {
		const file = new Folder().write('mine.json', { ...small, maxEvents: 30 })
		expect((await simulate([file, '-q', '-n', '1'])).stderr).toContain(
			'at the limit of 30 events and requests',
		)
	})

	test.each(['NaN', 'Infinity', 'monday'])('takes %s as a text for a seed', async (seed) => {
		const file = new Folder().write('mine.json', small)
		const { stdout } = await simulate([file, '-q', '--json', '-n', '1', '--seed', seed])
		expect(JSON.parse(stdout).cases[0].runs[0].seed).toBe(seed)
	})

	test('can not make an error move the cursor or change a colour', async () => {
		const policy = "() => { throw new Error('a\\x1b[31mred\\x07\\nb') }"
		const file = new Folder().write('mine.mjs', withPolicy(policy))
		const { stderr } = await simulate([file, '-q', '-n', '1', '--debug'])
		expect(stderr).toContain('a\uFFFD[31mred\uFFFD\nb\n')
		for (const obeyed of ['\x07', '\x1b']) expect(stderr).not.toContain(obeyed)
	})
})

describe('an assertion', () => {
	test('that does not hold is exit code 4 after the answer, with the figure and the seed', async () => {
		const file = new Folder().write('pair.json', pair)
		const words = ['-q', '-n', '2', '--assert', 'goodShare>0', '--assert', 'none: amplification<0.5']
		const { code, stdout, stderr } = await simulate([file, ...words])
		expect(code).toBe(4)
		expect(stdout).toContain('Two ways')
		expect(stderr).toBe(
			[
				'yaoki simulate: 1 of 2 assertions failed',
				'  none: amplification<0.5 does not hold in 2 of 2 runs:',
				'    got 1 (none, seed 1)',
				'    got 1 (none, seed 2)\n',
			].join('\n'),
		)
	})

	test('is told in the data as well', async () => {
		const file = new Folder().write('pair.json', pair)
		const { code, stdout } = await simulate([file, '--json', '-q', '-n', '1', '--assert', 'none: requests<1'])
		expect(code).toBe(4)
		const [verdict] = JSON.parse(stdout).assertions
		expect(verdict).toMatchObject({ holds: false, failures: [{ variant: 'none', seed: 1 }] })
		expect(Object.keys(verdict.failures[0])).toEqual(['variant', 'seed', 'actual'])
	})
})

describe('Ctrl-C', () => {
	/** Interrupts as soon as the outlet has said something like this. */
	async function interrupted(words: readonly string[], when: string) {
		const terminal = new FakeTerminal()
		const { stderr } = terminal
		const write = stderr.write.bind(stderr)
		stderr.write = (text) => {
			write(text)
			if (text.includes(when)) terminal.interrupt()
		}
		const code = await runCli(['simulate', ...words], terminal, yaoki)
		return { code, stdout: terminal.stdout.text, stderr: stderr.text }
	}
	const study = { ...pair, variants: { quick: small, long: endless }, replications: 1 }

	test('tells what is known so far, writes no file in place of a whole one, and is exit code 130', async () => {
		const folder = new Folder()
		const file = folder.write('study.json', study)
		const out = folder.write('a.json', 'old')
		const words = [file, '-w', '1', '--out', out, '--assert', 'requests<1']
		const { code, stdout, stderr } = await interrupted(words, 'simulating: 60 %')
		expect(code).toBe(130)
		expect(stdout).toContain('quick')
		expect(stdout).toMatch(/\n\ninterrupted: 1 of 2 runs, and 1 as far as it came\n$/)
		expect(stderr).toContain('Interrupted. Press Ctrl-C again to quit immediately.\n')
		expect(stderr).toContain(`warning: ${out} is not written, for the study was interrupted\n`)
		expect(stderr).not.toContain('assertions failed')
		expect(readFileSync(out, 'utf8')).toBe('old')
	})

	test('says so in the data', async () => {
		const file = new Folder().write('study.json', study)
		const { code, stdout } = await interrupted([file, '-w', '1', '--json'], 'simulating: 60 %')
		expect(code).toBe(130)
		expect(JSON.parse(stdout)).toMatchObject({ interrupted: { ended: 1, partial: 1, planned: 2 } })
	})

	test('while a module waits for something else ends at once, with nothing to tell', async () => {
		const terminal = new FakeTerminal()
		const file = new Folder().write('waits.mjs', 'globalThis.isLoading?.()\nawait new Promise(() => {})')
		const loading = new Promise<void>((resolve) => Object.assign(globalThis, { isLoading: resolve }))
		const ended = runCli(['simulate', file], terminal, yaoki)
		await loading
		terminal.interrupt()
		expect(await ended).toBe(130)
		expect(terminal.stdout.text).toBe('')
	})
})
