import { InvalidArgumentError, InvalidOptionError } from '../errors/errors.ts'

/**
 * Runs `create`, and prefixes the path of an invalid option with `prefix`, so that the error names the option
 * as the user wrote it: with the prefix `cache`, `maxEntries` becomes `cache.maxEntries`.
 */
export function withOptionPath<T>(prefix: string, create: () => T): T {
	try {
		return create()
	} catch (error) {
		if (!(error instanceof InvalidOptionError)) throw error
		const { optionPath, received, expected, isUnknown } = error
		throw new InvalidOptionError(`${prefix}.${optionPath}`, received, expected, isUnknown ? error : undefined)
	}
}

/**
 * Runs `read`, which checks the fields of an argument that is no options object, with the checks of options.
 * With the argument `filter`, an invalid `topic` becomes the invalid argument `filter.topic`.
 */
export function withArgumentPath<T>(argument: string, read: () => T): T {
	try {
		return read()
	} catch (error) {
		if (!(error instanceof InvalidOptionError)) throw error
		const { optionPath, received, expected, isUnknown, suggestion } = error
		const names = suggestion ? `did you mean "${suggestion}"?` : `valid fields: ${expected}`
		throw new InvalidArgumentError(
			`${argument}.${optionPath}`,
			received,
			isUnknown ? `no such field (${names})` : expected,
		)
	}
}
