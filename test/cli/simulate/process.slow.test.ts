import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MAIN, Spawned, yaoki } from '../spawned.ts'
import { CORE, endless, Folder, pair, small, withPolicy } from './files.ts'

describe('the process', () => {
	test('prints the same bytes with one thread and with two', async () => {
		const file = new Folder().write('pair.json', pair)
		const [one, two] = await Promise.all(
			['1', '2'].map((threads) => yaoki(['simulate', file, '--json', '-q', '--threads', threads])),
		)
		expect(one).toMatchObject({ code: 0, stderr: '' })
		expect(JSON.parse(one?.stdout ?? '')).toMatchObject({ title: 'Two ways', runs: { made: 6, planned: 6 } })
		expect(two?.stdout).toBe(one?.stdout)
	})

	test('runs a TypeScript file with a production policy, and exits with 4 for a failed assertion', async () => {
		const code = `import { type Policy, pipeline, retry, timeout } from '${CORE}'
			const careful = (): Policy => pipeline(retry({ maxRetries: 2, baseDelayMs: 20 }), timeout(300))
			export default { ...${JSON.stringify(small)}, policies: { careful } }`
		const folder = new Folder()
		const file = folder.write('my-service.ts', code)
		const out = folder.at('my-service.svg')
		const args = ['-n', '2', '--threads', '1', '--out', out, '--assert', 'recoveredAfterMs<=1']
		const { code: exit, stdout, stderr } = await yaoki(['simulate', file, ...args])
		expect(exit).toBe(4)
		expect(stdout).toContain('my-service')
		expect(stderr).toContain(
			`wrote ${out}\nyaoki simulate: 1 of 1 assertions failed\n  recoveredAfterMs<=1 failed`,
		)
		expect(readFileSync(out, 'utf8')).toContain('<svg')
	})

	test.each([
		[
			'js',
			'export default {\n  a: 1,\n  b = 2\n}',
			/: Invalid shorthand property initializer\nRun 'node --check /,
		],
		['ts', 'export default {\n  a: : 1\n}', /mine\.ts:2: Expression expected\n/],
		[
			'ts',
			'enum A { B }\nexport default {}',
			/mine\.ts:1: TypeScript enum is not supported in strip-only mode\n/,
		],
		[
			'json',
			'{\n  "duration": 5,\n}',
			/mine\.json is not valid JSON: Expected double-quoted property name in JSON/,
		],
	])('exits with 2 for a .%s file with a syntax error', async (extension, content, message) => {
		const file = new Folder().write(`mine.${extension}`, content)
		const { code, stdout, stderr } = await yaoki(['simulate', file])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toMatch(message)
	})

	test('rejects a policy that is shared by runs with the same message for any number of threads', async () => {
		const code = `import { retry } from '${CORE}'\nconst shared = retry({})\n${withPolicy('() => shared')}`
		const file = new Folder().write('mine.mjs', code)
		const results = await Promise.all(
			[
				['--threads', '1', '-n', '1'],
				['--threads', '1', '-n', '8'],
				['--threads', '4', '-n', '8'],
			].map((args) => yaoki(['simulate', file, '-q', ...args])),
		)
		expect(results[0]).toMatchObject({ code: 2, stdout: '' })
		expect(results[0]?.stderr).toContain('mine, seed 1: Invalid option "policies.careful()": ')
		for (const one of results) expect(one).toEqual(results[0])
	})

	test('suggests how to make a TypeScript file a module', async () => {
		const folder = new Folder()
		folder.write('package.json', { name: 'new', type: 'commonjs' })
		const file = folder.write('mine.ts', `import { retry } from '${CORE}'\nexport default { retry }`)
		const { code, stderr } = await yaoki(['simulate', file])
		expect(code).toBe(2)
		expect(stderr).toContain('add "type": "module" to package.json, or rename it to mine.mts.\n')
	})

	test('keeps the output of a file out of the result', async () => {
		const loud = "console.log('LOADED')\nprocess.stdout.write('AND READY\\n')\n"
		const file = new Folder().write('mine.mjs', loud + withPolicy('[{ timeoutMs: 500 }]'))
		const { code, stdout, stderr } = await yaoki(['simulate', file, '--json', '-q', '-n', '1'])
		expect({ code, title: JSON.parse(stdout).title }).toEqual({ code: 0, title: 'mine' })
		expect(stderr).toBe('LOADED\nAND READY\n')
	})

	test('ends even if a file leaves a timer running', async () => {
		const file = new Folder().write(
			'mine.mjs',
			`setInterval(() => {}, 1e6)\n${withPolicy('[{ timeoutMs: 500 }]')}`,
		)
		const { code, stdout } = await yaoki(['simulate', file, '-q', '-n', '1', '-a', 'requests<1'])
		expect(code).toBe(4)
		expect(stdout).toContain('mine')
	})

	test('exits with 1 if a file awaits a promise that never settles', async () => {
		const file = new Folder().write('mine.mjs', 'await new Promise(() => {})\nexport default {}')
		const { code, stdout, stderr } = await yaoki(['simulate', file])
		expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
		expect(stderr).toMatch(
			/^yaoki simulate: .*mine\.mjs awaits a promise that never settles\.\nCheck the top-level awaits .*\n$/,
		)
	})

	test('exits with 3 for a missing file', async () => {
		const file = new Folder().at('none.ts')
		expect(await yaoki(['simulate', file])).toMatchObject({
			code: 3,
			stderr: `yaoki simulate: File "${file}" does not exist.\n`,
		})
	})

	test('exits with 1 and names variant and seed if a function of the user throws', async () => {
		const file = new Folder().write('mine.mjs', withPolicy("() => { throw new Error('no policy today') }"))
		const { code, stdout, stderr } = await yaoki(['simulate', file, '-q', '--seed', '5'])
		expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
		expect(stderr).toMatch(/^yaoki simulate: .*mine\.mjs: mine, seed [5-9]: no policy today\n/)
		expect(stderr).toMatch(/\nRepeat it with --variant 'mine' --seed \d --replications 1; --debug shows/)
	})

	test('prints the stack of the user function with --debug', async () => {
		const file = new Folder().write('mine.mjs', withPolicy("() => { throw new Error('no policy today') }"))
		const { stderr } = await yaoki(['simulate', file, '-q', '-n', '1', '--debug'])
		expect(stderr).toContain('at careful')
	})

	test('exits with 1 if a thread runs out of memory', async () => {
		const hungry = "() => { const all = []; for (;;) all.push(new Array(1e5).fill('x')) }"
		const file = new Folder().write('mine.mjs', withPolicy(hungry))
		const child = new Spawned(MAIN, ['simulate', file, '-q', '--threads', '1', '-n', '100'], {
			node: ['--max-old-space-size=40'],
		})
		const { code, stderr } = await child.ended()
		expect(code).toBe(1)
		expect(stderr).toMatch(/mine, one of the seeds 1 to \d+: .*out of memory\n/)
	})

	test('colors its result with FORCE_COLOR, and not with NO_COLOR', async () => {
		const file = new Folder().write('pair.json', pair)
		const args = ['simulate', file, '-q', '-n', '1', '--threads', '1']
		const [forced, forbidden] = await Promise.all([
			yaoki(args, { env: { FORCE_COLOR: '1' } }),
			yaoki(args, { env: { FORCE_COLOR: '1', NO_COLOR: '1' } }),
		])
		expect(forced.stdout).toContain('\x1b[')
		expect(forbidden.stdout).not.toContain('\x1b[')
	})
})

describe.skipIf(process.platform === 'win32')('Ctrl-C', () => {
	test('Ctrl-C during a long run prints the result so far and exits with 130', async () => {
		const study = { ...pair, variants: { quick: small, long: endless }, replications: 1 }
		const file = new Folder().write('study.json', study)
		const child = new Spawned(MAIN, ['simulate', file, '--threads', '2'])
		await child.prints('simulating: 60 %')
		child.process.kill('SIGINT')
		const { code, signal, stdout } = await child.ended()
		expect({ code, signal }).toEqual({ code: 130, signal: null })
		expect(stdout).toContain('Two ways')
		expect(stdout).toMatch(/\n\nInterrupted after 1 of 2 runs, 1 shown in part\.\n$/)
	})

	test('ends a function of the user that never returns', async () => {
		const stuck = "() => { console.log('stuck'); for (;;); }"
		const file = new Folder().write('mine.mjs', withPolicy(stuck))
		const child = new Spawned(MAIN, ['simulate', file, '--threads', '1'])
		await child.prints('stuck')
		child.process.kill('SIGINT')
		expect(await child.ended()).toMatchObject({ code: 130, stdout: 'Interrupted after 0 of 10 runs.\n' })
	})
})
