import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { PATIENT, Spawned, yaoki } from './spawned.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

describe('the process', () => {
	test.each([[[]], [['--help']], [['help', 'simulate']], [['simulate', '--help']]])(
		'prints help for %j on standard output and ends with 0',
		async (words) => {
			const { code, stdout, stderr } = await yaoki(words)
			expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
			expect(stdout).toMatch(/^Examples:\n {2}# .+\n {2}yaoki /)
		},
	)

	test("prints the package's version", async () => {
		expect(await yaoki(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
	})

	test('ends with 2 and a suggestion when it is called wrongly', async () => {
		const { code, stdout, stderr } = await yaoki(['simulat'])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toBe(
			"yaoki: unknown command 'simulat'; did you mean 'simulate'?\nRun 'yaoki --help' to see what it takes.\n",
		)
	})

	test('writes no escape codes into a pipe, unless it is forced to', async () => {
		expect((await yaoki(['--help'])).stdout).not.toContain('\x1b')
		expect((await yaoki(['--help'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\x1b[1mExamples:')
	})
})

test('help loads no command, and a command loads its own', async () => {
	const tell = `import { registerHooks } from 'node:module'
		registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) } })`
	const node = ['--import', `data:text/javascript,${encodeURIComponent(tell)}`]
	const loadedBy = async (...words: readonly string[]) => (await yaoki(words, { node })).stderr
	const command = 'src/cli/simulate/command.ts'
	expect(await loadedBy('simulate', '--help')).toContain(command)
	for (const words of [['--help'], ['--version'], ['simulat'], []]) {
		const loaded = await loadedBy(...words)
		expect(loaded).toContain('src/cli/run.ts')
		expect(loaded).not.toContain(command)
	}
})

describe('a reader', () => {
	test('who has gone before anything was written is no error', async () => {
		const child = new Spawned(PATIENT, ['say'])
		child.process.stdout?.destroy()
		expect(await child.ended()).toMatchObject({ code: 4, stderr: '' })
	})

	test('who has read enough, as head has, is none either, and changes nothing about the exit code', async () => {
		const child = new Spawned(PATIENT, ['say', '--letters', '5000000'])
		child.process.stdout?.once('data', () => child.process.stdout?.destroy())
		const { code, stdout, stderr } = await child.ended()
		expect({ code, stderr }).toEqual({ code: 4, stderr: '' })
		expect(stdout.length).toBeLessThan(5_000_000)
	})

	test('gets all of it, however much that is, before the process ends', async () => {
		const child = new Spawned(PATIENT, ['say', '--letters', '5000000'])
		const { code, stdout } = await child.ended()
		expect({ code, letters: stdout.length }).toEqual({ code: 4, letters: 5_000_001 })
	})

	test('who closed both outputs is no error', async () => {
		const child = new Spawned(PATIENT, ['nonsense'])
		child.process.stdout?.destroy()
		child.process.stderr?.destroy()
		expect(await child.ended()).toMatchObject({ code: 2 })
	})

	test.skipIf(!existsSync('/dev/full'))('is told when the disk is full', async () => {
		const full = openSync('/dev/full', 'w')
		const child = new Spawned(PATIENT, ['say'], { stdio: ['ignore', full, 'pipe'] })
		closeSync(full)
		const { code, stderr } = await child.ended()
		expect(code).toBe(1)
		expect(stderr).toMatch(/^patient say: the output could not be written: ENOSPC.*\n$/)
	})
})

describe.skipIf(process.platform === 'win32')('Ctrl-C', () => {
	test('lets a command tell what is known so far, and ends with 130', async () => {
		const child = new Spawned(PATIENT, ['wait'])
		await child.says('waiting')
		child.process.kill('SIGINT')
		expect(await child.ended()).toEqual({
			code: 130,
			signal: null,
			stdout: 'known so far\n',
			stderr: 'waiting\ninterrupted; Ctrl-C again ends at once\n',
		})
	})

	test('pressed twice ends it at once, even when it is too busy to listen', async () => {
		const child = new Spawned(PATIENT, ['wait', '--busy'])
		await child.says('waiting')
		child.process.kill('SIGINT')
		await child.says('busy')
		child.process.kill('SIGINT')
		expect(await child.ended()).toMatchObject({ code: null, signal: 'SIGINT', stdout: '' })
	})
})
