import { InvalidOptionError } from '../../core/errors/errors.ts'

/** Makes something of core's; what core refuses about its options is told with the option's place in the scenario. */
export function located<T>(path: string, make: () => T): T {
	try {
		return make()
	} catch (error) {
		if (!(error instanceof InvalidOptionError) || error.optionPath.startsWith(path)) throw error
		const { optionPath, received, expected, isUnknown } = error
		// What is refused as a whole, such as a timeout's length, is named like a call.
		const option = /^\w+\(/.test(optionPath) ? path : `${path}.${optionPath}`
		throw new InvalidOptionError(option, received, expected, isUnknown ? error : undefined)
	}
}
