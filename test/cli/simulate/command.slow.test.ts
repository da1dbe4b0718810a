import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type SimulationResult, scenarios } from 'yaoki/sim'
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import { type FakeOptions, FakeTerminal } from '../fake-terminal.ts'
import { endless, Folder, pair, small, withPolicy } from './files.ts'

async function simulate(args: readonly string[], options: FakeOptions = {}) {
	const terminal = new FakeTerminal(options)
	const code = await runCli(['simulate', ...args], terminal, yaoki)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

const names = Object.keys(scenarios)

describe('without a scenario', () => {
	test.each([[[]], [['--list']], [['herd', '--list']]])(
		'%j lists the scenarios, one per line',
		async (args) => {
			const { code, stdout, stderr } = await simulate(args)
			expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
			const lines = stdout.split('\n')
			for (const name of names) expect(lines.filter((line) => line.startsWith(`  ${name} `))).toHaveLength(1)
		},
	)

	test('lists them as data with --json', async () => {
		const { stdout } = await simulate(['--json'])
		const list: { name: string; description: string; variants: string[] }[] = JSON.parse(stdout)
		expect(list.map(({ name }) => name)).toEqual(names)
		expect(list.length).toBeGreaterThan(0)
		expect(list.filter(({ description, variants }) => description === '' || variants.length === 0)).toEqual(
			[],
		)
	})
})

describe('invalid arguments exit with 2 and a message', () => {
	test.each([
		[['--assert', 'goodShare>0.5'], 'Missing argument NAME|FILE: a scenario'],
		[['--out', 'a.svg'], 'Missing argument NAME|FILE: a scenario'],
		[['herd', '--incident', 'a.jsonl'], 'Give either "herd" or --incident, not both.'],
		[['herd', '--policy', 'a.ts'], '--policy requires --incident.'],
		[['herd', '--workers', '5'], '--workers requires --incident.'],
		[['herd', '--from-policy', 'x'], '--from-policy requires --incident.'],
		[['herd', '--seed', ''], '--seed'],
		[['herd', '--seed='], '--seed'],
		[['herd', '--threads', '0'], '--threads'],
		[['herd', '--replications', '1.5'], '--replications'],
		[['herd', '--out', 'a.png'], 'expected a file with extension .svg, .html, .json'],
		[['herd', '--assert', 'speed<5'], 'Unknown value "speed" for --assert.'],
		[['herd', '--variant', 'ful jitter'], 'Did you mean "full jitter"?'],
		[['--service', 'api'], 'Missing argument NAME|FILE: a scenario'],
		[['--chart', 'work'], 'Missing argument NAME|FILE: a scenario'],
		[['layered', '--service', 'd'], 'Valid values: a, b, c, all.'],
		[['layered', '--chart', 'queue'], 'Unknown value "queue" for --chart.'],
		[['layered', '--chart', 'responses', '--service', 'a'], "'requests' or 'work' to select services"],
		[['herd', '--timelines', 'all'], '--timelines requires --json or a .json file.'],
		[['herd', '--json', '--timelines', 'some'], 'Valid values: first, all, none.'],
		[['--json', '--timelines', 'all'], 'Missing argument NAME|FILE: a scenario'],
		[['metastable', '--service', 'api'], 'the chart of this study is a heat map'],
	])('%j', async (args, message) => {
		const { code, stdout, stderr } = await simulate(args)
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(message)
	})

	test('an invalid scenario exits with 2 and the path of the invalid value', async () => {
		const file = new Folder().write('mine.json', { ...small, services: { api: { serviceTimeMs: -1 } } })
		const { code, stderr } = await simulate([file])
		expect(code).toBe(2)
		expect(stderr).toContain(
			`yaoki simulate: ${file}: Invalid option "services.api.serviceTimeMs": expected a `,
		)
	})

	test('a function that returns no policy exits with 2 when it runs', async () => {
		const file = new Folder().write('mine.mjs', withPolicy('() => undefined'))
		const { code, stderr } = await simulate([file, '-q'])
		expect(code).toBe(2)
		expect(stderr).toContain(
			'Invalid option "policies.careful()": expected a function that returns a policy, got undefined',
		)
	})
})

describe('missing names and files exit with 3', () => {
	test('an unknown scenario, with the valid names', async () => {
		const { code, stderr } = await simulate(['hred'])
		expect(code).toBe(3)
		expect(stderr).toContain('Unknown scenario "hred". Did you mean "herd"?\n')
		for (const name of names) expect(stderr).toContain(name)
	})

	test.each([[['nothing.json']], [['herd', '--out', 'no/such/a.svg']], [['--incident', 'nothing.jsonl']]])(
		'%j',
		async (args) => {
			expect(await simulate(args)).toMatchObject({ code: 3, stdout: '' })
		},
	)
})

describe('a study', () => {
	test('prints a text, with progress on standard error', async () => {
		const file = new Folder().write('pair.json', pair)
		const { code, stdout, stderr } = await simulate([file, '--threads', '1'])
		expect(code).toBe(0)
		expect(stdout).toContain('Two ways')
		expect(stdout).not.toContain('\x1b')
		expect(stderr).toMatch(/^simulating: \d0 %\n/)
		expect(stderr).toMatch(/simulating: 100 %\n$/)
	})

	test('prints data with assertions for --json', async () => {
		const file = new Folder().write('pair.json', pair)
		const args = ['--json', '-q', '--seed', '7', '-n', '2', '--variant', 'none', '--assert', 'goodShare>1%']
		const { code, stdout, stderr } = await simulate([file, ...args])
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

	test.each([
		['first', [true, false, false]],
		['all', [true, true, true]],
		['none', [false, false, false]],
	])(
		'a study has the timelines of --timelines %s in its data, also for curves',
		async (timelines, expected) => {
			const curves = { xLabel: 'x', measures: ['requests'], points: { none: { curve: 'a', x: 1 } } }
			const folder = new Folder()
			for (const study of [pair, { ...pair, curves }]) {
				const file = folder.write('study.json', study)
				const { stdout } = await simulate([file, '--json', '-q', '--threads', '2', '--timelines', timelines])
				for (const { runs } of JSON.parse(stdout).cases) {
					const steps = runs.map(
						(run: Partial<SimulationResult>) => run.timeline?.clients['web']?.started.length,
					)
					expect(steps.map((count: number | undefined) => count !== undefined && count > 10)).toEqual(
						expected,
					)
				}
			}
		},
	)

	test('a study is written to all --out files', async () => {
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

	test('shows the service of --service, and all of them in panels of their own', async () => {
		const args = ['layered', '-q', '-n', '1', '--variant', 'C is down: independent']
		const busiest = 'requests to c, the busiest of 3 services; seed 1'
		expect((await simulate(args)).stdout).toContain(busiest)
		expect((await simulate([...args, '--service', 'b'])).stdout).toContain('requests to b; seed 1')
		const { stdout } = await simulate([...args, '--chart', 'work', '--service', 'all'])
		expect(stdout).toContain('work by service; seed 1')
		for (const name of ['a', 'b', 'c']) expect(stdout).toContain(`C is down: independent (${name}), useful `)
	})

	test('a study is colored only on a terminal', async () => {
		const file = new Folder().write('pair.json', pair)
		const args = [file, '-n', '1', '-q', '--threads', '1']
		expect((await simulate(args, { isTTY: true })).stdout).toContain('\x1b[')
		expect((await simulate(args, { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\x1b[')
		expect((await simulate([...args, '--no-color'], { isTTY: true })).stdout).not.toContain('\x1b[')
	})

	test('warns about runs that reached the event limit', async () => {
		const file = new Folder().write('mine.json', small)
		const { code, stderr } = await simulate([file, '-q', '-n', '2', '--max-events', '20'])
		expect(code).toBe(0)
		expect(stderr).toMatch(
			/^warning: mine: 2 of 2 runs ended early at the limit of 20 events \(first: seed 1\); raise it with --max-events\n$/,
		)
	})

	test('reports the event limit of the file without --max-events', async () => {
		const file = new Folder().write('mine.json', { ...small, maxEvents: 30 })
		expect((await simulate([file, '-q', '-n', '1'])).stderr).toContain('at the limit of 30 events')
	})

	test.each(['NaN', 'Infinity', 'monday'])('accepts %s as a text seed', async (seed) => {
		const file = new Folder().write('mine.json', small)
		const { stdout } = await simulate([file, '-q', '--json', '-n', '1', '--seed', seed])
		expect(JSON.parse(stdout).cases[0].runs[0].seed).toBe(seed)
	})

	test('replaces control characters in errors', async () => {
		const policy = "() => { throw new Error('a\\x1b[31mred\\x07\\nb') }"
		const file = new Folder().write('mine.mjs', withPolicy(policy))
		const { stderr } = await simulate([file, '-q', '-n', '1', '--debug'])
		expect(stderr).toContain('a\uFFFD[31mred\uFFFD\nb\n')
		for (const control of ['\x07', '\x1b']) expect(stderr).not.toContain(control)
	})
})

describe('an assertion', () => {
	test('an assertion that fails exits with 4 after the result, with value and seed', async () => {
		const file = new Folder().write('pair.json', pair)
		const args = ['-q', '-n', '2', '--assert', 'goodShare>0', '--assert', 'none: amplification<0.5']
		const { code, stdout, stderr } = await simulate([file, ...args])
		expect(code).toBe(4)
		expect(stdout).toContain('Two ways')
		expect(stderr).toBe(
			[
				'yaoki simulate: 1 of 2 assertions failed',
				'  none: amplification<0.5 failed in 2 of 2 runs:',
				'    got 1 (none, seed 1)',
				'    got 1 (none, seed 2)\n',
			].join('\n'),
		)
	})

	test('an assertion that fails is part of the data', async () => {
		const file = new Folder().write('pair.json', pair)
		const { code, stdout } = await simulate([file, '--json', '-q', '-n', '1', '--assert', 'none: requests<1'])
		expect(code).toBe(4)
		const [assertion] = JSON.parse(stdout).assertions
		expect(assertion).toMatchObject({ holds: false, failures: [{ variant: 'none', seed: 1 }] })
		expect(Object.keys(assertion.failures[0])).toEqual(['variant', 'seed', 'actual', 'recovery'])
	})
})

describe('Ctrl-C', () => {
	/** Presses Ctrl-C when this text is on standard error. */
	async function interruptWhen(args: readonly string[], when: string) {
		const terminal = new FakeTerminal()
		const { stderr } = terminal
		const write = stderr.write.bind(stderr)
		stderr.write = (text) => {
			write(text)
			if (text.includes(when)) terminal.interrupt()
		}
		const code = await runCli(['simulate', ...args], terminal, yaoki)
		return { code, stdout: terminal.stdout.text, stderr: stderr.text }
	}
	const study = { ...pair, variants: { quick: small, long: endless }, replications: 1 }

	test('prints the result so far, writes no file, and exits with 130', async () => {
		const folder = new Folder()
		const file = folder.write('study.json', study)
		const out = folder.write('a.json', 'old')
		const args = [file, '--threads', '1', '--out', out, '--assert', 'requests<1']
		const { code, stdout, stderr } = await interruptWhen(args, 'simulating: 60 %')
		expect(code).toBe(130)
		expect(stdout).toContain('quick')
		expect(stdout).toMatch(/\n\nInterrupted after 1 of 2 runs, 1 shown in part\.\n$/)
		expect(stderr).toContain('Interrupted. Press Ctrl-C again to quit immediately.\n')
		expect(stderr).toContain(`warning: ${out} is not written because the study was interrupted\n`)
		expect(stderr).not.toContain('assertions failed')
		expect(readFileSync(out, 'utf8')).toBe('old')
	})

	test('an interruption by Ctrl-C is part of the data', async () => {
		const file = new Folder().write('study.json', study)
		const { code, stdout } = await interruptWhen([file, '--threads', '1', '--json'], 'simulating: 60 %')
		expect(code).toBe(130)
		expect(JSON.parse(stdout)).toMatchObject({ interrupted: { ended: 1, partial: 1, planned: 2 } })
	})

	test('ends a module that waits, with no result', async () => {
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
