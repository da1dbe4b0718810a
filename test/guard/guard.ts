/**
 * Ends processes and deletes folders when the process that started them dies: after a failed test, a timeout, Ctrl-C, SIGTERM, or SIGKILL, which
 * no handler in the process itself could survive. Every helper that starts a process uses it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface GuardOptions {
	/** SIGQUIT for a program that has to end its own children. Default: SIGKILL. */
	readonly signal?: 'SIGKILL' | 'SIGQUIT'
	/** The child was started with `detached`. Its whole group is killed. */
	readonly isGroup?: boolean
}

/** Test files that share a process share its watchdog, although each has its own copy of this module. */
const KEY = Symbol.for('yaoki.test.guard')
const shared = globalThis as { [KEY]?: ChildProcess }

/** Read once and not by the shell: the file may be deleted before the shell has read all of it. */
const SCRIPT = readFileSync(new URL('./guard.sh', import.meta.url), 'utf8')

/** Windows has no signals. */
const isSupported = process.platform !== 'win32'

function tell(line: string): void {
	if (!isSupported) return
	shared[KEY] ??= startWatchdog()
	shared[KEY].stdin?.write(`${line}\n`)
}

function startWatchdog(): ChildProcess {
	// In a session of its own, so that Ctrl-C and the end of the terminal do not reach it.
	const watchdog = spawn('/bin/sh', ['-c', SCRIPT, 'yaoki-guard'], {
		stdio: ['pipe', 'ignore', 'ignore'],
		detached: true,
		cwd: '/',
	})
	watchdog.unref()
	const { stdin } = watchdog
	// A pipe of a child is a socket, whose type lacks this.
	;(stdin as unknown as { unref(): void }).unref()
	stdin.on('error', () => {
		// The watchdog was killed. The tests go on without it.
	})
	return watchdog
}

/** Ends a child when this process dies. Returns the child. */
export function guard<T extends ChildProcess>(child: T, options: GuardOptions = {}): T {
	const { signal = 'SIGKILL', isGroup = false } = options
	const { pid } = child
	if (pid === undefined) return child
	const entry = `${signal.slice(3)} ${isGroup ? -pid : pid}`
	tell(`+${entry}`)
	child.once('exit', () => tell(`-${entry}`))
	return child
}

/** Ends a child and waits until it has ended. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
	if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
	const ended = once(child, 'exit')
	if (child.kill(signal)) await ended
}

export interface GuardedFolder extends AsyncDisposable {
	readonly path: string
}

/** Creates an empty temporary folder, which is deleted at the latest when this process dies. */
export async function guardedFolder(prefix: string): Promise<GuardedFolder> {
	const path = await mkdtemp(join(tmpdir(), prefix))
	tell(`+${path}`)
	return {
		path,
		async [Symbol.asyncDispose]() {
			await rm(path, { recursive: true, force: true })
			tell(`-${path}`)
		},
	}
}
