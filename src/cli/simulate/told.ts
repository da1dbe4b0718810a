import { CliError, toFailure } from '../errors.ts'

/**
 * Does something that may refuse what a file says, and tells it with the file's name, and with the place in the file where the
 * path in the message begins.
 */
export function toldOf<T>(file: string, place: string, check: () => T): T {
	try {
		return check()
	} catch (cause) {
		if (cause instanceof CliError) throw cause
		const { kind, message } = toFailure(cause)
		throw new CliError(kind, `${file}: ${place}${message}`, { cause })
	}
}
