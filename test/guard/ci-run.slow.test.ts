/** `.ci/run` with another `npm`, in a folder of its own: what it prints, and that it leaves nothing behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { guard, guardedFolder } from './guard.ts'
import { processesOf } from './processes.ts'

const SCRIPT = fileURLToPath(new URL('../../.ci/run', import.meta.url))

/** The tests of each step, and the step named by FAILS or HANGS. Its processes have the folder in their arguments. */
const NPM = `#!/bin/bash
case "$*" in
test) echo '      Tests  1 failed | 5 passed (6)' ;;
'run test:slow') echo '      Tests  7 passed | 1 skipped (8)' ;;
'run chaos -- --rounds 200') echo '200 passed, 0 failed' ;;
esac
if [ "$*" = "$HANGS" ]; then
	bash -c 'trap "" TERM; while :; do sleep 1; done' "$HOME/stubborn" &
	touch "$HOME/hangs"
	wait
fi
if [ "$*" = "$BURNS" ]; then bash -c 'until [ $SECONDS -ge 2 ]; do :; done' "$HOME/burns"; fi
[ "$*" != "$FAILS" ]
`

async function start(env: Readonly<Record<string, string>>) {
	const folder = await guardedFolder('yaoki-ci-run-')
	onTestFinished(() => folder[Symbol.asyncDispose]())
	const home = folder.path
	for (const name of ['.ci', 'bin', 'tmp']) mkdirSync(join(home, name))
	copyFileSync(SCRIPT, join(home, '.ci', 'run'))
	writeFileSync(join(home, 'bin', 'npm'), NPM, { mode: 0o755 })
	// Where the programs are missing, it would install them.
	for (const name of ['apt-get', 'sudo'])
		writeFileSync(join(home, 'bin', name), '#!/bin/sh\n', { mode: 0o755 })
	const child = spawn(join(home, '.ci', 'run'), {
		env: {
			PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
			HOME: home,
			TMPDIR: join(home, 'tmp'),
			...env,
		},
		stdio: ['ignore', 'pipe', 'inherit'],
	})
	guard(child)
	let output = ''
	child.stdout.on('data', (chunk) => {
		output += chunk
	})
	const ended = once(child, 'close').then(([code, signal]) => ({
		code,
		signal,
		lines: output.trimEnd().split('\n'),
		temporary: readdirSync(join(home, 'tmp')),
	}))
	return { child, home, ended }
}

describe.runIf(process.platform === 'linux')('.ci/run', () => {
	test('prints the wall time and the CPU time of each step, a table, and the number of tests at the end', async () => {
		const { home, ended } = await start({ BURNS: 'run check' })
		const { code, lines, temporary } = await ended
		expect(code).toBe(0)
		expect(lines.at(-1)).toBe('212 passed, 1 failed')
		const steps = ['ci', 'test', 'run test:slow', 'run check', 'run chaos -- --rounds 200', 'run runtimes']
		for (const name of [...steps, 'run blocks', 'run recipes'])
			expect(
				lines.filter((line) => new RegExp(`^npm ${name} +\\d+\\.\\d +\\d+\\.\\d$`).test(line)),
			).toHaveLength(2)
		const [, wall, cpu] = /^npm run check +(\S+) +(\S+)$/m.exec(lines.join('\n')) ?? []
		expect(Number(wall)).toBeGreaterThanOrEqual(1)
		// Of a process of a process. How much of the wall time it gets depends on the machine.
		expect(Number(cpu)).toBeGreaterThan(0)
		expect(lines.filter((line) => /^all steps +\d+\.\d +\d+\.\d$/.test(line))).toHaveLength(1)
		expect(temporary).toEqual([])
		await eventually(() => expect(processesOf(home)).toEqual([]))
	})

	test('stops at the first step that fails, and counts a failure outside of tests', async () => {
		const { ended } = await start({ FAILS: 'ci' })
		const { code, lines } = await ended
		expect(code).toBe(1)
		expect(lines.at(-1)).toBe('0 passed, 1 failed')
		expect(lines.join('\n')).not.toContain('npm test')
	})

	test.each([
		['SIGINT', 130],
		['SIGTERM', 143],
		['SIGHUP', 129],
	] as const)('ends its step when it gets %s', async (signal, exitCode) => {
		const { child, home, ended } = await start({ HANGS: 'run test:slow' })
		await eventually(() => expect(existsSync(join(home, 'hangs'))).toBe(true))
		expect(processesOf(home).length).toBeGreaterThan(2)
		child.kill(signal)
		const { code, lines, temporary } = await ended
		expect([code, lines.at(-1), temporary]).toEqual([exitCode, '12 passed, 1 failed', []])
		await eventually(() => expect(processesOf(home)).toEqual([]))
	})

	test('its step does not outlive it after SIGKILL', async () => {
		const { child, home } = await start({ HANGS: 'run test:slow' })
		await eventually(() => expect(existsSync(join(home, 'hangs'))).toBe(true))
		child.kill('SIGKILL')
		await eventually(() => expect(processesOf(home)).toEqual([]))
	})
})
