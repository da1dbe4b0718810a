import { inspect } from 'node:util'

/** Returns an error that nothing can be read from: each getter throws. Node's console throws for it, too. */
export function unreadableError(): Error {
	const get = (): never => {
		throw new Error('unreadable')
	}
	return Object.defineProperties(new Error('hidden'), {
		name: { get },
		message: { get },
		stack: { get },
		toString: { get },
		[inspect.custom]: { get },
	})
}
