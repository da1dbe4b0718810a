import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Spawned, yaoki } from '../spawned.ts'
import { CORE, endless, Folder, pair, small, withPolicy } from './files.ts'

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

describe('the process', () => {
	test('gives the same bytes with one thread and with two', async () => {
		const file = new Folder().write('pair.json', pair)
		const [one, two] = await Promise.all(
			['1', '2'].map((workers) => yaoki(['simulate', file, '--json', '-q', '--workers', workers])),
		)
		expect(one).toMatchObject({ code: 0, stderr: '' })
		expect(JSON.parse(one?.stdout ?? '')).toMatchObject({ title: 'Two ways', runs: { made: 6, planned: 6 } })
		expect(two?.stdout).toBe(one?.stdout)
	})

	test('runs a TypeScript file with the policy that production makes, and ends with 4 when it does not hold', async () => {
		const code = `import { type Policy, pipeline, retry, timeout } from '${CORE}'
			const careful = (): Policy => pipeline(retry({ maxRetries: 2, baseDelayMs: 20 }), timeout(300))
			export default { ...${JSON.stringify(small)}, policies: { careful } }`
		const folder = new Folder()
		const file = folder.write('my-service.ts', code)
		const out = folder.at('my-service.svg')
		const words = ['-n', '2', '-w', '1', '--out', out, '--assert', 'recoveredAfterMs<=1']
		const { code: exit, stdout, stderr } = await yaoki(['simulate', file, ...words])
		expect(exit).toBe(4)
		expect(stdout).toContain('my-service')
		expect(stderr).toContain(
			`wrote ${out}\nyaoki simulate: 1 of 1 assertions failed\n  recoveredAfterMs<=1 does not hold`,
		)
		expect(readFileSync(out, 'utf8')).toContain('<svg')
	})

	test.each([
		[
			'js',
			'export default {\n  a: 1,\n  b = 2\n}',
			/: Invalid shorthand property initializer\n'node --check /,
		],
		['ts', 'export default {\n  a: : 1\n}', /mine\.ts:2: Expression expected\n/],
		[
			'ts',
			'enum A { B }\nexport default {}',
			/mine\.ts:1: TypeScript enum is not supported in strip-only mode\n/,
		],
		['json', '{\n  "duration": 5,\n}', /mine\.json:3:1: got '}'; takes a name in double quotes\n/],
	])('ends with 2 for a .%s file that can not be read, and says where', async (ending, content, told) => {
		const file = new Folder().write(`mine.${ending}`, content)
		const { code, stdout, stderr } = await yaoki(['simulate', file])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toMatch(told)
	})

	test('refuses a policy that is the same in every run with one thread as with four, with the same words', async () => {
		const code = `import { retry } from '${CORE}'\nconst shared = retry({})\n${withPolicy('() => shared')}`
		const file = new Folder().write('mine.mjs', code)
		const told = await Promise.all(
			[
				['-w', '1', '-n', '1'],
				['-w', '1', '-n', '8'],
				['-w', '4', '-n', '8'],
			].map((words) => yaoki(['simulate', file, '-q', ...words])),
		)
		expect(told[0]).toMatchObject({ code: 2, stdout: '' })
		expect(told[0]?.stderr).toMatch(
			/mine, seed 1: policies\.careful\(\): got '?retry'?; takes a function that makes/,
		)
		for (const one of told) expect(one).toEqual(told[0])
	})

	test('says what makes a TypeScript file of a new project a module', async () => {
		const folder = new Folder()
		folder.write('package.json', { name: 'new', type: 'commonjs' })
		const file = folder.write('mine.ts', `import { retry } from '${CORE}'\nexport default { retry }`)
		const { code, stderr } = await yaoki(['simulate', file])
		expect(code).toBe(2)
		expect(stderr).toContain('add "type": "module" to package.json, or name it mine.mts.\n')
	})

	test('keeps what a file prints when it is loaded out of its answer', async () => {
		const loud = "console.log('LOADED')\nprocess.stdout.write('AND READY\\n')\n"
		const file = new Folder().write('mine.mjs', loud + withPolicy('[{ timeout: 500 }]'))
		const { code, stdout, stderr } = await yaoki(['simulate', file, '--json', '-q', '-n', '1'])
		expect({ code, title: JSON.parse(stdout).title }).toEqual({ code: 0, title: 'mine' })
		expect(stderr).toBe('LOADED\nAND READY\n')
	})

	test('ends although a file has left a timer running', async () => {
		const file = new Folder().write(
			'mine.mjs',
			`setInterval(() => {}, 1e6)\n${withPolicy('[{ timeout: 500 }]')}`,
		)
		const { code, stdout } = await yaoki(['simulate', file, '-q', '-n', '1', '-a', 'requests<1'])
		expect(code).toBe(4)
		expect(stdout).toContain('mine')
	})

	test('ends with 1 and a word when a file awaits what never comes', async () => {
		const file = new Folder().write('mine.mjs', 'await new Promise(() => {})\nexport default {}')
		const { code, stdout, stderr } = await yaoki(['simulate', file])
		expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
		expect(stderr).toMatch(
			/^yaoki simulate: .*mine\.mjs: awaits something that never comes\nNothing is left .*\n$/,
		)
	})

	test('ends with 3 for a file that is not there', async () => {
		const file = new Folder().at('none.ts')
		expect(await yaoki(['simulate', file])).toMatchObject({
			code: 3,
			stderr: `yaoki simulate: there is no file '${file}'\n`,
		})
	})

	test('ends with 1 when a function of the user throws, with the variant and the seed', async () => {
		const file = new Folder().write('mine.mjs', withPolicy("() => { throw new Error('no policy today') }"))
		const { code, stdout, stderr } = await yaoki(['simulate', file, '-q', '--seed', '5'])
		expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
		expect(stderr).toMatch(/^yaoki simulate: .*mine\.mjs: mine, seed [5-9]: no policy today\n/)
		expect(stderr).toMatch(
			/\n--variant 'mine' --seed \d --replications 1 repeats it, and --debug shows where/,
		)
	})

	test('shows with --debug where it was thrown', async () => {
		const file = new Folder().write('mine.mjs', withPolicy("() => { throw new Error('no policy today') }"))
		const { stderr } = await yaoki(['simulate', file, '-q', '-n', '1', '--debug'])
		expect(stderr).toContain('at careful')
	})

	test('ends with 1 when a thread runs out of memory', async () => {
		const hungry = "() => { const all = []; for (;;) all.push(new Array(1e5).fill('x')) }"
		const file = new Folder().write('mine.mjs', withPolicy(hungry))
		const child = new Spawned(MAIN, ['simulate', file, '-q', '-w', '1', '-n', '100'], {
			node: ['--max-old-space-size=40'],
		})
		const { code, stderr } = await child.ended()
		expect(code).toBe(1)
		expect(stderr).toMatch(/mine, one of the seeds 1 to \d+: .*out of memory\n/)
	})

	test('colours its answer when it is forced to, and does not when that is forbidden', async () => {
		const file = new Folder().write('pair.json', pair)
		const words = ['simulate', file, '-q', '-n', '1', '-w', '1']
		const [forced, forbidden] = await Promise.all([
			yaoki(words, { env: { FORCE_COLOR: '1' } }),
			yaoki(words, { env: { FORCE_COLOR: '1', NO_COLOR: '1' } }),
		])
		expect(forced.stdout).toContain('\x1b[')
		expect(forbidden.stdout).not.toContain('\x1b[')
	})
})

describe.skipIf(process.platform === 'win32')('Ctrl-C', () => {
	test('in the middle of a long run prints what is known so far, and ends with 130', async () => {
		const study = { ...pair, variants: { quick: small, long: endless }, replications: 1 }
		const file = new Folder().write('study.json', study)
		const child = new Spawned(MAIN, ['simulate', file, '-w', '2'])
		await child.prints('simulating: 60 %')
		child.process.kill('SIGINT')
		const { code, signal, stdout } = await child.ended()
		expect({ code, signal }).toEqual({ code: 130, signal: null })
		expect(stdout).toContain('Two ways')
		expect(stdout).toMatch(/\n\ninterrupted: 1 of 2 runs, and 1 as far as it came\n$/)
	})

	test('ends a function of the user that never comes back', async () => {
		const stuck = "() => { console.log('stuck'); for (;;); }"
		const file = new Folder().write('mine.mjs', withPolicy(stuck))
		const child = new Spawned(MAIN, ['simulate', file, '-w', '1'])
		await child.prints('stuck')
		child.process.kill('SIGINT')
		expect(await child.ended()).toMatchObject({ code: 130, stdout: 'interrupted: 0 of 10 runs\n' })
	})
})
