/** Contenders in processes of their own, so that they do not share a heap with each other or with the server. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { guard } from '../test/guard/guard.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Starts a program of this folder and waits for its first message. */
export async function start(
	path: string,
	...args: readonly string[]
): Promise<{ process: ChildProcess; message: unknown }> {
	const process = guard(fork(here(path), args, { execArgv: ['--expose-gc'] }))
	return { process, message: await messageOf(process) }
}

/** Returns the next message of a process. Rejects if the process exits instead. */
export async function messageOf(process: ChildProcess): Promise<unknown> {
	const left = new AbortController()
	const { signal } = left
	try {
		const ended = once(process, 'exit', { signal }).then(() => {
			throw new Error(`${process.spawnargs.slice(1).join(' ')} has ended`)
		})
		const [message] = await Promise.race([once(process, 'message', { signal }), ended])
		return message
	} finally {
		left.abort()
	}
}
