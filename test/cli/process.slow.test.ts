import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Spawned, TEST_PROGRAM, yaoki } from './spawned.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

describe('the process', () => {
	test.each([[[]], [['--help']], [['help', 'simulate']], [['simulate', '--help']]])(
		'prints help for %j on standard output with exit code 0',
		async (args) => {
			const { code, stdout, stderr } = await yaoki(args)
			expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
			expect(stdout).toMatch(/^Examples:\n {2}# .+\n {2}yaoki /)
		},
	)

	test("prints the package's version", async () => {
		expect(await yaoki(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
	})

	test('exits with 2 and a suggestion for an unknown command', async () => {
		const { code, stdout, stderr } = await yaoki(['simulat'])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toBe(
			`yaoki: Unknown command "simulat". Did you mean "simulate"?\nRun 'yaoki --help' for usage.\n`,
		)
	})

	test('writes no escape codes into a pipe unless FORCE_COLOR is set', async () => {
		expect((await yaoki(['--help'])).stdout).not.toContain('\x1b')
		expect((await yaoki(['--help'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\x1b[1mExamples:')
	})
})

test('help loads no command, and a command loads only itself', async () => {
	const hook = `import { registerHooks } from 'node:module'
		registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) } })`
	const node = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
	const loadedBy = async (...args: readonly string[]) => (await yaoki(args, { node })).stderr
	const command = 'src/cli/simulate/command.ts'
	expect(await loadedBy('simulate', '--help')).toContain(command)
	for (const args of [['--help'], ['--version'], ['simulat'], []]) {
		const loaded = await loadedBy(...args)
		expect(loaded).toContain('src/cli/run.ts')
		expect(loaded).not.toContain(command)
	}
})

describe('standard output', () => {
	test('can be closed before anything is written', async () => {
		const child = new Spawned(TEST_PROGRAM, ['print'])
		child.process.stdout?.destroy()
		expect(await child.ended()).toMatchObject({ code: 4, stderr: '' })
	})

	test('can be closed early, as by head, without a change of the exit code', async () => {
		const child = new Spawned(TEST_PROGRAM, ['print', '--length', '5000000'])
		child.process.stdout?.once('data', () => child.process.stdout?.destroy())
		const { code, stdout, stderr } = await child.ended()
		expect({ code, stderr }).toEqual({ code: 4, stderr: '' })
		expect(stdout.length).toBeLessThan(5_000_000)
	})

	test('standard output is written completely before the process ends', async () => {
		const child = new Spawned(TEST_PROGRAM, ['print', '--length', '5000000'])
		const { code, stdout } = await child.ended()
		expect({ code, length: stdout.length }).toEqual({ code: 4, length: 5_000_001 })
	})

	test('can be closed together with standard error', async () => {
		const child = new Spawned(TEST_PROGRAM, ['nonsense'])
		child.process.stdout?.destroy()
		child.process.stderr?.destroy()
		expect(await child.ended()).toMatchObject({ code: 2 })
	})

	test.skipIf(!existsSync('/dev/full'))('reports a full disk', async () => {
		const full = openSync('/dev/full', 'w')
		const child = new Spawned(TEST_PROGRAM, ['print'], { stdio: ['ignore', full, 'pipe'] })
		closeSync(full)
		const { code, stderr } = await child.ended()
		expect(code).toBe(1)
		expect(stderr).toMatch(/^test-program print: Cannot write the output: ENOSPC.*\n$/)
	})
})

describe.skipIf(process.platform === 'win32')('Ctrl-C', () => {
	test('lets the command print its result so far, and exits with 130', async () => {
		const child = new Spawned(TEST_PROGRAM, ['wait'])
		await child.prints('waiting')
		child.process.kill('SIGINT')
		expect(await child.ended()).toEqual({
			code: 130,
			signal: null,
			stdout: 'known so far\n',
			stderr: 'waiting\nInterrupted. Press Ctrl-C again to quit immediately.\n',
		})
	})

	test('pressed twice ends the process immediately, even if JavaScript is busy', async () => {
		const child = new Spawned(TEST_PROGRAM, ['wait', '--busy'])
		await child.prints('waiting')
		child.process.kill('SIGINT')
		await child.prints('busy')
		child.process.kill('SIGINT')
		expect(await child.ended()).toMatchObject({ code: null, signal: 'SIGINT', stdout: '' })
	})
})
