/** The parent side of the protocol with a contender's process. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { guard } from '../../test/guard/guard.ts'

/** A message and its time, by the system's monotonic clock in nanoseconds. */
export type Moment = readonly [seq: number, at: number]

export interface Command {
	readonly call: 'tidy' | 'fill' | 'enqueueEach' | 'drain' | 'listen' | 'send' | 'handledAt' | 'close'
	readonly count: number
}

export interface Answer {
	readonly nanoseconds: number
	readonly moments?: readonly Moment[]
	/** Results of contenders that share the process, by round. */
	readonly taken?: Readonly<Record<string, readonly number[]>>
	readonly error?: string
}

export interface Child {
	readonly name: string
	ask(call: Command['call'], count?: number): Promise<Answer>
	end(): Promise<void>
}

/** Resolves when the contender is ready. */
export async function startChild(name: string, url: string, script = './process.ts'): Promise<Child> {
	const path = fileURLToPath(new URL(script, import.meta.url))
	const child = guard(fork(path, [name, url], { execArgv: ['--no-warnings'] }))
	const end = async () => {
		if (child.exitCode !== null || child.signalCode !== null) return
		const exited = once(child, 'exit')
		child.disconnect()
		await exited
	}
	await answerOf(child, name)
	return {
		name,
		ask(call, count = 0) {
			child.send({ call, count } satisfies Command)
			return answerOf(child, name)
		},
		end,
	}
}

/** Returns the next result of a process; rejects if the process exits. */
async function answerOf(child: ChildProcess, name: string): Promise<Answer> {
	const left = new AbortController()
	const { signal } = left
	try {
		const ended = once(child, 'exit', { signal }).then(() => {
			throw new Error(`the process of ${name} exited`)
		})
		const [answer]: Answer[] = await Promise.race([once(child, 'message', { signal }), ended])
		if (!answer) throw new Error(`the process of ${name} sent no result`)
		if (answer.error !== undefined) throw new Error(answer.error)
		return answer
	} finally {
		left.abort()
	}
}
