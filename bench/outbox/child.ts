/** The parent's hand on a contender's process. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Which message, and when, by the system's monotonic clock in nanoseconds. */
export type Moment = readonly [seq: number, at: number]

export interface Command {
	readonly call: 'tidy' | 'fill' | 'enqueueEach' | 'drain' | 'listen' | 'send' | 'heard' | 'close'
	readonly count: number
}

export interface Answer {
	readonly nanoseconds: number
	readonly moments?: readonly Moment[]
	/** Of contenders that share the process, round by round. */
	readonly taken?: Readonly<Record<string, readonly number[]>>
	readonly error?: string
}

export interface Child {
	readonly name: string
	ask(call: Command['call'], count?: number): Promise<Answer>
	end(): Promise<void>
}

/** Answers when the contender is ready to be measured. */
export async function startChild(name: string, url: string, script = './process.ts'): Promise<Child> {
	const path = fileURLToPath(new URL(script, import.meta.url))
	const child = fork(path, [name, url], { execArgv: ['--no-warnings'] })
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

/** What a process answers next. One that ends instead would otherwise be waited for without an end. */
async function answerOf(child: ChildProcess, name: string): Promise<Answer> {
	const left = new AbortController()
	const { signal } = left
	try {
		const ended = once(child, 'exit', { signal }).then(() => {
			throw new Error(`the process of ${name} has ended`)
		})
		const [answer]: Answer[] = await Promise.race([once(child, 'message', { signal }), ended])
		if (!answer) throw new Error(`the process of ${name} said nothing`)
		if (answer.error !== undefined) throw new Error(answer.error)
		return answer
	} finally {
		left.abort()
	}
}
