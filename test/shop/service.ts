/** The process of one service: it starts, reports that it is ready, and executes the commands of its parent. */
import { now, type ServiceInput } from './plan.ts'

export type Commands = Readonly<Record<string, (argument: never) => unknown>>

export interface Command {
	readonly id: number
	readonly call: string
	readonly argument: unknown
}

export type Message =
	| { readonly kind: 'ready' }
	| { readonly kind: 'note'; readonly at: number; readonly text: string }
	| { readonly kind: 'result'; readonly id: number; readonly result?: unknown; readonly error?: string }

const send = (message: Message): void => {
	if (process.connected) process.send?.(message)
}

/** Reports an event of this process for the time line. */
export const note = (text: string): void => send({ kind: 'note', at: now(), text })

export async function service(
	start: (input: ServiceInput) => Commands | undefined | Promise<Commands | undefined>,
): Promise<void> {
	const commands = (await start(JSON.parse(process.argv[2] ?? ''))) ?? {}
	process.on('message', async ({ id, call, argument }: Command) => {
		try {
			send({ kind: 'result', id, result: await commands[call]?.(argument as never) })
		} catch (error) {
			send({ kind: 'result', id, error: String(error) })
		}
	})
	send({ kind: 'ready' })
}
