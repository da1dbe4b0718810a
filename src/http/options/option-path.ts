/**
 * What HTTP refuses, in words that its caller wrote. Most checks are core's and know an option by its own name only; here they learn in
 * which part of the options it stood. The error is reworded and not wrapped, so that it has one message and one place in the code.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'

/** Refuses an option. Of a function it says that it is one, and not its source. */
export function refuse(option: string, value: unknown, takes: string): never {
	throw placedIn('', new InvalidOptionError(option, value, takes))
}

/**
 * Makes something of options that stand in this place, such as `'cache.'`: whatever is refused meanwhile is refused by its full name.
 *
 * @example
 * const kept = placed('cache.', () => new ResponseCache(options)) // cache.maxEntries: got 0; takes ...
 */
export function placed<T>(place: string, make: () => T): T {
	try {
		return make()
	} catch (error) {
		throw error instanceof InvalidOptionError ? placedIn(place, error) : error
	}
}

const TAKES = '; takes '

function placedIn(place: string, error: InvalidOptionError): InvalidOptionError {
	const { message, received } = error
	const option = place + error.option
	if (typeof received === 'function')
		reword(error, `${option}: got a function${message.slice(message.lastIndexOf(TAKES))}`)
	else if (place) reword(error, place + message)
	return Object.assign(error, { option })
}

/** Gives an error another message, in its stack as well: that is what logs print. */
export function reword(error: Error, message: string): void {
	const { message: before, stack } = error
	error.message = message
	if (stack) error.stack = stack.replace(before, () => message)
}
