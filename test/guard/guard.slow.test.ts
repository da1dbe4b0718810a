import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { end, guard, guardedFolder } from './guard.ts'
import { isRunning, processesOf } from './processes.ts'
import type { Started } from './start-servers.ts'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const VITEST = path('../../node_modules/vitest/vitest.mjs')
const CONFIG = path('./interrupted/vitest.config.ts')

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const

/** Checks first that the servers run, because the test could not fail otherwise. */
async function killed(child: ChildProcess, signal: NodeJS.Signals, started: Started): Promise<void> {
	expect(isRunning(started.pid)).toBe(true)
	for (const folder of started.folders) expect(processesOf(folder)).not.toEqual([])
	await end(child, signal)
	await eventually(() => {
		expect(started.folders.flatMap(processesOf)).toEqual([])
		expect(started.folders.filter(existsSync)).toEqual([])
		expect(isRunning(started.pid)).toBe(false)
	})
}

describe.runIf(process.platform === 'linux')('servers and their folders do not outlive', () => {
	test.each(SIGNALS)('the process that started them, ended by %s', async (signal) => {
		const child = guard(fork(path('./start-servers.ts'), { execArgv: ['--no-warnings'] }))
		const [started] = await once(child, 'message')
		await killed(child, signal, started)
	})

	test.each(SIGNALS)('a test run, ended by %s', async (signal) => {
		await using folder = await guardedFolder('yaoki-interrupted-')
		const report = join(folder.path, 'started.json')
		const run = spawn(process.execPath, [VITEST, 'run', '--config', CONFIG], {
			stdio: 'ignore',
			env: { ...process.env, YAOKI_TEST_REPORT: report },
		})
		guard(run)
		await eventuallyTrue(() => existsSync(report))
		await killed(run, signal, JSON.parse(readFileSync(report, 'utf8')))
	})

	test('a worker that is killed while its test run goes on', async () => {
		await using folder = await guardedFolder('yaoki-interrupted-')
		const report = join(folder.path, 'started.json')
		const run = spawn(process.execPath, [VITEST, 'run', '--config', CONFIG], {
			stdio: 'ignore',
			env: { ...process.env, YAOKI_TEST_REPORT: report },
		})
		guard(run)
		const ended = once(run, 'exit')
		await eventuallyTrue(() => existsSync(report))
		const { pid, folders }: Started = JSON.parse(readFileSync(report, 'utf8'))
		process.kill(pid, 'SIGKILL')
		await eventually(() => {
			expect(folders.slice(0, -1).flatMap(processesOf)).toEqual([])
			expect(folders.slice(0, -1).filter(existsSync)).toEqual([])
		})
		expect(await ended).toEqual([1, null])
		await eventually(() => expect(folders.flatMap(processesOf)).toEqual([]))
	})
})
