/** The child side of the protocol: executes one command after another and sends the results. */
import type { Answer, Command } from './child.ts'

export function answering(obey: (command: Command) => Promise<Answer>): void {
	process.on('message', (command: Command) => {
		void obey(command).then(
			(answer) => process.send?.(answer),
			(error: unknown) => process.send?.({ nanoseconds: 0, error: describe(error) } satisfies Answer),
		)
	})
	process.on('disconnect', () => process.exit())
	process.send?.({ nanoseconds: 0 } satisfies Answer)
}

const describe = (error: unknown): string =>
	error instanceof Error ? (error.stack ?? error.message) : String(error)
